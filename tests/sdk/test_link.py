"""The link to a hub: made, lost, made again; and every way in which it is not."""

from __future__ import annotations

import asyncio
import socket as sockets
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve, unix_serve

from cloche.config import Address, find_address
from cloche.errors import (
    Cancelled,
    CodedError,
    Forbidden,
    HubNotRunning,
    LinkLost,
    LinkSilent,
    NotFound,
    ShuttingDown,
    Unauthenticated,
    Unsupported,
)
from cloche.link import Link, Patience
from cloche_wire import PROTOCOL_VERSION
from cloche_wire.aio import Channel, Heartbeat
from cloche_wire.frames import Bye, Decoder, Hello, encode
from cloche_wire.limits import Limits
from tests.support.scripted_hub import TOKEN, ScriptedHub, answer, refuse

# Short where a test waits for it to pass, long where it must not.
QUICK = Patience(connect_s=10, reconnect_s=10, first_delay_s=0.001, longest_delay_s=0.01)
IMPATIENT = Patience(connect_s=0.3, reconnect_s=0.3, first_delay_s=0.001, longest_delay_s=0.01)


@pytest.fixture
async def hub(tmp_path: Path) -> AsyncIterator[ScriptedHub]:
    async with (
        asyncio.timeout(30),
        ScriptedHub(tmp_path / "hub.sock", {"ping": answer({"pong": 1})}) as running,
    ):
        yield running


def _link(hub: ScriptedHub, *, patience: Patience = QUICK, token: str | None = TOKEN, **more: Any) -> Link:
    return Link(find_address(hub.address), token, patience=patience, **more)


def _at(path: Path) -> Address:
    return find_address(f"unix://{path}")


# --- connecting --------------------------------------------------------------------------------------------------


async def test_a_call_returns_what_the_hub_answered(hub: ScriptedHub) -> None:
    async with _link(hub) as link:
        assert await link.call("ping", {"a": 1}) == {"pong": 1}
    assert hub.asked == [("ping", {"a": 1})]


async def test_an_error_of_the_hub_arrives_as_the_same_error(hub: ScriptedHub) -> None:
    hub.handlers["fail"] = refuse(NotFound("no such thing", thing="x"))
    async with _link(hub) as link:
        with pytest.raises(NotFound, match="no such thing") as caught:
            await link.call("fail")
        assert caught.value.details == {"thing": "x"}
        assert await link.call("ping") == {"pong": 1}


async def test_nobody_at_a_socket_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(HubNotRunning, match=r"no hub answers at unix://.*\(No such file or directory\)"):
        await Link(_at(tmp_path / "hub.sock"), None, patience=QUICK).__aenter__()


async def test_a_socket_whose_hub_was_killed_is_told_at_once(tmp_path: Path) -> None:
    with sockets.socket(sockets.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "hub.sock"))
    with pytest.raises(HubNotRunning, match="Connection refused"):
        await Link(_at(tmp_path / "hub.sock"), None, patience=QUICK).__aenter__()


async def test_this_user_s_own_hub_not_running_says_how_to_start_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOCHE_HOME", str(tmp_path))
    with pytest.raises(HubNotRunning, match="start one with: cloche hub --background"):
        await Link(find_address(), None, patience=QUICK).__aenter__()


async def test_nobody_at_a_port_is_told_at_once() -> None:
    with sockets.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(HubNotRunning, match=f"no hub answers at ws://127.0.0.1:{port} "):
        await Link(find_address(f"ws://127.0.0.1:{port}"), None, patience=QUICK).__aenter__()


async def test_something_else_that_listens_is_no_hub(tmp_path: Path) -> None:
    async def be_rude(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail\r\n\r\n")
        writer.close()

    async with await asyncio.start_unix_server(be_rude, tmp_path / "hub.sock"):
        with pytest.raises(HubNotRunning, match="no Cloche hub"):
            await Link(_at(tmp_path / "hub.sock"), None, patience=QUICK).__aenter__()


async def test_something_that_accepts_and_says_nothing_is_waited_for_only_so_long(tmp_path: Path) -> None:
    with sockets.socket(sockets.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "hub.sock"))
        silent.listen()
        with pytest.raises(LinkSilent, match="does not answer"):
            await Link(_at(tmp_path / "hub.sock"), None, patience=IMPATIENT).__aenter__()


async def test_a_hub_that_takes_the_socket_and_never_greets_is_waited_for_only_so_long(
    tmp_path: Path,
) -> None:
    async def ignore(socket: ServerConnection) -> None:
        await socket.wait_closed()

    async with unix_serve(ignore, str(tmp_path / "hub.sock")):
        with pytest.raises(LinkSilent, match="does not answer"):
            await Link(_at(tmp_path / "hub.sock"), None, patience=IMPATIENT).__aenter__()


