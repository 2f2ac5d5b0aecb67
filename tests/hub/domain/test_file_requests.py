"""Parsing the requests about files: every kind, each wrong field by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cloche_hub.domain import file_requests
from cloche_hub.domain.audit import GENESIS, MAX_EVENT, chain, event_to_line
from cloche_hub.domain.file_requests import FileRequest
from cloche_hub.errors import BadRequest
from tests.hub.domain.examples import MOMENT

Parse = Callable[[object], FileRequest]

PARSERS: dict[str, Parse] = {
    "read": file_requests.parse_read,
    "write": file_requests.parse_write,
    "stat": file_requests.parse_stat,
    "list": file_requests.parse_list,
    "make_dir": file_requests.parse_make_dir,
    "remove": file_requests.parse_remove,
    "rename": file_requests.parse_rename,
    "set_mode": file_requests.parse_set_mode,
    "link": file_requests.parse_link,
}
NEEDED: dict[str, dict[str, Any]] = {
    "rename": {"to": "b"},
    "set_mode": {"mode": 0o600},
    "link": {"target": "b"},
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "read": {"offset": 0},
    "write": {"exclusive": False, "parents": False},
    "stat": {"follow": True},
    "list": {},
    "make_dir": {"parents": False},
    "remove": {"recursive": False},
    "rename": {"to": "b", "replace": False},
    "set_mode": {"mode": 0o600},
    "link": {"target": "b", "symbolic": True},
}
GIVEN: dict[str, dict[str, Any]] = {
    "read": {"offset": (1 << 53) - 1, "length": 0},
    "write": {"mode": 0o7777, "exclusive": True, "parents": True},
    "stat": {"follow": False},
    "list": {},
    "make_dir": {"mode": 0, "parents": True},
    "remove": {"recursive": True},
    "rename": {"to": "/b", "replace": True},
    "set_mode": {"mode": 0},
    "link": {"target": "../b", "symbolic": False},
}


def parse(kind: str, **params: Any) -> FileRequest:
    return PARSERS[kind]({"sandbox": "web", "path": "a", **NEEDED.get(kind, {}), **params})


@pytest.mark.parametrize("kind", PARSERS)
def test_the_guest_is_asked_for_what_was_asked_and_nothing_more(kind: str) -> None:
    assert parse(kind).guest_params() == {"path": "a", **DEFAULTS[kind]}
    given = {"path": "/a", "user": "root", **GIVEN[kind]}
    request = parse(kind, **given)
    assert request.guest_params() == given
    assert request.audit_detail() == given
    assert request.sandbox == "web"


@pytest.mark.parametrize("kind", PARSERS)
@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"sandbox": None}, "sandbox is missing"),
        ({"sandbox": 5}, "sandbox must be a text"),
        ({"path": None}, "path is missing"),
        ({"path": ""}, "path is empty"),
        ({"path": "a\0"}, "path holds"),
        ({"path": b"a"}, "path must be a text"),
        ({"path": "x" * 4096}, "path is 4096 bytes"),
        ({"user": "a b"}, "user 'a b' will not do"),
        ({"user": 0}, "user must be a text"),
        ({"colour": "red"}, "unknown field 'colour'"),
    ],
)
def test_a_wrong_field_of_every_request_is_named(kind: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        parse(kind, **params)


@pytest.mark.parametrize(
    ("kind", "params", "said"),
    [
        ("read", {"offset": -1}, "offset must be a whole number from 0"),
        ("read", {"offset": 1.5}, "offset"),
        ("read", {"offset": 1 << 53}, "offset"),
        ("read", {"length": -1}, "length must be a whole number from 0"),
        ("read", {"length": "all"}, "length"),
        ("write", {"mode": 0o10000}, "mode must be a whole number from 0 to 4095"),
        ("write", {"mode": "0644"}, "mode"),
        ("write", {"exclusive": 1}, "exclusive must be true or false"),
        ("write", {"parents": "yes"}, "parents must be true or false"),
        ("stat", {"follow": 0}, "follow must be true or false"),
        ("list", {"follow": True}, "unknown field 'follow'"),
        ("make_dir", {"mode": -1}, "mode"),
        ("make_dir", {"parents": 1}, "parents"),
        ("remove", {"recursive": "r"}, "recursive must be true or false"),
        ("rename", {"to": None}, "to is missing"),
        ("rename", {"to": ""}, "to is empty"),
        ("rename", {"replace": 1}, "replace must be true or false"),
        ("set_mode", {"mode": None}, "mode is missing"),
        ("set_mode", {"mode": True}, "mode must be a whole number"),
        ("link", {"target": None}, "target is missing"),
        ("link", {"target": "x\0"}, "target holds"),
        ("link", {"symbolic": "s"}, "symbolic must be true or false"),
    ],
)
def test_a_wrong_field_is_named(kind: str, params: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        parse(kind, **params)


def test_the_largest_request_fits_into_an_audit_event() -> None:
    largest = parse("rename", path="\x1b" * 4095, to="\x1b" * 4095, user="x" * 32)
    detail = {**largest.audit_detail(), "reason": "\x1b" * 500}
    event = chain(GENESIS, at=MOMENT, event="x", actor="a", sandbox=None, detail=detail)
    assert len(event_to_line(event).encode()) < MAX_EVENT
