"""`cloche consoles`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from cloche.aio import Sandbox
from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import LocalHub


@pytest.fixture(autouse=True)
async def _consoles(hub: LocalHub) -> AsyncIterator[None]:
    """A sandbox `box` with a console `work` that somebody drives."""
    async with (
        Sandbox.create(name="box") as box,
        box.console(["sh", "-c", "printf 'hi\\033]2;my title\\007'; exec cat"], name="work") as console,
    ):
        await console.until("hi", timeout_s=5)
        yield


@pytest.mark.parametrize("words", [("ls",), (), ("box",), ("ls", "box")])
async def test_consoles_are_listed_newest_first(cloche: Cloche, words: tuple[str, ...]) -> None:
    ran = await cloche("consoles", *words)
    assert (ran.status, ran.err) == (0, "")
    heading, work, boot = ran.out.splitlines()
    assert heading.split() == ["CONSOLE", "STATE", "SIZE", "DRIVES", "WATCH", "CREATED", "COMMAND", "TITLE"]
    assert work.split()[:5] == ["box/work", "open", "80x24", "admin", "0"]
    assert "sh -c printf" in work
    assert work.endswith("my title")
    assert boot.split()[:5] == ["box/boot", "open", "80x24", "-", "0"]
    assert "what the machine says" in boot


async def test_the_list_is_json_on_request(cloche: Cloche) -> None:
    infos = json.loads((await cloche("consoles", "--json")).out)
    assert [(info["name"], info["kind"], info["driver"]) for info in infos] == [
        ("work", "pty", "v1"),
        ("boot", "boot", None),
    ]


async def test_a_console_is_closed_and_listed_as_ended(cloche: Cloche) -> None:
    assert await cloche("consoles", "close", "box/work") == (0, "box/work\n", "")
    assert "work" not in (await cloche("consoles")).out
    assert "ended (KILL)" in (await cloche("consoles", "--all")).out


async def test_closing_says_which(cloche: Cloche) -> None:
    ran = await cloche("consoles", "close", "box")
    assert ran.status == 2
    assert "say which console of box to close; `cloche consoles box` lists them" in ran.err


async def test_a_console_s_screen_is_shown_as_text(cloche: Cloche) -> None:
    assert await cloche("consoles", "screen", "box/work") == (0, "hi\n", "")
    screen = json.loads((await cloche("consoles", "screen", "box", "--json")).out)
    assert (screen["lines"][0], screen["cursor"]["col"]) == ("hi", 2)
    assert (await cloche("consoles", "screen", "box/boot")).out == "Linux version 6.1\nready\n"


async def test_a_console_that_is_not_there_is_one_line(cloche: Cloche) -> None:
    ran = await cloche("consoles", "screen", "box/nothing")
    assert ran.status == 125
    assert ran.err.startswith("cloche: no console")
    assert ran.err.count("\n") == 1


async def test_the_shell_is_offered_the_commands_and_behind_them_consoles(program: Cloche) -> None:
    async def offered(line: str) -> list[str]:
        env = {"_CLOCHE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        return (await program(env=env)).out.split()

    assert await offered("cloche consoles ") == ["ls", "close", "screen"]
    assert "box/work" in await offered("cloche consoles close box/w")
    assert "box/work" in await offered("cloche attach box/w")
