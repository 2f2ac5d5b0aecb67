"""The link to one guest: fake machines and agents, real framing, sync and sessions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import structlog.testing

from cloche_hub.domain.flavors import FLAVORS
from cloche_hub.domain.guest_limits import GUEST_LIMITS
from cloche_hub.domain.identity import identity_of
from cloche_hub.errors import (
    Cancelled,
    CodedError,
    InternalError,
    LinkLost,
    LinkSilent,
    MachineFailed,
    TooLarge,
    WrongState,
)
from cloche_hub.guestlink.bounds import MAX_BREAKS, LinkBounds
from cloche_hub.guestlink.link import GuestLink, await_agent, guest_link
from cloche_hub.ports import MachineSpec
from cloche_wire.aio import Channel, Handler, Heartbeat
from cloche_wire.errors import RemoteProtocolError, WireError
from cloche_wire.frames import Bye, Data, Open, encode
from cloche_wire.limits import Limits
from tests.hub.domain.examples import sandbox
from tests.support.fake_hypervisor import FakeHypervisor, FakeMachine
from tests.support.fake_images import AGENT_HASH
from tests.support.hub import finish, until, within

PATIENT = LinkBounds(attempt_s=5, sync_s=5, answer_s=5, heartbeat=Heartbeat())
HASTY = LinkBounds(attempt_s=0.05, sync_s=0.1, answer_s=0.1, heartbeat=Heartbeat(0.03, 0.1))
IDENTITY = identity_of(sandbox(), entropy=bytes(64), clock_ns=1)
EXEC = {"exec": "ex_1", "argv": ["echo", "hi"], "env": {}}


class Linked:
    """A machine and the hub's link to it; `ended` is why the link could not be kept up."""

    def __init__(self, machine: FakeMachine, link: GuestLink) -> None:
        self.machine, self.link = machine, link
        self.ended: asyncio.Future[WireError] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        try:
            await self.link.run()
        except WireError as error:
            self.ended.set_result(error)


@contextlib.asynccontextmanager
async def linked(
    bounds: LinkBounds = PATIENT, *, silent: bool = False, on_open: Handler | None = None
) -> AsyncIterator[Linked]:
    async with FakeHypervisor().running() as hypervisor, asyncio.TaskGroup() as tasks:
        machine = await hypervisor.start(MachineSpec("sb_1", "digest", FLAVORS["small"]))
        if silent:
            machine.agent.silence()
        async with guest_link(machine, bounds, software="hub/1", on_open=on_open) as link:
            both = Linked(machine, link)
            running = tasks.create_task(both.run())
            if not silent:
                await within(link.greeting())
            yield both
            running.cancel()


async def run_echo(link: GuestLink) -> bytes:
    """What `echo hi` says."""
    return (await within(finish(await link.open_work("exec", EXEC, window=1 << 16)))).stdout


async def test_the_greeting_tells_which_agent_it_is() -> None:
    async with linked() as both:
        assert (await within(both.link.greeting())).info == {"agent": AGENT_HASH}


async def test_a_guest_becomes_itself_once_and_then_runs_commands() -> None:
    async with linked() as both:
        await both.link.become(IDENTITY)
        with pytest.raises(WrongState, match="already"):
            await both.link.become(IDENTITY)
        assert await run_echo(both.link) == b"hi\n"


async def test_powering_off_says_whether_the_guest_will() -> None:
    async with linked() as both:
        assert await both.link.power_off() is True
        await until(lambda: not both.machine.is_running)
        assert isinstance(await within(both.ended), MachineFailed)


# What the guest opens.


async def test_what_the_guest_opens_is_served_by_whom_the_link_was_given() -> None:
    async def serve(channel: Channel) -> None:
        channel.close({"kind": channel.kind})

    async with linked(on_open=serve) as both:
        opened = both.machine.agent.open("callback", {})
        assert await within(opened.result()) == {"kind": "callback"}


async def test_without_one_it_is_refused() -> None:
    async with linked() as both:
        with pytest.raises(Cancelled, match="nobody serves"):
            await within(both.machine.agent.open("callback", {}).result())


async def test_a_defect_in_serving_it_is_logged_and_costs_that_call_alone() -> None:
    async def serve(channel: Channel) -> None:
        raise KeyError(channel.kind)

    with structlog.testing.capture_logs() as logs:
        async with linked(on_open=serve) as both:
            for _ in range(2):
                with pytest.raises(InternalError):
                    await within(both.machine.agent.open("x" * 1000, {}).result())
    assert [log["event"] for log in logs if log["log_level"] == "error"] == ["handler_defect"] * 2
    assert all(log["sandbox"] == "sb_1" and len(log["kind"]) == 60 for log in logs if "kind" in log)


async def test_a_guest_that_opens_more_than_it_may_is_refused_one_by_one() -> None:
    async def serve(channel: Channel) -> None:
        await channel.wait_confirmed()

    async with linked(on_open=serve) as both:
        most = GUEST_LIMITS.max_channels
        opened = [both.machine.agent.open("callback", {}) for _ in range(most + 20)]
        for beyond in opened[most:]:
            with pytest.raises(TooLarge):
                await within(beyond.result())
        assert all(channel.is_live for channel in opened[:most])
        assert not both.ended.done()