@pytest.mark.parametrize("token", ["wrong", None])
async def test_a_token_the_hub_does_not_know_is_told_at_once(hub: ScriptedHub, token: str | None) -> None:
    with pytest.raises(Unauthenticated, match="does not know this token"):
        await _link(hub, token=token).__aenter__()


async def test_a_hub_of_another_protocol_is_told_at_once(tmp_path: Path) -> None:
    async def greet(socket: ServerConnection) -> None:
        hello = await _hello_on(socket)
        answer = hello._replace(protocol=PROTOCOL_VERSION + 1, software="future/9")
        await socket.send(encode(answer, Limits()))
        await socket.wait_closed()

    async with unix_serve(greet, str(tmp_path / "hub.sock")):
        with pytest.raises(Unsupported, match=r"do not match: the peer \(future/9\) speaks protocol"):
            await Link(_at(tmp_path / "hub.sock"), None, patience=QUICK).__aenter__()


async def test_a_socket_this_user_may_not_use_is_told(
    hub: ScriptedHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def denied(*_args: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(asyncio.get_running_loop(), "create_unix_connection", denied)
    with pytest.raises(Forbidden, match="may not use the hub"):
        await _link(hub).__aenter__()


async def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    async def redirect(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(redirect, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(HubNotRunning, match=r"no Cloche hub .*302"):
            await Link(find_address(f"ws://127.0.0.1:{port}"), TOKEN, patience=QUICK).__aenter__()


async def test_a_hub_on_tcp_is_spoken_to_just_the_same() -> None:
    async def turn_away(socket: ServerConnection) -> None:
        await socket.recv()
        await socket.send(encode(Bye(0, "unauthenticated", "who are you?"), Limits()))

    async with serve(turn_away, "127.0.0.1") as server:
        port = next(iter(server.sockets)).getsockname()[1]
        with pytest.raises(Unauthenticated, match="who are you"):
            await Link(find_address(f"ws://127.0.0.1:{port}"), TOKEN, patience=QUICK).__aenter__()


# --- losing it ---------------------------------------------------------------------------------------------------


async def test_a_call_underway_survives_a_cut(hub: ScriptedHub) -> None:
    go_on = asyncio.Event()

    async def slow(channel: Channel) -> None:
        await go_on.wait()
        channel.close({"done": True})

    hub.handlers["slow"] = slow
    async with _link(hub) as link, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(link.call("slow"))
        while not hub.asked:
            await asyncio.sleep(0)
        hub.cut()
        await hub.wait_links(2)
        go_on.set()
        assert await call == {"done": True}
    assert len(hub.asked) == 1, "the request was not made twice"


async def test_a_stream_cut_again_and_again_arrives_whole_and_once(hub: ScriptedHub) -> None:
    sent = bytes(range(256)) * 8192

    async def pour(channel: Channel) -> None:
        channel.accept()
        await channel.write(1, sent)
        channel.end(1)
        channel.close({})

    hub.handlers["pour"] = pour
    async with _link(hub) as link:
        channel = link.open("pour")
        received = b""
        cuts = 0
        while piece := await channel.read(1):
            received += piece
            if cuts < 5 and len(received) > cuts * len(sent) // 6:
                hub.cut()
                cuts += 1
    assert cuts == 5
    assert received == sent
    assert len({hello.session for hello in hub.hellos}) == 1


async def test_a_call_made_while_the_hub_is_away_waits_for_it(hub: ScriptedHub) -> None:
    async with _link(hub) as link, asyncio.TaskGroup() as tasks:
        await hub.deafen()
        hub.cut()
        call = tasks.create_task(link.call("ping"))
        await asyncio.sleep(0)
        await hub.listen()
        assert await call == {"pong": 1}


async def test_a_hub_that_does_not_come_back_fails_what_was_underway(hub: ScriptedHub) -> None:
    async with _link(hub, patience=IMPATIENT) as link:
        channel = link.open("never")
        hub.handlers["never"] = lambda channel: asyncio.Event().wait()  # type: ignore[assignment,return-value]
        await hub.vanish()
        with pytest.raises(LinkLost, match=r"did not come back within 0\.3 s; whether"):
            await channel.result()
        with pytest.raises(LinkLost, match="did not come back"):
            await link.call("ping")


async def test_a_hub_that_was_started_again_fails_what_was_underway_and_serves_what_comes(
    hub: ScriptedHub,
) -> None:
    async def never(_channel: Channel) -> None:
        await asyncio.Event().wait()

    hub.handlers["never"] = never
    said: list[str] = []
    async with _link(hub, on_trouble=said.append) as link, asyncio.TaskGroup() as tasks:
        call = tasks.create_task(_outcome(link.call("never")))
        while not hub.asked:
            await asyncio.sleep(0)
        hub.forget()
        hub.cut()
        assert isinstance(await call, LinkLost)
        assert await link.call("ping") == {"pong": 1}
    assert [line.partition(";")[0].partition(" (")[0] for line in said] == [
        "lost the hub",
        "the hub is back, but has forgotten what was underway",
    ]


async def test_losing_the_hub_and_finding_it_again_is_told(hub: ScriptedHub) -> None:
    said: list[str] = []
    async with _link(hub, on_trouble=said.append) as link:
        hub.cut()
        await hub.wait_links(2)
        await link.call("ping")
    assert len(said) == 2
    assert said[0].startswith("lost the hub (")
    assert said[0].endswith("trying to reach it again for 10 s")
    assert said[1] == "the hub is back; what was underway goes on"


async def test_a_hub_that_goes_away_in_good_order_is_not_waited_for(hub: ScriptedHub) -> None:
    farewell = ShuttingDown("the hub is going away")

    async def leave(channel: Channel) -> None:
        # What the hub's own orderly end does: a word on the link, then its end.
        for socket in list(hub._sockets):
            await socket.send(encode(Bye(0, farewell.code, farewell.message), Limits()))

    hub.handlers["leave"] = leave
    async with _link(hub) as link:
        with pytest.raises(ShuttingDown, match="going away"):
            await link.call("leave")
        with pytest.raises(ShuttingDown, match="going away"):
            link.open("ping")


async def test_a_token_that_was_revoked_meanwhile_ends_the_search(hub: ScriptedHub) -> None:
    async with _link(hub) as link:
        hub.token = "another"
        hub.cut()
        with pytest.raises(Unauthenticated):
            await link.call("ping")


async def test_a_hub_that_falls_silent_is_lost(tmp_path: Path) -> None:
    said: list[str] = []
    came_again = asyncio.Event()

    async def greet_and_fall_silent(socket: ServerConnection) -> None:
        hello = await _hello_on(socket)
        anew = hello if hello.resumes else hello._replace(generation=hello.generation + 1)
        await socket.send(encode(anew, Limits()))
        if said:
            came_again.set()
        await socket.wait_closed()

    beat = Heartbeat(interval_s=0.05, silent_after_s=0.1)
    async with unix_serve(greet_and_fall_silent, str(tmp_path / "hub.sock"), close_timeout=0.1):
        link = Link(_at(tmp_path / "hub.sock"), None, patience=QUICK, heartbeat=beat, on_trouble=said.append)
        async with asyncio.timeout(10), link:
            await came_again.wait()
    assert said[0].startswith("lost the hub (the other side has not answered")


# --- ending it ---------------------------------------------------------------------------------------------------


async def test_closing_gives_up_what_is_underway_on_both_sides(hub: ScriptedHub) -> None:
    ended = asyncio.Event()

    async def listen(channel: Channel) -> None:
        channel.accept()
        try:
            await channel.read(0)
        finally:
            ended.set()

    hub.handlers["listen"] = listen
    async with _link(hub) as link:
        channel = link.open("listen")
        await channel.wait_accepted()
    await ended.wait()
    with pytest.raises(Cancelled):
        await channel.result()
    with pytest.raises(Cancelled, match="closed"):
        link.open("ping")


async def test_closing_twice_is_closing_once(hub: ScriptedHub) -> None:
    link = _link(hub)
    await link.close()
    async with link:
        pass
    await link.close()


async def test_an_error_inside_passes_through_as_it_is(hub: ScriptedHub) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with _link(hub):
            raise LookupError("mine")


async def test_cancelling_a_call_tells_the_hub(hub: ScriptedHub) -> None:
    outcome: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()

    async def listen(channel: Channel) -> None:
        channel.accept()
        try:
            await channel.read(0)
        except CodedError as error:
            outcome.set_result(error)

    hub.handlers["listen"] = listen
    async with _link(hub) as link:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await link.call("listen")
        assert isinstance(await outcome, Cancelled)


async def test_cancelling_the_connecting_leaves_nothing_behind(tmp_path: Path) -> None:
    with sockets.socket(sockets.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "hub.sock"))
        silent.listen()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await Link(_at(tmp_path / "hub.sock"), None, patience=QUICK).__aenter__()
    assert len(asyncio.all_tasks()) == 1


async def _hello_on(socket: ServerConnection) -> Hello:
    first = await socket.recv()
    assert isinstance(first, bytes)
    hello = next(Decoder(Limits()).frames(first))
    assert isinstance(hello, Hello)
    return hello


async def _outcome(work: Any) -> CodedError | dict[str, Any]:
    try:
        found: dict[str, Any] = await work
    except CodedError as error:
        return error
    return found


async def test_a_request_that_is_wrong_here_is_not_sent(hub: ScriptedHub) -> None:
    async with _link(hub) as link:
        with pytest.raises(CodedError, match="over the limit"):
            await link.call("ping", {"a": "x" * (2 << 20)})
        assert await link.call("ping") == {"pong": 1}
    assert len(hub.asked) == 1
