"""What the hub asks of files, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from cloche_guest.files import messages
from cloche_guest.files.messages import (
    LinkRequest,
    MakeDirRequest,
    ReadRequest,
    RemoveRequest,
    RenameRequest,
    Request,
    SetModeRequest,
    StatRequest,
    WriteRequest,
)
from cloche_wire.errors import BadRequest

Parse = Callable[[Mapping[str, Any]], Request]


@pytest.mark.parametrize(
    ("parse", "params", "request_"),
    [
        (messages.parse_read, {}, ReadRequest("p", None, 0, None)),
        (messages.parse_read, {"offset": 7, "length": 0, "user": 0}, ReadRequest("p", "0", 7, 0)),
        (messages.parse_write, {}, WriteRequest("p", None, None, exclusive=False, parents=False)),
        (
            messages.parse_write,
            {"mode": 0o640, "exclusive": True, "parents": True},
            WriteRequest("p", None, 0o640, exclusive=True, parents=True),
        ),
        (messages.parse_stat, {"follow": False}, StatRequest("p", None, follow=False)),
        (messages.parse_list, {"user": "root"}, Request("p", "root")),
        (messages.parse_make_dir, {"mode": None}, MakeDirRequest("p", None, None, parents=False)),
        (messages.parse_remove, {"recursive": True}, RemoveRequest("p", None, recursive=True)),
        (messages.parse_rename, {"to": "q"}, RenameRequest("p", None, "q", replace=False)),
        (messages.parse_set_mode, {"mode": 0}, SetModeRequest("p", None, 0)),
        (messages.parse_link, {"target": "t"}, LinkRequest("p", None, "t", symbolic=True)),
    ],
)
def test_a_request_is_parsed(parse: Parse, params: dict[str, Any], request_: Request) -> None:
    assert parse({"path": "p", **params}) == request_


@pytest.mark.parametrize(
    ("parse", "params", "field"),
    [
        (messages.parse_read, {"offset": -1}, "offset"),
        (messages.parse_read, {"length": 1 << 63}, "length"),
        (messages.parse_read, {"path": b"bytes"}, "path"),
        (messages.parse_read, {"path": ""}, "path"),
        (messages.parse_write, {"mode": 0o10000}, "mode"),
        (messages.parse_write, {"exclusive": 1}, "exclusive"),
        (messages.parse_stat, {"mode": 1}, "unknown field 'mode'"),
        (messages.parse_rename, {}, "to is missing"),
        (messages.parse_set_mode, {}, "mode is missing"),
        (messages.parse_link, {"target": "a\0b"}, "target"),
        (messages.parse_list, {"user": True}, "user"),
    ],
)
def test_a_wrong_field_is_named(parse: Parse, params: dict[str, Any], field: str) -> None:
    with pytest.raises(BadRequest, match=field):
        parse({"path": "p", **params})
