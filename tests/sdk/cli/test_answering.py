"""A local command that answers a callback."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cloche import CallbackCall
from cloche.cli.answering import answer_with, parse_output, variables_of
from cloche.errors import BadRequest, CallbackFailed
from tests.support.fifo import fifo_at

CALL = CallbackCall("cb_1", "pay.send", None, "sb_0001", "box", "ann", {}, None)


async def _answer(script: str, params: bytes = b"null") -> Any:
    async with asyncio.timeout(20):
        return await answer_with(["sh", "-c", script], CALL, params)


async def test_parameters_are_its_input_and_its_output_the_result() -> None:
    assert await _answer("cat", b'{"amount": [3, "\\u00e9"]}') == {"amount": [3, "é"]}


async def test_it_knows_what_is_called_and_from_where() -> None:
    assert (
        await _answer('echo "\\"$CLOCHE_CALLBACK_METHOD $CLOCHE_CALLBACK_SANDBOX $#\\""')
        == "pay.send sb_0001 0"
    )


async def test_what_a_guest_says_is_in_no_command_line(tmp_path: Path) -> None:
    hostile = b'"$(touch pwned) `touch pwned`; touch pwned"'
    assert await _answer("tr '\\0' ' ' < /proc/$$/cmdline >&2; cat", hostile) == hostile.decode()[1:-1]
    assert not Path("pwned").exists()


async def test_it_need_not_read_what_it_is_asked() -> None:
    assert await _answer("exec <&-; echo 1", b'"' + b"x" * (128 << 10) + b'"') == 1


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo one >&2; echo two >&2; echo >&2; exit 3", "two"),
        ("exit 3", "the command that answers it ended with status 3"),
        ("true", "the command that answers it did not write one JSON value: Expecting value"),
        ("echo 1 2", "did not write one JSON value: Extra data"),
        ("echo NaN", "NaN is no number"),
        ("printf '\\377'", "did not write one JSON value"),
        ("head -c 200000 /dev/zero", "wrote more than 131072 bytes"),
        ("head -c 100000 /dev/zero >&2; echo last >&2; exit 1", "last"),
    ],
)
async def test_what_is_no_answer_is_a_failure_that_says_why(script: str, message: str) -> None:
    with pytest.raises(CallbackFailed) as failed:
        await _answer(script)
    assert failed.value.message.strip("\0").startswith(message) or message in failed.value.message


async def test_a_command_that_is_not_there_is_no_answer() -> None:
    with pytest.raises(FileNotFoundError):
        await answer_with(["/nowhere/command"], CALL, b"null")


@pytest.mark.parametrize("takes_notice", [True, False])
async def test_a_command_that_nobody_waits_for_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, takes_notice: bool
) -> None:
    monkeypatch.setattr("cloche.cli.answering._END_S", 10 if takes_notice else 0.05)
    trap = "" if takes_notice else "trap '' TERM;"
    fifo = tmp_path / "fifo"
    script = f"{trap} exec 9>{fifo}; echo ready >&9; sleep 1000 & wait"
    async with fifo_at(fifo) as alive, asyncio.timeout(50), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(_answer(script))
        assert await alive.readline() == b"ready\n"
        running.cancel()
        assert await alive.read() == b"", "nobody has it open any more"


@pytest.mark.parametrize(
    ("method", "sandbox"), [("a b", "sb_1"), ("a\n", "sb_1"), ("-a", "sb_1"), ("a", "$(x)")]
)
def test_what_no_hub_lets_pass_is_put_in_no_environment(method: str, sandbox: str) -> None:
    with pytest.raises(BadRequest):
        variables_of(CallbackCall("cb_1", method, None, sandbox, "box", "ann", {}, None))


def test_the_largest_output_is_as_large_as_a_callbacks() -> None:
    assert len(parse_output(b'"' + b"x" * ((128 << 10) - 2) + b'"')) == (128 << 10) - 2
