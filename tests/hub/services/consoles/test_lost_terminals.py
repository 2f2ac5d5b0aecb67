"""Consoles whose terminal is lost, through a whole hub: what a hostile guest shows costs it a part of its own screen."""

from __future__ import annotations

import ast
import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import cloche_hub
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import Cancelled, InternalError
from cloche_hub.ports import Size
from cloche_hub.services.consoles import keeper
from cloche_hub.services.consoles.emulator import MOST_LOSSES, NONE_LEFT, SPENT
from cloche_hub.services.consoles.live import LACKING
from cloche_hub.services.consoles.stored import restored
from cloche_term import TerminalLost
from cloche_term.apart.frames import Look
from cloche_term.apart.terminal import ApartTerminal
from cloche_term.apart.terminals import Terminals, open_terminals
from cloche_term.apart.zygote import Zygote
from cloche_wire.aio import Channel
from tests.support.agent_process import AgentProcess, running_agent
from tests.support.casts import shown
from tests.support.consoles import Viewing, attach, create, terminals
from tests.support.hub import Client, RunningHub, running_hub, until, within
from tests.support.real_agent import AgentHypervisor, AgentImages
from tests.term.apart.hostile import CRASH, PANIC

SEGMENTS = b"\x1b[1;8r\x1b[?2027h\x1b[?69h\x1b[0;3s\x1b[282;985Hwwwa\xe2\x80\x8d\xe0\xb8\xb3"
"""Another crash: the same write, on a screen with margins."""


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[AgentProcess]:
    with running_agent(tmp_path) as process:
        yield process


def workers(hub: RunningHub) -> list[ApartTerminal]:
    """The terminals that live."""
    return [terminal for terminal in hub.terminals._open if not terminal.is_lost]


def worker(hub: RunningHub) -> ApartTerminal:
    """The only one."""
    (terminal,) = workers(hub)
    return terminal


async def kill(terminal: ApartTerminal) -> None:
    """Its process ends, and that is known."""
    os.kill(terminal.pid, signal.SIGKILL)
    await until(lambda: terminal.is_lost)


async def hostile(client: Client, sandbox: str = "a", *, rows: int = 24, cols: int = 80) -> Viewing:
    """A fresh console, and who drives it; its own emulator is none that these bytes crash."""
    await create(client, sandbox, rows=rows, cols=cols)
    return await attach(client, sandbox, backend="bittty", rows=rows, cols=cols)


async def until_lost(viewer: Viewing, times: int = 1) -> str:
    """What a viewer is told when the terminal has been lost."""
    await viewer.until(lambda: len(losses(viewer)) >= times)
    return losses(viewer)[-1]


def losses(viewer: Viewing) -> list[str]:
    return [notice for notice in viewer.notices if "emulator" in notice]


async def until_screen(client: Client, *rows: str, sandbox: str = "a") -> None:
    """Returns when the hub says that these rows are shown, besides blank ones."""
    channel = client.open("console.screen", sandbox=sandbox, follow=True)
    screens = channel.messages(max_bytes=4 << 20)
    while [line for line in (await within(anext(screens)))["lines"] if line] != list(rows):
        pass
    channel.reset(Cancelled("enough"))


