"""`cloche hub [--background] | stop | status | logs`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from cloche import background
from cloche.cli import hub as hub_commands
from cloche.cli import session
from tests.sdk.cli.conftest import Cloche, start
from tests.support.local_hub import LocalHub
from tests.support.processes import runs
from tests.support.scripted_hub import TOKEN


async def test_in_the_foreground_the_process_becomes_the_hub(
    cloche: Cloche, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed: list[tuple[str, ...]] = []
    monkeypatch.setattr(hub_commands, "hand_over", lambda *words: handed.append(words))
    monkeypatch.chdir(home)
    await cloche("hub")
    await cloche("hub", "--listen", "127.0.0.1:1", "--tls-cert", "c.pem", "--tls-key", "/k.pem")
    assert handed == [
        ("serve",),
        ("serve", "--listen=127.0.0.1:1", f"--tls-cert={home}/c.pem", "--tls-key=/k.pem"),
    ]


async def test_status_is_for_people_and_programs(cloche: Cloche, hub: LocalHub) -> None:
    ran = await cloche("hub", "status")
    assert ran.status == 0
    assert f"address      {hub.address}\n" in ran.out
    assert "accelerator  tcg (this hub has no machines)\n" in ran.out
    status = json.loads((await cloche("hub", "status", "--json")).out)
    assert (status["address"], status["accelerator"], status["machines"]) == (hub.address, "tcg", 0)
    assert status["pid"] > 0


async def test_status_tells_the_address_it_was_reached_at(
    cloche: Cloche, hub: LocalHub, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "door").symlink_to(hub.address.removeprefix("unix://"))
    monkeypatch.setenv("CLOCHE_HUB", f"unix://{home}/door")
    monkeypatch.setenv("CLOCHE_TOKEN", TOKEN)
    assert f"address      unix://{home}/door\n" in (await cloche("hub", "status")).out
    assert json.loads((await cloche("hub", "status", "--json")).out)["address"] == f"unix://{home}/door"


async def test_with_a_hub_elsewhere_in_mind_none_is_started_here(
    cloche: Cloche, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOCHE_HUB", "ws://127.0.0.1:9")
    assert await cloche("hub", "--background") == (
        125,
        "",
        "cloche: CLOCHE_HUB points at ws://127.0.0.1:9; unset it to start a hub of your own\n",
    )


async def test_status_without_a_hub_fails_and_starts_none(cloche: Cloche, home: Path) -> None:
    assert await cloche("hub", "status", "--json") == (
        125,
        "",
        "cloche: no hub is running; start one with: cloche hub --background\n",
    )


async def test_stopping_returns_when_the_hub_is_gone(cloche: Cloche, hub: LocalHub) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_leave_when_asked(hub))
        ran = await cloche("hub", "stop")
    assert ran.status == 0
    assert ran.out.startswith("stopped the hub (pid ")


async def test_stopping_what_does_not_run_is_done(cloche: Cloche, home: Path) -> None:
    assert await cloche("hub", "stop") == (0, "", "cloche: no hub is running\n")
    assert json.loads((await cloche("hub", "stop", "--json")).out) == {
        "pid": None,
        "removed": [],
    }


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Somebody is in front of the terminal, and says no; the questions."""
    questions: list[str] = []

    async def confirm(question: str, *, default: bool) -> bool:
        questions.append(f"{question}, {default}")
        return False

    monkeypatch.setattr(hub_commands, "can_ask", lambda: True)
    monkeypatch.setattr(hub_commands, "confirm", confirm)
    return questions


async def test_at_a_terminal_stopping_names_what_ends_with_it_and_asks(
    cloche: Cloche, hub: LocalHub, asked: list[str]
) -> None:
    await cloche("create", "--name", "box")
    assert await cloche("hub", "stop") == (125, "", "cloche: nothing was stopped\n")
    await cloche("create", "--name", "web")
    await cloche("hub", "stop")
    assert asked == ["remove 1 running sandbox: box, False", "remove 2 running sandboxes: box, web, False"]
    assert not hub.stopped.is_set()


async def test_stopping_asks_nothing_where_nothing_is_lost(
    cloche: Cloche, hub: LocalHub, asked: list[str]
) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_leave_when_asked(hub))
        ran = await cloche("hub", "stop")
    assert (ran.status, ran.err, asked) == (0, "", [])


