"""What the errors of the SDK say."""

from __future__ import annotations

import cloche.errors
from cloche.errors import CodedError, CommandFailed, HubNotRunning
from cloche.messages import Completed
from cloche_wire.errors import ERROR_CLASSES


def _completed(**changes: object) -> Completed:
    fields: dict[str, object] = {
        "exit_code": 3,
        "signal": None,
        "timed_out": False,
        "duration_s": 1.5,
        "stdout_bytes": b"",
        "stderr_bytes": b"",
    }
    return Completed(**(fields | changes))  # type: ignore[arg-type]


def test_every_error_of_the_wire_is_there_under_its_own_name() -> None:
    assert [
        cls for cls in ERROR_CLASSES.values() if getattr(cloche.errors, cls.__name__, None) is not cls
    ] == []


def test_one_class_catches_everything() -> None:
    assert issubclass(HubNotRunning, CodedError)
    assert issubclass(CommandFailed, CodedError)


def test_what_never_crosses_a_link_has_no_place_in_the_table_of_codes() -> None:
    assert {HubNotRunning.code, CommandFailed.code}.isdisjoint(ERROR_CLASSES)


def test_a_failed_command_tells_how_it_ended_and_its_last_lines() -> None:
    lines = "\n".join(f"line {number}" for number in range(20))
    error = CommandFailed(_completed(stderr_bytes=lines.encode()))
    assert error.message.startswith("the command ended with exit code 3:\nline 10\n")
    assert error.message.endswith("line 19")
    assert error.details == {"exit_code": 3, "signal": None}


def test_a_failed_command_without_errors_shows_its_output() -> None:
    assert (
        CommandFailed(_completed(stdout_bytes=b"out\n")).message == "the command ended with exit code 3:\nout"
    )


def test_a_failed_command_that_said_nothing_is_one_line() -> None:
    assert CommandFailed(_completed()).message == "the command ended with exit code 3"


def test_a_command_ended_by_a_signal_names_it() -> None:
    error = CommandFailed(_completed(exit_code=None, signal="KILL"))
    assert error.message == "the command was ended by SIGKILL"


def test_a_command_that_ran_out_of_time_says_how_much_it_had() -> None:
    error = CommandFailed(_completed(exit_code=None, signal="KILL", timed_out=True))
    assert error.message == "the command did not end in time (it had 1.5 s)"


def test_a_long_line_is_cut() -> None:
    assert len(CommandFailed(_completed(stderr_bytes=b"x" * 100_000)).message) < 2100
