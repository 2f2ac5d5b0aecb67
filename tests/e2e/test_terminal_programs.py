"""What people use at a terminal, in a real machine, through `cloche shell` in a real terminal of this host."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from cloche_hub.ports import Image
from tests.support.real_hub import RealHub
from tests.support.terminal import shell_in_terminal

pytestmark = pytest.mark.machine

_BOUND_S = 120


@pytest.fixture(scope="module")
def desk(real_hub: RealHub, tools_image: Image) -> Iterator[str]:
    """A sandbox with the tools of people in it."""
    created = real_hub.cloche("create", "--recipe", "tools", "--name", "desk", "--json")
    assert created.status == 0, created.err
    yield str(json.loads(created.out)["id"])
    real_hub.cloche("rm", "desk")


async def test_vim_edits_a_file(real_hub: RealHub, desk: str) -> None:
    async with shell_in_terminal(
        "desk", "--", "vim", "-u", "NONE", "note", env=real_hub.env, bound_s=_BOUND_S
    ) as at:
        await at.shows(b"\x1b[?1049h")
        at.type(b"ihello from vim")
        await at.shows(b"hello from vim")
        at.type(b"\x1b:wq\r")
        assert await at.ends() == 0
    assert real_hub.cloche("exec", "desk", "--", "cat", "note").out == b"hello from vim\n"


async def test_htop_shows_the_machine_and_follows_the_window(real_hub: RealHub, desk: str) -> None:
    async with shell_in_terminal("desk", "--", "htop", env=real_hub.env, bound_s=_BOUND_S) as at:
        await at.shows(b"Load average")
        at.seen = b""
        at.resize(20, 60)
        # It draws everything anew for another size, and only then.
        await at.shows(b"Load average")
        at.type(b"q")
        assert await at.ends() == 0


async def test_tmux_runs_a_shell_of_its_own(real_hub: RealHub, desk: str) -> None:
    async with shell_in_terminal(
        "desk", "--", "tmux", "new", "-s", "work", env=real_hub.env, bound_s=_BOUND_S
    ) as at:
        await at.shows(b"[work]")
        at.type(b"echo in-$((40 + 2))\r")
        await at.shows(b"in-42")
        at.type(b"exit\r")
        assert await at.ends() == 0


async def test_a_python_prompt_edits_its_line_and_hears_ctrl_c(real_hub: RealHub, desk: str) -> None:
    async with shell_in_terminal("desk", "--", "python3", "-q", env=real_hub.env, bound_s=_BOUND_S) as at:
        await at.shows(b">>> ")
        at.type(b"import time; time.sleep(1000)\r")
        await at.shows(b"sleep(1000)")
        at.type(b"\x03")
        await at.shows(b"KeyboardInterrupt")
        # Home, and a digit in front of what was typed.
        at.type(b"2*7\x1b[H4\r")
        await at.shows(b"294")
        # Typed before the next prompt, the end of input would be read as another character.
        at.seen = at.seen.partition(b"294")[2]
        await at.shows(b">>> ")
        at.type(b"\x04")
        assert await at.ends() == 0


async def test_a_shell_that_is_left_goes_on_until_its_console_is_closed(real_hub: RealHub, desk: str) -> None:
    async with shell_in_terminal("desk", "--name", "left", env=real_hub.env, bound_s=_BOUND_S) as at:
        await at.shows(b"ctrl+] leaves")
        at.type(b"sleep 45678; echo never\r")
        await at.shows(b"echo never\r\n")
        at.type(b"\x1d")
        assert await at.ends() == 0
    runs = ("exec", "desk", "--", "pgrep", "-f", "sleep [4]5678")
    assert real_hub.cloche(*runs).status == 0
    assert real_hub.cloche("consoles", "close", "desk/left").status == 0
    gone = "while pgrep -f 'sleep [4]5678'; do sleep 0.1; done"
    assert real_hub.cloche("exec", "desk", "--timeout", "60s", "--", "sh", "-c", gone).status == 0
