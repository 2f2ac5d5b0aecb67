"""The library that programs in a machine import, against a played agent."""

from __future__ import annotations

import ast
import asyncio
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloche_callback
import pytest
from cloche_callback import CallbackDenied, CallbackError, CallbackTimeout, acallback, callback, notify

from tests.support.callback_answerer import SILENCE, Unheard, answering, error, result


@pytest.fixture(autouse=True)
def _meets_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloche_callback, "SOCKET", str(tmp_path / "callback.sock"))
    monkeypatch.setattr(cloche_callback, "_GRACE_S", 0.05)


async def in_task(method: str, params: Any = None, timeout: float | None = None) -> Any:
    return await acallback(method, params, timeout)


def through_asyncio(method: str, params: Any = None, timeout: float | None = None) -> Any:
    return asyncio.run(in_task(method, params, timeout))


both = pytest.mark.parametrize("call", [callback, through_asyncio])


@both
@pytest.mark.parametrize("value", [None, 0, "Zoë \ud800", [1, {"a": 2.5}], "x" * 120_000])
def test_params_go_and_a_result_comes(tmp_path: Path, call: Any, value: Any) -> None:
    with answering(tmp_path, result(value)) as agent:
        assert call("pay.send", {"value": value}, 7) == value
    assert agent.requests == [
        {"method": "pay.send", "params": {"value": value}, "timeout_s": 7, "wait": True}
    ]


@both
def test_without_a_timeout_none_is_asked_for(tmp_path: Path, call: Any) -> None:
    with answering(tmp_path, result(1)) as agent:
        call("now")
    assert agent.requests == [{"method": "now", "params": None, "wait": True}]


@both
@pytest.mark.parametrize(
    ("code", "kind"),
    [("forbidden", CallbackDenied), ("timed_out", CallbackTimeout), ("callback_failed", CallbackError)],
)
def test_an_error_has_the_hubs_code_and_words(tmp_path: Path, call: Any, code: str, kind: type) -> None:
    with (
        answering(tmp_path, error(code, "not today")),
        pytest.raises(CallbackError, match="not today") as caught,
    ):
        call("a")
    assert type(caught.value) is kind
    assert caught.value.code == code


@both
def test_an_answer_that_came_before_the_request_was_read_is_not_lost(tmp_path: Path, call: Any) -> None:
    with (
        answering(tmp_path, Unheard(error("too_large", "too many"))),
        pytest.raises(CallbackError, match="too many"),
    ):
        call("a", "x" * 100_000)


def test_errors_are_what_python_has_for_such() -> None:
    assert issubclass(CallbackError, RuntimeError)
    assert issubclass(CallbackTimeout, TimeoutError)
    assert str(CallbackTimeout("late", "timed_out")) == "late"


@both
def test_a_silent_agent_costs_the_timeout_and_is_told(tmp_path: Path, call: Any) -> None:
    with answering(tmp_path, SILENCE) as agent:
        with pytest.raises(CallbackTimeout, match=r"no answer within 0\.01 s"):
            call("a", None, 0.01)
        assert agent.hung_up.wait(10)


@both
@pytest.mark.parametrize("answer", [b"", b'{"result": 1}', b"x" * 300_000 + b"\n"])
def test_an_agent_that_goes_away_is_a_connection_error(tmp_path: Path, call: Any, answer: bytes) -> None:
    with answering(tmp_path, answer), pytest.raises(ConnectionError, match="went away"):
        call("a")


@both
@pytest.mark.parametrize("answer", [b"hello\n", b"[]\n", b"{}\n", b'{"error": "x"}\n'])
def test_an_answer_that_is_none_is_an_error(tmp_path: Path, call: Any, answer: bytes) -> None:
    with answering(tmp_path, answer), pytest.raises(CallbackError, match="no answer"):
        call("a")


@both
def test_without_cloche_the_error_says_so(call: Any) -> None:
    with pytest.raises(ConnectionError, match=r"there is no Cloche here: .*callback\.sock does not answer"):
        call("a")


