"""Requests become values at the border, or are refused by the name of the field."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from cloche_guest.messages import (
    ExecRequest,
    Identity,
    MessageStream,
    PtyRequest,
    PtyTakeRequest,
    TerminalSize,
    parse_become,
    parse_exec,
    parse_pty,
    parse_pty_take,
    parse_signal,
    parse_terminal_message,
    signal_name,
)
from cloche_wire.errors import BadRequest

BECOME = {
    "sandbox": "sb_1",
    "hostname": "quiet-otter",
    "machine_id": "0123456789abcdef" * 2,
    "entropy": bytes(64),
    "clock_ns": 1_700_000_000_000_000_000,
    "env": {"TOKEN": "x"},
}


def test_become_with_every_field_is_an_identity() -> None:
    assert parse_become(BECOME) == Identity(
        sandbox="sb_1",
        hostname="quiet-otter",
        machine_id="0123456789abcdef" * 2,
        entropy=bytes(64),
        clock_ns=1_700_000_000_000_000_000,
        env={"TOKEN": "x"},
    )


def test_an_identity_keeps_its_secrets_out_of_its_repr() -> None:
    shown = repr(parse_become({**BECOME, "env": {"TOKEN": "secret-value"}}))
    assert "secret-value" not in shown
    assert "entropy" not in shown


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sandbox", None),
        ("sandbox", 7),
        ("hostname", "two words"),
        ("hostname", "a\n127.0.0.1 bank"),
        ("hostname", "a" * 65),
        ("machine_id", "0" * 31),
        ("machine_id", "G" * 32),
        ("entropy", b"short"),
        ("entropy", "0" * 64),
        ("clock_ns", 0),
        ("clock_ns", 1.5),
        ("clock_ns", True),
        ("env", ["A=1"]),
        ("env", {"A": 1}),
        ("env", {"A=B": "1"}),
        ("env", {"": "1"}),
        ("env", {"A": "nul\0"}),
        ("surprise", 1),
    ],
)
def test_become_with_a_wrong_field_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(BadRequest, match=field):
        parse_become({**BECOME, field: value})


def test_an_exec_needs_an_id_and_a_command_and_has_defaults_for_the_rest() -> None:
    assert parse_exec({"exec": "ex_1", "argv": ["true"]}) == ExecRequest(
        exec_id="ex_1", argv=("true",), env={}, cwd=None, user=None, timeout_s=None, stdin=False
    )


def test_an_exec_with_every_field_keeps_them_all() -> None:
    params = {
        "exec": "ex_1",
        "argv": ["printf", "ü"],
        "env": {"A": "1"},
        "cwd": "/srv",
        "user": 1001,
        "timeout_s": 2,
        "stdin": True,
    }
    assert parse_exec(params) == ExecRequest(
        exec_id="ex_1",
        argv=("printf", "ü"),
        env={"A": "1"},
        cwd="/srv",
        user="1001",
        timeout_s=2.0,
        stdin=True,
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("exec", ""),
        ("argv", []),
        ("argv", "true"),
        ("argv", [""]),
        ("argv", ["true", 1]),
        ("argv", ["nul\0"]),
        ("env", {"A": None}),
        ("cwd", "srv"),
        ("cwd", 1),
        ("user", ""),
        ("user", True),
        ("user", 1 << 32),
        ("timeout_s", 0),
        ("timeout_s", -1),
        ("timeout_s", float("nan")),
        ("timeout_s", float("inf")),
        ("timeout_s", "5"),
        ("stdin", 1),
        ("tty", True),
    ],
)
def test_an_exec_with_a_wrong_field_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(BadRequest, match=field):
        parse_exec({"exec": "ex_1", "argv": ["true"], field: value})


@pytest.mark.parametrize(
    ("asked", "number"), [("TERM", 15), ("SIGKILL", 9), (2, 2), ("34", 34), (64, 64), ("CLD", 17)]
)
def test_a_signal_has_a_name_or_a_number(asked: Any, number: int) -> None:
    assert parse_signal({"signal": asked}) == number


@pytest.mark.parametrize(
    "message",
    [
        *({"signal": asked} for asked in ("NOPE", "", 0, 65, True, "0", "65", "9" * 5000)),
        *({}, "TERM", {"resize": 1}),
    ],
)
def test_what_is_no_signal_is_refused(message: Any) -> None:
    with pytest.raises(BadRequest):
        parse_signal(message)


@pytest.mark.parametrize(("number", "name"), [(15, "TERM"), (9, "KILL"), (34, "34"), (40, "40"), (64, "64")])
def test_a_signal_is_named_without_sig_and_a_realtime_one_by_its_number(number: int, name: str) -> None:
    assert signal_name(number) == name
    assert parse_signal({"signal": name}) == number


PTY = {"console": "con_1", "rows": 24, "cols": 80}


def test_a_console_needs_an_id_and_a_size_and_has_defaults_for_the_rest() -> None:
    assert parse_pty(PTY) == PtyRequest(
        console_id="con_1", size=TerminalSize(24, 80), argv=None, env={}, cwd=None, user=None
    )


def test_a_console_with_every_field_keeps_them_all() -> None:
    params = {**PTY, "argv": ["vi", "ü"], "env": {"A": "1"}, "cwd": "/srv", "user": 1001}
    assert parse_pty(params) == PtyRequest(
        console_id="con_1",
        size=TerminalSize(24, 80),
        argv=("vi", "ü"),
        env={"A": "1"},
        cwd="/srv",
        user="1001",
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("console", ""),
        ("argv", []),
        ("argv", [""]),
        ("env", {"A": None}),
        ("cwd", "srv"),
        ("user", True),
        ("rows", None),
        ("rows", 0),
        ("rows", True),
        ("cols", 65536),
        ("cols", "80"),
        ("timeout_s", 5),
    ],
)
def test_a_console_with_a_wrong_field_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(BadRequest, match=field):
        parse_pty({**PTY, field: value})


def test_a_message_to_a_terminal_is_a_size_or_a_signal() -> None:
    assert parse_terminal_message({"resize": {"rows": 50, "cols": 132}}) == TerminalSize(50, 132)
    assert parse_terminal_message({"signal": "INT"}) == 2


@pytest.mark.parametrize(
    "message",
    [
        {"resize": [24, 80]},
        {"resize": {"rows": 24}},
        {"resize": {"rows": 24, "cols": 80, "depth": 1}},
        {"resize": {"rows": 24, "cols": 80}, "signal": "INT"},
        {},
        "resize",
        None,
    ],
)
def test_what_is_neither_a_size_nor_a_signal_is_refused(message: Any) -> None:
    with pytest.raises(BadRequest):
        parse_terminal_message(message)


def test_messages_come_whole_however_their_bytes_were_cut() -> None:
    stream = MessageStream()
    sent = msgpack.packb({"signal": "INT"}) + msgpack.packb({"resize": {"rows": 1, "cols": 2}})
    came = [message for index in range(len(sent)) for message in stream.feed(sent[index : index + 1])]
    assert came == [{"signal": "INT"}, {"resize": {"rows": 1, "cols": 2}}]


@pytest.mark.parametrize("piece_bytes", [1 << 20, 4096, 4095, 1000])
def test_many_messages_may_come_in_one_piece(piece_bytes: int) -> None:
    stream, sizes = MessageStream(), [{"resize": {"rows": 24, "cols": cols}} for cols in range(1, 1001)]
    sent = b"".join(map(msgpack.packb, sizes))
    pieces = [sent[start : start + piece_bytes] for start in range(0, len(sent), piece_bytes)]
    assert [message for piece in pieces for message in stream.feed(piece)] == sizes


@pytest.mark.parametrize("data", [b"\xc1", msgpack.packb(bytes(5000)), bytes([0x81, 0x91, 1, 1])])
def test_bytes_that_are_no_messages_are_refused(data: bytes) -> None:
    with pytest.raises(BadRequest, match="msgpack"):
        list(MessageStream().feed(data))


@pytest.mark.parametrize("received", [0, (1 << 63) - 1])
def test_a_console_is_taken_by_its_id_from_a_place_in_its_output(received: int) -> None:
    params = {"console": "con_1", "received": received}
    assert parse_pty_take(params) == PtyTakeRequest(console_id="con_1", received=received)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("console", value) for value in (None, "", 1, "c" * 65)),
        *(("received", value) for value in (None, -1, 1 << 63, True, "0", 1.0)),
        ("rows", 24),
    ],
)
def test_a_taking_with_a_wrong_field_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(BadRequest, match=field):
        parse_pty_take({"console": "con_1", "received": 0, field: value})


def test_a_consoles_id_is_no_longer_than_a_hello_has_room_for() -> None:
    assert parse_pty({**PTY, "console": "c" * 64}).console_id == "c" * 64
    with pytest.raises(BadRequest, match="at most 64"):
        parse_pty({**PTY, "console": "c" * 65})