@pytest.mark.parametrize(("poison", "rows", "cols"), [(CRASH, 24, 80), (SEGMENTS, 24, 80), (PANIC, 625, 80)])
async def test_what_crashes_the_emulator_is_told_and_the_program_goes_on(
    poison: bytes, rows: int, cols: int, tmp_path: Path
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        viewer = await hostile(client, rows=rows, cols=cols)
        await viewer.type(b"stored")
        await until(lambda: any(stored.end == 6 for stored in hub.screens.kept.values()))
        before = worker(hub)
        await viewer.type(poison)
        told = await until_lost(viewer)
        assert f"miss {len(poison)} bytes" in told
        await viewer.type(b"\x1bcgoes on")
        await viewer.until_shown("goes on")
        # Who was there has seen it all, and needs no other screen.
        assert (viewer.screens, viewer.offset) == (1, 6 + len(poison) + 9)
        later = await attach(client, mode="watch", backend="bittty")
        await later.until_shown("goes on")
        await later.until(lambda: later.notices)
        assert later.notices == [LACKING]
        assert before.is_lost
        (recording,) = hub.recordings.made.values()
        await until(lambda: told.encode() in recording.text and "goes on" in shown(recording.text))
        (log,) = [log for log in hub.logs if log["log_level"] in ("warning", "error")]
        assert log["event"] == "console_terminal_lost"
        await viewer.type(b"\x04")
        assert (await viewer.result())["exit_code"] == 0


async def test_what_was_stored_is_shown_again_and_what_is_stored_next_makes_the_same_screen(
    tmp_path: Path, zygote: Zygote, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        viewer = await hostile(client)
        (console,) = hub.screens.kept
        await viewer.type(b"\x1b[31mone\r\n")
        await until(lambda: hub.screens.kept[console].end == 10)
        # Between two stores: what is shown now is in no log when the terminal is lost.
        with monkeypatch.context() as patch:
            patch.setattr(keeper, "LINGER_S", 1000.0)
            await viewer.type(b"two\r\n")
            await viewer.type(CRASH)
            told = await until_lost(viewer)
        assert f"miss {5 + len(CRASH)} bytes" in told
        await viewer.type(b"three")
        await until_screen(client, "one", "three")
        # More than is gathered: it is stored at once.
        await viewer.type(b"\r\n" + b"x" * (64 << 10) + b"\x1b[2J\x1b[Hfour")
        await viewer.until_shown("four")
        await until(lambda: hub.screens.kept[console].end == viewer.offset)
        stored = hub.screens.kept[console]
        assert stored.snapshot is not None
        await viewer.type(b"\r\nfive")
        await until(lambda: hub.screens.kept[console].end > stored.end)
        stored = hub.screens.kept[console]
        ours = worker(hub)
        async with open_terminals(zygote=zygote) as others:
            again = await restored(others, stored, Size(24, 80))
            assert await again.dump(scrollback_lines=1000) == await ours.dump(scrollback_lines=1000)
            assert [line for line in (await again.look()).lines if line] == ["four", "five"]


async def test_the_last_loss_ends_the_console_for_a_reason_people_understand(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        viewer = await hostile(client)
        for number in range(MOST_LOSSES):
            await viewer.type(CRASH)
            await until_lost(viewer, number + 1)
        await viewer.type(b"still here")
        await viewer.until(lambda: viewer.output.endswith(b"still here"))
        await viewer.type(CRASH)
        assert (await viewer.result())["signal"] == "HUP"
        assert SPENT in losses(viewer)[-1]
        (ended,) = await terminals(client, ended=True)
        assert (ended["state"], ended["end_reason"]) == ("ended", SPENT)
        (event,) = await hub.events(AuditName.CONSOLE_CLOSED)
        assert event.detail["reason"] == SPENT
        last = await attach(client, console="1", is_read=False)
        assert (await last.result())["signal"] == "HUP"
        # Another console of that sandbox works.
        assert (await hostile(client)).screens == 1


async def test_consoles_of_others_are_untouched(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await client.create(name="b")
        await create(client, "b")
        other = await attach(client, "b")
        await other.type(b"theirs")
        await other.until_shown("theirs")
        theirs = worker(hub)
        viewer = await hostile(client, "a")
        for number in range(MOST_LOSSES):
            await viewer.type(CRASH)
            await until_lost(viewer, number + 1)
        await other.type(b" too")
        await other.until_shown("theirs too")
        await until_screen(client, "theirs too", sandbox="b")
        assert (theirs.is_lost, losses(other)) == (False, [])


async def test_a_process_that_is_killed_in_a_flood_loses_a_part_of_the_screen_and_nothing_else(
    tmp_path: Path, agent: AgentProcess
) -> None:
    hypervisor = AgentHypervisor(agent)
    async with (
        running_hub(tmp_path / "home", hypervisor=hypervisor, images=AgentImages()) as hub,
        hub.client() as client,
    ):
        await client.create(name="a")
        await create(client, argv=["sh", "-c", "read -r _; seq 1 100000; printf 'the end'; read -r _"])
        viewer = await attach(client)
        await viewer.type(b"\n")
        for number in range(MOST_LOSSES):
            await flow(viewer)
            await kill(worker(hub))
            await until_logged(hub, number + 1)
        await viewer.until_shown("the end")
        for scrollback in (0, 50):
            later = await attach(client, mode="watch", scrollback=scrollback)
            assert later.text[-2:] == ["100000", "the end"]
        await viewer.type(b"\n")
        assert (await viewer.result())["exit_code"] == 0


async def flow(viewer: Viewing) -> None:
    """Returns when a good deal more has been shown."""
    before = viewer.offset or 0
    await viewer.until(lambda: (viewer.offset or 0) > before + 10_000)


async def until_logged(hub: RunningHub, losses: int) -> None:
    await until(lambda: len(lost(hub)) == losses)


def lost(hub: RunningHub) -> list[object]:
    """What is logged of lost terminals."""
    return [log for log in hub.logs if log["event"] == "console_terminal_lost"]


async def test_a_process_that_does_not_answer_is_given_up_and_viewers_wait_for_nothing(
    tmp_path: Path,
) -> None:
    async with running_hub(tmp_path / "home", patience_s=0.3) as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        stuck = worker(hub)
        os.kill(stuck.pid, signal.SIGSTOP)
        await viewer.type(b"shown at once")
        await viewer.until_shown("shown at once")
        assert lost(hub) == []
        assert "miss 13 bytes" in await until_lost(viewer)
        await until(lambda: stuck.has_ended)
        await viewer.type(b"\r\nnext")
        later = await attach(client, mode="watch")
        await later.until_shown("next")


async def test_a_screen_that_crashes_its_terminal_is_made_by_the_next(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        await viewer.type(b"hello")
        await until(lambda: any(stored.end == 5 for stored in hub.screens.kept.values()))
        for scrollback in (0, 100):
            await kill(worker(hub))
            later = await attach(client, mode="watch", scrollback=scrollback)
            assert (later.text, later.notices) == (["hello"], [])
        await kill(worker(hub))
        await until_screen(client, "hello")
        assert losses(viewer) == []
        await until_lost(viewer, 3)
        assert "shows the same" in losses(viewer)[-1]


async def test_a_boot_console_begins_anew_and_is_not_watched_for_ever(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        viewer = await attach(client, console="boot")
        for number in range(MOST_LOSSES):
            await kill(worker(hub))
            hub.machine.print(b"line %d\n" % number)
            await viewer.until_shown(f"line {number}")
            await until_lost(viewer, number + 1)
        later = await attach(client, console="boot")
        assert later.text == [f"line {MOST_LOSSES - 1}"]
        await kill(worker(hub))
        hub.machine.print(b"more\n")
        for one in (viewer, later):
            with pytest.raises(Cancelled, match=SPENT):
                await one.result()
        await until(lambda: hub.machine.followers == 0)
        again = await attach(client, console="boot")
        assert again.text[-1] == "more"


async def test_without_a_process_no_console_is_opened_and_nothing_is_asked_of_the_guest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_terminals: Terminals, _rows: int, _cols: int) -> ApartTerminal:
        raise TerminalLost("there are no more processes")

    asked: list[Channel] = []

    async def serve(channel: Channel) -> None:
        asked.append(channel)

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.agent.overrides["pty"] = serve
        monkeypatch.setattr(Terminals, "open", refuse)
        with pytest.raises(InternalError, match="no terminal"):
            await create(client)
        with pytest.raises(InternalError, match="no terminal"):
            await attach(client, console="boot")
        assert asked == []
        events = [log["event"] for log in hub.logs if log["log_level"] == "error"]
        assert events == ["console_without_terminal"] * 2


async def test_a_console_that_cannot_be_stored_without_a_terminal_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)

        async def refuse(_terminals: Terminals, _rows: int, _cols: int) -> ApartTerminal:
            raise TerminalLost("there are no more processes")

        monkeypatch.setattr(Terminals, "open", refuse)
        await kill(worker(hub))
        await viewer.type(b"seen")
        await viewer.until_shown("seen")
        assert (await viewer.result())["signal"] == "HUP"
        (ended,) = await terminals(client, ended=True)
        assert ended["end_reason"] == NONE_LEFT


async def test_what_an_ended_console_showed_is_made_by_a_process_that_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        await create(client)
        viewer = await attach(client)
        await viewer.type(b"bye\x04")
        await viewer.result()
        last = await attach(client, console="1", is_read=False)
        assert (await last.result())["exit_code"] == 0
        channel = client.open("console.screen", sandbox="a", console="1")
        (told,) = [message async for message in channel.messages()]
        assert (last.text, told["lines"][0]) == (["bye"], "bye")
        await until(lambda: workers(hub) == [])

        async def crash(_terminal: ApartTerminal) -> Look:
            raise TerminalLost("crashed")

        monkeypatch.setattr(ApartTerminal, "look", crash)
        channel = client.open("console.screen", sandbox="a", console="1")
        with pytest.raises(Exception, match="could not be kept"):
            await within(channel.result())


def test_the_hub_opens_no_terminal_in_its_own_process() -> None:
    imported: set[str] = set()
    for path in Path(cloche_hub.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cloche_term"):
                imported |= {f"{node.module}.{name.name}" for name in node.names}
            elif isinstance(node, ast.Import):
                imported |= {name.name for name in node.names if name.name.startswith("cloche_term")}
    allowed = ("cloche_term.apart.", "cloche_term.TerminalError", "cloche_term.TerminalLost")
    assert imported
    assert [name for name in sorted(imported) if not name.startswith(allowed)] == []


async def test_a_hub_that_stops_leaves_no_process(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        for _ in range(3):
            await create(client)
        await attach(client, console="boot")
        running = workers(hub)
        assert len(running) == 4
        await hub.end()
        await until(lambda: all(terminal.has_ended for terminal in running))
        await asyncio.sleep(0)
        assert [log for log in hub.logs if log["log_level"] in ("warning", "error")] == []
