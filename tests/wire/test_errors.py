"""The errors: one table of codes, and what a hostile peer can put into one."""

from __future__ import annotations

import re

import pytest

from cloche_wire.errors import (
    ERROR_CLASSES,
    CodedError,
    InternalError,
    LinkLost,
    LocalProtocolError,
    NotFound,
    RemoteProtocolError,
    Undecodable,
    UnknownCode,
    WireError,
    error_from_code,
    ungrouped,
)


def test_each_class_has_a_code_of_its_own() -> None:
    ours = [cls for cls in CodedError.__subclasses__() if cls.__module__ == CodedError.__module__]
    assert len(ERROR_CLASSES) == len(ours)
    assert all(re.fullmatch("[a-z]+(_[a-z]+)*", code) for code in ERROR_CLASSES)


@pytest.mark.parametrize("code", sorted(ERROR_CLASSES))
def test_what_one_side_raises_the_other_side_raises_too(code: str) -> None:
    raised = ERROR_CLASSES[code]("no such thing", name="x", seconds=3)
    received = error_from_code(raised.code, raised.message, raised.details)
    assert type(received) is type(raised)
    assert (received.message, str(received)) == ("no such thing", "no such thing")
    assert received.details == {"name": "x", "seconds": 3}


def test_an_unknown_code_becomes_an_internal_error_that_names_it() -> None:
    error = error_from_code("tea_time", "not now", {"until": 5})
    assert isinstance(error, InternalError)
    assert (type(error), error.code) == (UnknownCode, "internal")
    assert error.message == "not now (unknown error code 'tea_time')"
    assert error.details == {"until": 5}


def test_an_unknown_code_cannot_flood_a_message() -> None:
    assert len(error_from_code("x" * 10_000, "not now").message) < 100


def test_details_with_keys_that_are_no_text_are_left_out() -> None:
    details = {b"raw": 1, 5: 2, "message": 3, "self": 4}
    assert error_from_code("not_found", "gone", details).details == {"message": 3, "self": 4}  # type: ignore[arg-type]


def test_an_error_in_brief_keeps_its_class_and_fits_every_frame() -> None:
    brief = NotFound("é" * 10_000, path="x" * 10_000).brief()
    assert type(brief) is NotFound
    assert brief.message == "é" * 300
    assert brief.details == {}


def test_an_error_in_brief_is_text_even_where_a_files_name_was_none() -> None:
    # As the operating system's names arrive in Python: bytes that are no text, escaped.
    assert LinkLost("cannot read 'a\udcff'").brief().message == "cannot read 'a?'"


def test_a_violation_is_not_an_error_that_travels() -> None:
    assert issubclass(Undecodable, RemoteProtocolError)
    for cls in (LocalProtocolError, RemoteProtocolError, Undecodable):
        assert issubclass(cls, WireError)
        assert not issubclass(cls, CodedError)


def test_of_a_groups_errors_the_first_plain_one_comes_out() -> None:
    inner = ExceptionGroup("inner", [NotFound("first"), LinkLost("second")])
    with pytest.raises(NotFound, match="first") as raised, ungrouped():
        raise BaseExceptionGroup("outer", [inner, KeyboardInterrupt()])
    assert raised.value.__cause__ is None


def test_an_error_that_is_no_group_passes_and_so_does_none() -> None:
    with pytest.raises(NotFound), ungrouped():
        raise NotFound("plain")
    with ungrouped():
        pass
