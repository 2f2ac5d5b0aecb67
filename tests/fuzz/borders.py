"""The borders behind the protocol: pure functions that make values of what a client, a guest or a program in it says.

A border is fed honest input that has been changed, and takes it or raises what `permitted` allows it. What it takes is
used as the code behind it would: told to the audit, and packed for whoever is told of it next.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgpack

from cloche_guest import callback_messages as agent_callbacks
from cloche_guest import messages as agent
from cloche_guest.files import messages as agent_files
from cloche_hub.domain import (
    audit,
    audit_filter,
    callback_json,
    console_requests,
    file_entries,
    file_requests,
    requests,
)
from cloche_hub.domain.callback import digest_of, parse_callback, parse_serve
from cloche_hub.domain.policy import Call, decide
from cloche_hub.domain.policy_text import BUILT_IN, parse_policy, read_policy
from cloche_hub.domain.token_requests import parse_token_order
from cloche_hub.guestlink.judge import GuestJudge
from cloche_hub.services import exec_result
from cloche_wire.errors import ERROR_CLASSES, error_from_code
from cloche_wire.frames import Reset, encode
from cloche_wire.limits import Limits
from tests.fuzz.mutations import change_params, change_text, change_value
from tests.fuzz.permitted import ANSWER, JSON, MESSAGES, NOTHING, REQUEST, Permitted
from tests.support.fake_images import LONG_AGO


@dataclass(frozen=True, slots=True)
class Border:
    """One of them.

    Args:
        take: the function, and what is done with what it makes.
        permitted: what it may raise.
        honest: input it takes.
        change: makes hostile input of honest input.
    """

    take: Callable[[Any], object]
    permitted: Permitted
    honest: Sequence[Any]
    change: Callable[[random.Random, Any], Any] = change_params


def _records(detail: Mapping[str, Any]) -> None:
    """The audit takes it: a request that is under way cannot be refused for what its event would say."""
    head = audit.Head(0, "")
    audit.chain(head, at=LONG_AGO, event="exec.started", actor="tok_1", sandbox="sb_1", detail=detail)


def _tells(fields: object) -> None:
    """It fits a frame to whoever is told."""
    assert msgpack.packb(fields, use_bin_type=True)


def _recorded(parse: Callable[[Any], Any]) -> Callable[[Any], None]:
    return lambda params: _records(parse(params).audit_detail())


def _file(parse: Callable[[Any], file_requests.FileRequest]) -> Callable[[Any], None]:
    def take(params: Any) -> None:
        request = parse(params)
        _records(request.audit_detail())
        _tells(request.guest_params())

    return take


def _create(params: Any) -> None:
    request = requests.parse_create(params, default_lease_s=3600, max_lease_s=1e6)
    _records(request.audit_detail(request.sandbox(owner="tester", at=LONG_AGO)))


def _callback(params: Any) -> None:
    request, value = parse_callback(params)
    _records(request.audit_detail())
    _tells({"params": request.text.encode(), "caller": dict(request.caller)})
    decide(_POLICY, Call(request.method, value, "tester", {}))


def _json(data: bytes) -> None:
    text = callback_json.canonical_json(callback_json.parse_params(data))
    _records(digest_of(text))
    # One spelling: reading it again changes nothing.
    assert callback_json.canonical_json(callback_json.parse_params(text.encode())) == text


def _policy(data: bytes) -> None:
    policy, problems = read_policy(data.decode(errors="surrogateescape"))
    assert (policy is None) == bool(problems)
    # Problems quote the file, and travel to whoever asks.
    json.dumps(problems)
    if policy is not None:
        decide(policy, Call("pay.send", {"amount": 3, "to": {"country": "CH"}}, "tester", {"team": "a"}))


def _ending(parse: Callable[[Any], exec_result.Ending]) -> Callable[[Any], None]:
    def take(result: Any) -> None:
        ending = parse(result)
        _records(ending.audit_detail())
        _tells(ending.fields())

    return take


def _judge(said: Any) -> None:
    # The decoder sees to the types.
    code, message, details = str(said.get("code")), str(said.get("message")), said.get("details")
    error = GuestJudge().error(error_from_code(code, message, details if isinstance(details, dict) else {}))
    assert error.message.isprintable()
    assert encode(Reset(1, error.code, error.message, error.details), Limits())


def _stream(data: bytes) -> None:
    for message in agent.MessageStream().feed(data):
        agent.parse_terminal_message(message)


_PROGRAM = {
    "argv": ["sh", "-c", "echo hi"], "env": {"PATH": "/bin", "A": "é"}, "cwd": "/tmp", "user": "1000",
}  # fmt: skip
_FILE = {"sandbox": "sb_1", "path": "notes/a.txt", "user": "root"}
_ENTRY = {
    "name": "a", "path": "/home/u/a", "kind": "link", "size_bytes": 3, "mode": 0o644, "uid": 0, "gid": 0,
    "mtime_ns": 1_700_000_000_000_000_000, "target": "b",
}  # fmt: skip
_PLAIN = {**{key: value for key, value in _ENTRY.items() if key != "target"}, "kind": "file"}
_FILES: Mapping[str, Mapping[str, Any]] = {
    "read": {"offset": 3, "length": 9},
    "write": {"mode": 0o600, "exclusive": True, "parents": False},
    "stat": {"follow": False},
    "list": {},
    "make_dir": {"mode": 0o700, "parents": True},
    "remove": {"recursive": True},
    "rename": {"to": "b", "replace": True},
    "set_mode": {"mode": 0o755},
    "link": {"target": "b", "symbolic": True},
}
"""Kind of request about a file → what it has beside the common fields, for the hub and for the agent."""

_CALL_TEXT = b'{"amount": 3, "to": {"country": "CH", "name": "\\u00e9"}, "notes": [1.5, null, true]}'
_POLICY_TEXT = b"""\
default = "deny"
[ask]
deadline = "5m"
on_deadline = "deny"
[[rule]]
name = "small payments"
methods = ["pay.*"]
owners = ["tester"]
labels = { team = "a" }
params = [{ at = "amount", at_least = 1, at_most = 100 }, { at = ["to", "country"], one_of = ["CH", 3] }]
verdict = "ask"
deadline = 90
[[rule]]
name = "greetings"
methods = ["say.?"]
params = [{ at = "text", like = "h*" }, { at = ".", is = true }]
verdict = "allow"
reason = "they are harmless"
"""
_POLICY = parse_policy(_POLICY_TEXT.decode(), "the test")

BORDERS: dict[str, Border] = {
    # What a client asks of the hub.
    "hub: sandbox.create": Border(_create, REQUEST, [
        {"recipe": "python", "flavor": "small", "name": "amber-fox", "env": {"A": "1"}, "labels": {"team": "a/b"},
         "lease_s": 60, "build": True},
    ]),
    "hub: audit.search, a term": Border(lambda term: audit_filter.parse_terms([term]), REQUEST, [
        {"kind": "text", "values": ["é x"], "name": "", "inverse": True},
        {"kind": "field", "values": ["exec.*", "hub"], "name": "event", "inverse": False},
        {"kind": "label", "values": ["blue"], "name": "team"},
    ]),
    "hub: exec": Border(_recorded(requests.parse_exec), REQUEST, [
        {"sandbox": "sb_1", **_PROGRAM, "timeout_s": 1.5, "stdin": True},
    ]),
    "hub: console.create": Border(_recorded(console_requests.parse_create_console), REQUEST, [
        {"sandbox": "sb_1", **_PROGRAM, "rows": 24, "cols": 80, "term": "xterm", "name": "a-1", "record": False},
    ]),
    "hub: console.attach": Border(console_requests.parse_attach, REQUEST, [
        {"sandbox": "sb_1", "console": "1", "mode": "take", "rows": 24, "cols": 80, "scrollback": 100},
    ]),
    "hub: what a viewer says": Border(console_requests.parse_viewer_message, REQUEST, [
        {"resize": {"rows": 24, "cols": 80}}, {"signal": "TERM"}, {"give": "v2"}, {"ask": True}, {"refresh": True},
    ]),
    "hub: callback.serve": Border(parse_serve, REQUEST, [
        {"sandbox": "sb_1", "methods": ["pay.*", "say"], "registration": "a"},
    ]),
    "hub: token.create": Border(partial(parse_token_order, caller="tester"), REQUEST, [
        {"name": "laptop", "owner": "amy@example.org", "scope": "operator"},
    ]),
    **{
        f"hub: file.{kind}": Border(_file(getattr(file_requests, f"parse_{kind}")), REQUEST, [{**_FILE, **own}])
        for kind, own in _FILES.items()
    },
    "hub: JSON of a callback": Border(_json, JSON, [_CALL_TEXT, b"[1, -0.0, 18446744073709551615]"], change_text),
    "hub: text of a policy": Border(_policy, NOTHING, [_POLICY_TEXT, BUILT_IN.encode()], change_text),
    # What a guest says to the hub.
    "hub: callback": Border(_callback, JSON, [
        {"callback": "cb_1", "method": "pay.send", "params": _CALL_TEXT, "timeout_s": 30, "wait": True,
         "caller": {"pid": 7, "uid": 1000, "program": "python3"}},
    ]),
    "hub: start of an exec": Border(
        lambda info: _tells(exec_result.parse_exec_start(info, exec_id="ex_1")), ANSWER, [{"exec": "ex_1", "pid": 9}]
    ),
    "hub: start of a console": Border(
        lambda info: _tells(exec_result.parse_console_start(info, console_id="con_1")), ANSWER,
        [{"console": "con_1", "pid": 9}],
    ),
    "hub: end of an exec": Border(_ending(exec_result.parse_exec_result), ANSWER, [
        {"exit_code": 0, "duration_s": 1.5, "timed_out": False},
        {"signal": "KILL", "duration_s": 2, "timed_out": True},
    ]),
    "hub: end of a console": Border(_ending(exec_result.parse_ending), ANSWER, [
        {"exit_code": 255, "duration_s": 0}, {"signal": "34", "duration_s": 1e8},
    ]),
    "hub: an entry": Border(lambda said: _tells(file_entries.parse_entry(said)), ANSWER, [
        _ENTRY, _PLAIN, {**_PLAIN, "name": b"\xff", "path": b"/\xff"},
    ], change_value),
    "hub: a file's entry": Border(lambda said: _tells(file_entries.parse_file_entry(said)), ANSWER, [_PLAIN], change_value),
    "hub: a batch of entries": Border(lambda said: _tells(file_entries.parse_batch(said)), ANSWER, [
        {"entries": [_ENTRY, _PLAIN]},
    ], change_value),
    "hub: a count": Border(lambda said: _tells(file_entries.parse_count(said, "bytes")), ANSWER, [{"bytes": 3}]),
    "hub: an error of a guest": Border(_judge, NOTHING, [
        {"code": code, "message": "no such file", "details": {"reason": "not_found"}} for code in ERROR_CLASSES
    ]),
    # What the hub, and through it a client, says to the agent.
    "agent: become": Border(agent.parse_become, REQUEST, [
        {"sandbox": "sb_1", "hostname": "amber-fox", "machine_id": "0f" * 16, "entropy": bytes(64),
         "clock_ns": 1_700_000_000_000_000_000, "env": {"A": "1"}},
    ]),
    "agent: exec": Border(agent.parse_exec, REQUEST, [
        {"exec": "ex_1", **_PROGRAM, "timeout_s": 1.5, "stdin": True},
    ]),
    "agent: pty": Border(agent.parse_pty, REQUEST, [{"console": "con_1", **_PROGRAM, "rows": 24, "cols": 80}]),
    "agent: message to a command": Border(agent.parse_signal, MESSAGES, [{"signal": "TERM"}, {"signal": 9}], change_value),
    "agent: message to a terminal": Border(agent.parse_terminal_message, MESSAGES, [
        {"resize": {"rows": 24, "cols": 80}}, {"signal": "SIGHUP"},
    ], change_value),
    "agent: stream of messages": Border(_stream, MESSAGES, [
        msgpack.packb({"resize": {"rows": 24, "cols": 80}}) + msgpack.packb({"signal": "TERM"}),
    ], change_text),
    **{
        f"agent: file.{kind}": Border(getattr(agent_files, f"parse_{kind}"), REQUEST, [
            {**{key: value for key, value in _FILE.items() if key != "sandbox"}, **own},
        ])
        for kind, own in _FILES.items()
    },
    # What a program in the machine says to the agent.
    "agent: line of a caller": Border(agent_callbacks.parse_request, JSON, [
        b'{"method": "pay.send", "params": ' + _CALL_TEXT + b', "timeout_s": 30, "wait": true}\n',
    ], change_text),
}  # fmt: skip
"""All of them, by name."""
