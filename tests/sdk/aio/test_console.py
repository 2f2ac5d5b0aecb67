"""A terminal in a sandbox as a program holds it; the terminal is a real one, right here."""

from __future__ import annotations

import pytest

from cloche.aio import Console, Sandbox
from cloche.errors import BadRequest, CommandNotStarted, WrongState
from tests.support.scripted_hub import refuse


async def _until(console: Console, wanted: bytes) -> bytes:
    """What it shows up to `wanted`."""
    seen = b""
    while wanted not in seen:
        piece = await console.read()
        assert piece, f"it ended with {seen!r}"
        seen += piece
    return seen


async def test_what_is_typed_reaches_a_real_terminal_and_its_answer_comes_back(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", 'test -t 0 && read line && echo "<$line>"']) as console:
        assert console.id.startswith("con_")
        await console.write("hi\n")
        assert b"<hi>" in b"".join([piece async for piece in console])
        ended = await console.wait()
    assert (ended.exit_code, ended.signal, ended.timed_out) == (0, None, False)


async def test_the_window_has_the_size_it_was_opened_with_and_then_the_one_it_is_given(
    sandbox: Sandbox,
) -> None:
    script = "stty size; trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done"
    async with sandbox.console(["sh", "-c", script], rows=30, cols=100) as console:
        assert b"30 100" in await _until(console, b"ready")
        await console.resize(40, 120)
        assert b"40 120" in b"".join([piece async for piece in console])


async def test_a_signal_reaches_the_program(sandbox: Sandbox) -> None:
    async with sandbox.console(["sh", "-c", "echo ready; sleep 60"]) as console:
        await _until(console, b"ready")
        await console.signal("KILL")
        assert (await console.wait()).signal == "KILL"
        await console.signal("KILL")  # nothing is there to be told


async def test_leaving_it_closes_it(sandbox: Sandbox) -> None:
    async with sandbox.console(["cat"]) as console:
        pass
    with pytest.raises(Exception, match="left the console"):
        await console.wait()


async def test_typing_to_a_program_that_has_ended_says_so(sandbox: Sandbox) -> None:
    async with sandbox.console(["true"]) as console:
        await console.wait()
        with pytest.raises(WrongState, match="has ended and reads no more"):
            await console.write(b"x")


async def test_a_size_that_is_none_is_refused(sandbox: Sandbox) -> None:
    async with sandbox.console(["cat"]) as console:
        await console.resize(0, 80)
        with pytest.raises(BadRequest, match="rows and cols"):
            await console.wait()


async def test_a_program_that_is_not_there_is_an_error_at_once(sandbox: Sandbox, hub: object) -> None:
    hub.handlers["console.open"] = refuse(CommandNotStarted("no such program", reason="not_found"))  # type: ignore[attr-defined]
    with pytest.raises(CommandNotStarted):
        await sandbox.console(["nothing"])


async def test_a_text_is_no_list_of_arguments(sandbox: Sandbox) -> None:
    with pytest.raises(TypeError, match="'/bin/sh', '-c', 'ls'"):
        sandbox.console("ls")