# Links that break.


async def test_a_link_that_breaks_is_taken_up_again_and_commands_go_on() -> None:
    async with linked() as both:
        await both.link.become(IDENTITY)
        channel = await both.link.open_work("exec", {**EXEC, "argv": ["cat"]}, window=1 << 16)
        await within(channel.wait_accepted())
        for piece in (b"one", b"two"):
            both.machine.agent.drop_link()
            await channel.write(1, piece)
            assert await within(channel.read(1)) == piece
        assert not both.ended.done()


async def test_a_guest_that_breaks_one_link_after_another_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cloche_hub.guestlink.link.pause_before_link", lambda _breaks: 0.0)
    async with linked() as both:
        opened = 0
        real = both.machine.open_link

        async def breaking() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            nonlocal opened
            opened += 1
            reader, writer = await real()
            writer.transport.abort()
            return reader, writer

        monkeypatch.setattr(both.machine, "open_link", breaking)
        both.machine.agent.drop_link()
        assert f"broke {MAX_BREAKS} times in a row" in str(await within(both.ended))
        assert opened <= MAX_BREAKS


async def test_a_message_that_is_none_costs_the_link_and_a_sync_brings_both_into_step() -> None:
    async with linked() as both:
        await both.link.become(IDENTITY)
        with structlog.testing.capture_logs() as logs:
            await both.machine.agent.babble(b"\xc1\xc1\xc1")
            await until(lambda: logs)
            assert await run_echo(both.link) == b"hi\n"
        assert [line["event"] for line in logs] == ["guest_out_of_step"]


async def test_another_agent_on_a_later_link_is_noticed_before_anything_is_asked_of_it() -> None:
    async with linked() as both:
        await both.link.become(IDENTITY)
        waiting = await both.link.open_work("exec", {**EXEC, "argv": ["wait"]}, window=1 << 16)
        await within(waiting.wait_accepted())
        both.machine.agent.replace("b" * 64)
        both.machine.agent.drop_link()
        asked = await both.link.open_work("exec", EXEC, window=1 << 16)
        for channel in (waiting, asked):
            with pytest.raises(MachineFailed, match="another agent"):
                await within(channel.result())
        assert isinstance(await within(both.ended), RemoteProtocolError)
        assert len(both.machine.agent.execs) == 1


# Guests that do not answer.


async def test_a_guest_that_never_greets_is_silent_within_its_bound() -> None:
    async with linked(HASTY, silent=True) as both:
        with pytest.raises(LinkSilent, match=r"the guest of sb_1 does not answer \(tcg\)"):
            await within(both.link.greeting())
        assert not both.ended.done()


async def test_a_guest_that_falls_silent_fails_its_callers_and_is_knocked_at_until_it_answers() -> None:
    async with linked(HASTY) as both:
        await both.link.become(IDENTITY)
        waiting = await both.link.open_work("exec", {**EXEC, "argv": ["wait"]}, window=1 << 16)
        await within(waiting.wait_accepted())
        both.machine.agent.silence()
        with pytest.raises(LinkSilent):
            await within(waiting.result())
        for _ in range(2):
            with pytest.raises(LinkSilent):
                await run_echo(both.link)
        both.machine.agent.speak()
        await until(lambda: both.link._peer.is_up)
        assert await run_echo(both.link) == b"hi\n"
        assert not both.ended.done()


async def test_a_silent_guest_is_not_waited_for_in_powering_off() -> None:
    async with linked(HASTY) as both:
        await both.link.become(IDENTITY)
        both.machine.agent.silence()
        assert await within(both.link.power_off()) is False


async def test_a_request_that_is_never_answered_fails_within_its_bound() -> None:
    async def ignore(channel: Channel) -> None:
        await channel.wait_confirmed()

    slow_heart = replace(HASTY, heartbeat=Heartbeat())
    async with linked(slow_heart) as both:
        both.machine.agent.overrides = {"become": ignore, "exec": ignore}
        with pytest.raises(LinkSilent):
            await within(both.link.become(IDENTITY))
        channel = await both.link.open_work("exec", EXEC, window=1 << 16)
        with pytest.raises(LinkSilent):
            await within(channel.result())


async def test_a_command_that_was_taken_is_not_bound_to_end() -> None:
    async with linked(replace(HASTY, heartbeat=Heartbeat())) as both:
        await both.link.become(IDENTITY)
        channel = await both.link.open_work("exec", {**EXEC, "argv": ["wait"]}, window=1 << 16)
        await asyncio.sleep(0.2)  # beyond the bound for its start
        assert channel.is_live


async def test_a_machine_whose_port_cannot_be_opened_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    async with linked(HASTY) as both:
        monkeypatch.setattr(both.machine, "open_link", asyncio.Event().wait)
        both.machine.agent.drop_link()
        assert isinstance(await within(both.ended), LinkSilent)


