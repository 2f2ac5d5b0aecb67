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


def test_a_failed_command_is_named_with_how_it_ended_and_its_last_line() -> None:
    error = CommandFailed("make all", _completed(stderr_bytes=b"first\nlast\n\n", stdout_bytes=b"out\n"))
    assert error.message == "the command 'make all' ended with exit code 3: last"
    assert error.details == {"exit_code": 3, "signal": None}
    assert (error.command, error.completed.stderr) == ("make all", "first\nlast\n\n")


def test_a_failed_command_in_words_is_named_as_a_shell_would_have_it() -> None:
    error = CommandFailed(["grep", "a b", "file"], _completed())
    assert error.message == "the command \"grep 'a b' file\" ended with exit code 3"


def test_a_failed_command_without_errors_shows_its_output() -> None:
    error = CommandFailed("x", _completed(stdout_bytes=b"out\n"))
    assert error.message == "the command 'x' ended with exit code 3: out"


def test_a_command_ended_by_a_signal_names_it() -> None:
    error = CommandFailed("x", _completed(exit_code=None, signal="KILL"))
    assert error.message == "the command 'x' was ended by SIGKILL"


def test_a_command_that_ran_out_of_time_says_how_much_it_had() -> None:
    error = CommandFailed("x", _completed(exit_code=None, signal="KILL", timed_out=True))
    assert error.message == "the command 'x' did not end in time (it had 1.5 s)"


def test_a_long_command_and_a_long_line_are_cut() -> None:
    assert len(CommandFailed("y" * 9999, _completed(stderr_bytes=b"x" * 100_000)).message) < 700


def test_the_message_of_a_failed_command_is_one_line_that_does_nothing_to_a_terminal() -> None:
    message = CommandFailed("a\nb\033", _completed(stderr_bytes=b"\033[2J\rok")).message
    assert message == r"the command 'a\nb\x1b' ended with exit code 3: \x1b[2J\rok"