@pytest.mark.parametrize("words", [(), ("--yes",)])
async def test_without_a_question_stopping_says_what_went(
    cloche: Cloche, hub: LocalHub, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(hub_commands, "can_ask", lambda: bool(words))
    await cloche("create", "--name", "box")
    await cloche("create", "--name", "web")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_leave_when_asked(hub))
        ran = await cloche("hub", "stop", "--json", *words)
    assert ran.err == "cloche: removed with it: box, web\n"
    assert json.loads(ran.out)["removed"] == ["box", "web"]


async def test_a_hub_that_does_not_go_is_told(
    cloche: Cloche, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_commands, "_STOP_S", 0.3)
    ran = await cloche("hub", "stop")
    assert (ran.status, ran.out) == (125, "")
    assert ran.err == "cloche: the hub is still there after 0.3 s; see: cloche hub logs\n"


async def test_in_the_background_one_that_runs_already_is_as_good(cloche: Cloche, hub: LocalHub) -> None:
    ran = await cloche("hub", "--background")
    assert ran.status == 0
    assert ran.out.startswith("a hub is already running (pid ")
    told = json.loads((await cloche("hub", "--background", "--json")).out)
    assert (told["address"], told["started"]) == (hub.address, False)


async def test_in_the_background_it_is_started_with_what_it_is_told(
    cloche: Cloche, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(Path(__file__).resolve().parents[3])
    # The name of the hub's package is what `stop` knows its process by.
    script = "import sys; cloche_hub = 1; sys.argv[1:] = ['serve', *sys.argv[-2:]]; from tests.support.local_hub import main; main()"
    asked: list[tuple[str, ...]] = []

    def command(*words: str) -> list[str]:
        asked.append(words)
        return [sys.executable, "-c", script]

    monkeypatch.setenv("PYTHONPATH", root)
    monkeypatch.setattr(background, "hub_command", command)
    ran = await cloche("hub", "--background", "--listen", "127.0.0.1:1", "--json")
    try:
        told = json.loads(ran.out)
        assert Path(f"/proc/{told['pid']}").exists()
        assert told == {"pid": told["pid"], "address": f"unix://{home}/run/hub.sock", "started": True}
        assert asked == [("serve", "--listen=127.0.0.1:1")]
    finally:
        assert (await cloche("hub", "stop")).status == 0
    assert not runs(told["pid"])


async def test_a_hub_that_cannot_start_is_told_in_its_own_words(
    cloche: Cloche, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "start_hub", None)
    monkeypatch.setattr(
        background, "hub_command", lambda *_words: ["/bin/sh", "-c", "echo bad luck; exit 1", "sh"]
    )
    ran = await cloche("hub", "--background")
    assert (ran.status, ran.out) == (125, "")
    assert ran.err.startswith("cloche: the hub did not start")
    assert ran.err.endswith("bad luck\n")


async def test_logs_shows_the_newest_lines(cloche: Cloche, home: Path) -> None:
    (home / "hub.log").write_text("".join(f"line {number}\n" for number in range(100)) + "\033[2J\n")
    ran = await cloche("hub", "logs", "-n", "3")
    assert ran == (0, "line 98\nline 99\n\\x1b[2J\n", "")
    assert (await cloche("hub", "logs", "-n", "0")).out == ""
    assert len((await cloche("hub", "logs")).out.splitlines()) == 50


async def test_logs_without_a_log_is_one_line(cloche: Cloche, home: Path) -> None:
    assert await cloche("hub", "logs") == (
        125,
        "",
        f"cloche: there is no log yet at {home}/hub.log; a hub in the background writes it\n",
    )


async def test_following_the_log_shows_what_comes_until_interrupted(home: Path) -> None:
    log = home / "hub.log"
    log.write_text("one\n")
    process = await start("hub", "logs", "-f")
    assert process.stdout is not None
    async with asyncio.timeout(20):
        assert await process.stdout.readline() == b"one\n"
        with log.open("a") as file:
            file.write("two\n")
        assert await process.stdout.readline() == b"two\n"
        process.send_signal(2)
        assert await process.communicate() == (b"", b"")
    assert process.returncode == 130


async def _leave_when_asked(hub: LocalHub) -> None:
    await hub.stopped.wait()
    await hub.vanish()