# The end.


async def test_failing_ends_calls_under_way_and_every_later_one_with_the_same_reason() -> None:
    async with linked() as both:
        await both.link.become(IDENTITY)
        waiting = await both.link.open_work("exec", {**EXEC, "argv": ["wait"]}, window=1 << 16)
        both.link.fail(MachineFailed("it burnt down"))
        both.link.fail(LinkLost("a second reason"))
        with pytest.raises(MachineFailed, match="burnt down"):
            await within(waiting.result())
        for call in (
            both.link.greeting(),
            both.link.open_work("exec", EXEC, window=1),
            both.link.become(IDENTITY),
        ):
            with pytest.raises(MachineFailed, match="burnt down"):
                await within(call)
        assert str(await within(both.ended)) == "it burnt down"


async def test_failing_cuts_short_a_wait_for_a_greeting() -> None:
    for_ever = replace(PATIENT, sync_s=3600)
    async with linked(for_ever, silent=True) as both, asyncio.TaskGroup() as tasks:
        greeting = tasks.create_task(_error_of(both.link))
        await until(lambda: both.link._waits)
        both.link.fail(MachineFailed("it burnt down"))
        assert isinstance(await within(greeting), MachineFailed)


async def _error_of(link: GuestLink) -> CodedError | None:
    try:
        await link.greeting()
    except CodedError as error:
        return error
    return None


async def test_a_machine_that_is_gone_ends_the_link() -> None:
    async with linked() as both:
        both.machine.crash()
        error = await within(both.ended)
        assert isinstance(error, MachineFailed)
        assert "signal 9" in error.message


# Hostile guests.

HOSTILE = {
    "data on no channel": encode(Data(99, 1, 0, b"x"), Limits()),
    "a channel of ours": encode(Open(1, "exec", {}, 8), Limits()),
}


@pytest.mark.parametrize("frames", HOSTILE.values(), ids=HOSTILE)
async def test_a_guest_that_breaks_the_protocol_loses_its_link_for_good(frames: bytes) -> None:
    async with linked() as both:
        await both.link.become(IDENTITY)
        waiting = await both.link.open_work("exec", {**EXEC, "argv": ["wait"]}, window=1 << 16)
        await within(waiting.wait_accepted())
        await both.machine.agent.babble(frames)
        with pytest.raises(MachineFailed, match="ended because its guest broke the protocol"):
            await within(waiting.result())
        assert isinstance(await within(both.ended), RemoteProtocolError)


async def test_a_guest_can_ask_the_hub_for_nothing() -> None:
    async with linked() as both:
        await both.link.become(IDENTITY)
        with pytest.raises(Cancelled, match="nobody serves"):
            await within(both.machine.agent._peer.call("sandbox.create", {}))
        assert await run_echo(both.link) == b"hi\n"


async def test_a_guest_that_opens_channels_without_end_is_cut_off() -> None:
    async with linked() as both:
        await both.link.become(IDENTITY)
        flood = b"".join(encode(Open(2 + 2 * n, "x", {}, 8), Limits()) for n in range(3000))
        await both.machine.agent.babble(flood)
        assert isinstance(await within(both.ended), RemoteProtocolError)


@pytest.mark.parametrize("code", ["machine_failed", "shutting_down", "link_silent", "no_such_code"])
async def test_what_a_guest_says_as_it_leaves_decides_nothing(code: str) -> None:
    async with linked() as both:
        await both.link.become(IDENTITY)
        waiting = await both.link.open_work("exec", {**EXEC, "argv": ["wait"]}, window=1 << 16)
        await within(waiting.wait_accepted())
        await both.machine.agent.babble(encode(Bye(0, code, "believe me"), Limits()))
        assert await run_echo(both.link) == b"hi\n"
        assert waiting.is_live
        assert not both.ended.done()


# Templates.


async def test_the_agent_of_a_booting_guest_is_awaited() -> None:
    async with FakeHypervisor().running() as hypervisor:
        machine = await hypervisor.start(MachineSpec("sb_1", "digest", FLAVORS["small"]))
        machine.agent.silence()
        reader, writer = await machine.open_link()
        async with asyncio.TaskGroup() as tasks:
            awaited = tasks.create_task(await_agent(reader, writer))
            await asyncio.sleep(0.02)  # as long as it boots
            assert not awaited.done()
            machine.agent.speak()
            await within(awaited)
        writer.close()


async def test_a_guest_that_dies_while_it_boots_is_a_lost_link() -> None:
    async with FakeHypervisor().running() as hypervisor:
        machine = await hypervisor.start(MachineSpec("sb_1", "digest", FLAVORS["small"]))
        machine.agent.silence()
        reader, writer = await machine.open_link()
        async with asyncio.TaskGroup() as tasks:
            crashing = tasks.create_task(asyncio.sleep(0.01))
            crashing.add_done_callback(lambda _: machine.crash())
            with pytest.raises(LinkLost):
                await within(await_agent(reader, writer))
