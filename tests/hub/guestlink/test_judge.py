"""What a hostile guest can make a client or the audit believe."""

from __future__ import annotations

import pytest

from cloche_hub.errors import CodedError, CommandNotStarted, MachineFailed, NotFound, SenselessAnswer
from cloche_hub.guestlink.judge import HONEST, MAX_MESSAGE, GuestJudge, one_line
from cloche_wire.errors import ERROR_CLASSES, RemoteProtocolError, error_from_code
from cloche_wire.events import Greeted


def heard(code: str, message: str = "so it is", **details: object) -> CodedError:
    """What is told of an error that the guest names."""
    return GuestJudge().error(error_from_code(code, message, details))


HONEST_CODES = {cls.code for cls in HONEST}


def test_the_errors_of_a_sound_agent() -> None:
    assert {
        "bad_request",
        "command_not_started",
        "conflict",
        "forbidden",
        "internal",
        "no_space",
        "not_found",
        "too_large",
        "unsupported",
        "wrong_state",
    } == HONEST_CODES


@pytest.mark.parametrize("code", sorted(HONEST_CODES))
def test_an_error_a_sound_agent_has_is_told_in_its_words(code: str) -> None:
    told = heard(code, "é: no such file", more="x")
    assert (told.code, told.message, told.details) == (code, "é: no such file", {})


@pytest.mark.parametrize(
    "code", [*sorted(ERROR_CLASSES.keys() - HONEST_CODES), "no_such_code", "", "x" * 9999]
)
def test_any_other_is_a_senseless_answer(code: str) -> None:
    told = heard(code, "log in again at \x1b[2Jevil.example", seq=1)
    assert type(told) is SenselessAnswer
    assert told.details == {}
    assert told.message.isprintable()
    assert len(told.message) < MAX_MESSAGE + 100


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\r\n\x1b[31mb\x00c\x7f\x9b", "a   [31mb c  "),
        ("right\u202eleft\u2028next", "right left next"),
        ("half \ud83d", "half  "),
        ("x" * MAX_MESSAGE, "x" * MAX_MESSAGE),
        ("x" * 250_000, "x" * (MAX_MESSAGE - 1) + "…"),
    ],
)
def test_a_message_is_one_bounded_line_of_printable_text(text: str, line: str) -> None:
    assert one_line(text) == line
    assert heard("no_space", text).message == line


def test_the_reason_why_a_command_did_not_start_is_a_word() -> None:
    assert heard("command_not_started", reason="not_found", path="/etc").details == {"reason": "not_found"}
    for reason in (5, "", "x" * 41, "Not Found", "a\n", ["not_found"], None):
        told = heard("command_not_started", reason=reason)
        assert (type(told), told.details) == (CommandNotStarted, {})


def test_the_agent_that_greeted_first_is_the_only_one_let_in() -> None:
    judge = GuestJudge()
    for software in ("agent/1", "agent/1"):
        judge.greeted(Greeted({"agent": "a" * 64, "kernel": "6.1"}, software, resumed=False))
    for other in ({"agent": "b" * 64}, {}, {"agent": ["a" * 64]}):
        with pytest.raises(RemoteProtocolError, match="another agent"):
            judge.greeted(Greeted(other, "agent/1", resumed=True))


def test_a_first_agent_that_says_nothing_of_itself_is_not_replaced_either() -> None:
    judge = GuestJudge()
    judge.greeted(Greeted({}, "agent/1", resumed=False))
    with pytest.raises(RemoteProtocolError):
        judge.greeted(Greeted({"agent": "a" * 64}, "agent/1", resumed=False))


def test_after_a_breach_the_machine_has_failed() -> None:
    told = GuestJudge().breach(RemoteProtocolError("DATA before hello"))
    assert type(told) is MachineFailed
    assert told.message == "the machine was ended because its guest broke the protocol: DATA before hello"


def test_an_error_that_is_told_is_a_new_one() -> None:
    said = NotFound("gone")
    assert GuestJudge().error(said) is not said
