"""CBox's library on Cloche: its names, its defaults, its exceptions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import cbox_callback
import cloche_callback
import pytest

from tests.support.callback_answerer import SILENCE, answering, error, result


@pytest.fixture(autouse=True)
def _meets_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cloche_callback, "SOCKET", str(tmp_path / "callback.sock"))
    monkeypatch.setattr(cloche_callback, "_GRACE_S", 0.05)


def test_it_waits_half_a_minute_unless_told_otherwise(tmp_path: Path) -> None:
    with answering(tmp_path, result({"a": 1}), result(2)) as agent:
        assert cbox_callback.callback("m", {"b": 2}) == {"a": 1}
        assert cbox_callback.callback("m", timeout=3.5) == 2
    assert [asked["timeout_s"] for asked in agent.requests] == [30.0, 3.5]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("forbidden", RuntimeError),
        ("callback_failed", RuntimeError),
        ("no_handler", RuntimeError),
        ("timed_out", TimeoutError),
        ("link_lost", ConnectionError),
        ("shutting_down", ConnectionError),
    ],
)
def test_errors_are_the_three_it_has(tmp_path: Path, code: str, kind: type[Exception]) -> None:
    with answering(tmp_path, error(code, "because")), pytest.raises(kind, match="because") as caught:
        cbox_callback.callback("m")
    assert type(caught.value) is kind


def test_what_cannot_be_sent_is_a_runtime_error() -> None:
    with pytest.raises(RuntimeError, match="cannot be sent"):
        cbox_callback.callback("m", {1, 2})


def test_without_cloche_it_is_a_connection_error() -> None:
    with pytest.raises(ConnectionError):
        cbox_callback.callback("m")


def test_a_call_nobody_waits_for_has_no_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cbox_callback, "_ASYNC_TIMEOUT_S", 0.01)
    cbox_callback.callback_async("m", {1, 2})
    cbox_callback.callback_async("m")
    with answering(tmp_path, error("forbidden"), SILENCE) as agent:
        cbox_callback.callback_async("m", {"a": 1})
        cbox_callback.callback_async("m")
    assert agent.requests[0] == {"method": "m", "params": {"a": 1}, "wait": False}


def run(tmp_path: Path, *arguments: str) -> tuple[int, str, str]:
    """How the command ends, and what it says."""
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); import cbox_callback; cbox_callback.main()"
    folder = Path(str(cbox_callback.__file__)).parent
    # SAFETY: the program and its arguments are this test's own.
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(folder), *arguments],
        env={"CLOCHE_CALLBACK_SOCKET": str(tmp_path / "callback.sock")},
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_command_takes_a_method_and_json(tmp_path: Path) -> None:
    with answering(tmp_path, result([1, 2])) as agent:
        assert run(tmp_path, "m", json.dumps({"a": 1})) == (0, "[1, 2]\n", "")
    assert agent.requests[0]["params"] == {"a": 1}


def test_the_command_tells_failure_from_misuse(tmp_path: Path) -> None:
    assert run(tmp_path, "m")[0] == 1
    assert run(tmp_path)[0] == 2
    code, out, said = run(tmp_path, "m", "{")
    assert (code, out) == (2, "")
    assert said.startswith("cbox_callback: the parameters are no JSON: ")