@both
def test_what_is_too_large_is_not_sent(call: Any) -> None:
    with pytest.raises(CallbackError, match="131073 bytes") as caught:
        call("a", "x" * (cloche_callback.MAX_BYTES - 1))
    assert caught.value.code == "too_large"


@both
@pytest.mark.parametrize(
    ("method", "params", "timeout", "kind"),
    [(3, None, None, TypeError), ("a", {1, 2}, None, TypeError), ("a", math.nan, None, ValueError), ("a", 1, 0, ValueError)],
)  # fmt: skip
def test_what_makes_no_sense_is_not_sent(
    call: Any, method: Any, params: Any, timeout: Any, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        call(method, params, timeout)


async def test_cancelling_takes_the_call_back(tmp_path: Path) -> None:
    with answering(tmp_path, SILENCE) as agent:
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            task = group.create_task(acallback("a"))
            while not agent.requests:
                await asyncio.sleep(0)
            task.cancel()
        assert await asyncio.to_thread(agent.hung_up.wait, 10)


def test_notify_asks_for_no_result(tmp_path: Path) -> None:
    with answering(tmp_path, result(None)) as agent:
        notify("log", {"a": 1})
    assert agent.requests == [{"method": "log", "params": {"a": 1}, "wait": False}]


def test_notify_waits_for_no_longer_than_it_is_told(tmp_path: Path) -> None:
    with answering(tmp_path, SILENCE), pytest.raises(CallbackTimeout):
        notify("log", timeout=0.01)


def run(tmp_path: Path, *arguments: str, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
    """How the command ends, and what it says."""
    # SAFETY: the program and its arguments are this test's own.
    done = subprocess.run(
        [sys.executable, "-I", str(cloche_callback.__file__), *arguments],
        input=stdin,
        env={"CLOCHE_CALLBACK_SOCKET": str(tmp_path / "callback.sock"), "LC_ALL": "C"},
        capture_output=True,
        timeout=10,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_command_prints_a_result_as_json(tmp_path: Path) -> None:
    with answering(tmp_path, result({"to": "Zoë \ud800"})) as agent:
        assert run(tmp_path, "a", '{"b": 1}', "--timeout", "5") == (
            0,
            '{"to": "Zoë \\ud800"}\n'.encode(),
            b"",
        )
    assert agent.requests == [{"method": "a", "params": {"b": 1}, "timeout_s": 5.0, "wait": True}]


def test_the_command_reads_params_from_stdin(tmp_path: Path) -> None:
    with answering(tmp_path, result(None)) as agent:
        assert run(tmp_path, "a", "-", "--no-wait", stdin=b"[1]") == (0, b"null\n", b"")
    assert agent.requests == [{"method": "a", "params": [1], "wait": False}]


def test_the_command_says_why_not_in_one_line(tmp_path: Path) -> None:
    with answering(tmp_path, error("forbidden", "denied\nby 'rule'")):
        assert run(tmp_path, "a") == (1, b"", b"cloche-callback: denied by 'rule' (forbidden)\n")
    code, _, said = run(tmp_path, "a")
    assert (code, said.count(b"\n")) == (1, 1)
    assert b"no Cloche here" in said


@pytest.mark.parametrize(
    "arguments", [(), ("a", "{"), ("a", "1", "--timeout", "0"), ("a", "1", "2"), ("--bad",)]
)
def test_the_command_explains_its_use(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    code, out, said = run(tmp_path, *arguments)
    assert (code, out) == (2, b"")
    assert said.startswith(b"usage: cloche-callback")


@pytest.mark.parametrize("module", ["cloche_callback", "cbox_callback"])
def test_any_python_3_8_can_read_it(module: str) -> None:
    source = Path(str(cloche_callback.__file__)).with_name(f"{module}.py").read_text()
    ast.parse(source, feature_version=(3, 8))
