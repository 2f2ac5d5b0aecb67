"""Values the hub answers with."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from cloche.errors import InternalError
from cloche.messages import (
    AuditEvent,
    CacheEntry,
    Completed,
    DiskUsage,
    ExitStatus,
    HubStatus,
    ImageInfo,
    Progress,
    SandboxInfo,
    Verified,
    as_json,
)

THEN = "2026-01-02T03:04:05.678901Z"
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

SANDBOX: dict[str, Any] = {
    "id": "sb_1", "name": "box", "owner": "root", "recipe": "python", "image": "ab", "flavor": "small",
    "labels": {"team": "blue"}, "env_names": ["A"], "state": "running", "accelerator": "tcg", "created_at": THEN,
    "lease_s": 3600.0, "expires_at": THEN, "ended_at": None, "end_reason": None, "timings": {"clone": 0.09},
}  # fmt: skip
IMAGE = {
    "digest": "ab", "recipe": "python", "arch": "x86_64", "agent_hash": "cd", "size_bytes": 3, "built_at": THEN,
    "current": True,
}  # fmt: skip
STATUS = {
    "version": "1", "pid": 3, "address": "unix:///x", "accelerator": "tcg", "accelerator_reason": "why", "machines": 1,
    "started_at": THEN,
}  # fmt: skip
ENTRY = {
    "kind": "image", "name": "ab", "title": "python", "recipe": "python", "size_bytes": 3, "used_at": THEN,
    "in_use": False, "prunable": True,
}  # fmt: skip
EVENT = {
    "seq": 1, "at": THEN, "event": "hub.started", "actor": "hub", "sandbox": None, "detail": {"a": 1},
    "prev_hash": "00", "hash": "11",
}  # fmt: skip

EXAMPLES: list[tuple[Any, Any]] = [
    (SandboxInfo, SANDBOX),
    (ImageInfo, IMAGE),
    (HubStatus, STATUS),
    (CacheEntry, ENTRY),
    (DiskUsage, {"cache": "/c", "entries": [ENTRY], "free_bytes": 5}),
    (AuditEvent, EVENT),
    (Verified, {"events": 1, "head": "11"}),
    (ExitStatus, {"exit_code": 0, "signal": None, "timed_out": False, "duration_s": 0.5}),
    (Progress, {"step": "packages", "message": "fetching", "fraction": 0.5}),
]


@pytest.mark.parametrize(("cls", "message"), EXAMPLES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_message_is_parsed_whole_and_told_again_in_json(cls: Any, message: dict[str, Any]) -> None:
    assert json.loads(json.dumps(as_json(cls.parse(message)))) == message


@pytest.mark.parametrize(("cls", "message"), EXAMPLES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_field_of_a_newer_hub_is_ignored(cls: Any, message: dict[str, Any]) -> None:
    assert cls.parse({**message, "novelty": 1}) == cls.parse(message)


@pytest.mark.parametrize(("cls", "message"), EXAMPLES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_field_of_another_type_is_an_error(cls: Any, message: dict[str, Any]) -> None:
    for name in message:
        with pytest.raises(InternalError, match=name):
            cls.parse({**message, name: object()})


def test_times_become_times() -> None:
    assert SandboxInfo.parse(SANDBOX).created_at == MOMENT


def test_what_is_not_known_yet_is_none() -> None:
    young = SandboxInfo.parse({**SANDBOX, "image": None, "accelerator": None, "expires_at": None})
    assert (young.image, young.accelerator, young.expires_at, young.ended_at) == (None, None, None, None)


def test_disk_usage_without_what_older_hubs_do_not_say() -> None:
    assert DiskUsage.parse({"entries": []}) == DiskUsage((), None, None)


@pytest.mark.parametrize(
    ("message", "ok", "signal"),
    [
        ({"exit_code": 0}, True, None),
        ({"exit_code": 1}, False, None),
        ({"signal": "KILL"}, False, "KILL"),
        ({"signal": "SIGKILL"}, False, "KILL"),
        ({"signal": 9}, False, "KILL"),
    ],
)
def test_an_ending_is_good_only_with_exit_code_0(
    message: dict[str, Any], ok: bool, signal: str | None
) -> None:
    ended = ExitStatus.parse({"timed_out": False, "duration_s": 1, **message})
    assert (ended.ok, ended.signal) == (ok, signal)


def test_a_command_that_ran_out_of_time_did_not_end_well() -> None:
    assert not ExitStatus(0, None, timed_out=True, duration_s=1.0).ok
    assert not Completed(0, None, True, 1.0, b"", b"").ok


def test_output_is_text_and_bytes() -> None:
    completed = Completed(0, None, False, 1.0, "hé\n".encode() + b"\xff", b"err")
    assert (completed.stdout, completed.stdout_bytes) == ("hé\n�", b"h\xc3\xa9\n\xff")
    assert (completed.stderr, completed.stderr_bytes) == ("err", b"err")
    assert completed.ok


def test_times_in_json_are_utc_whatever_their_zone() -> None:
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=5)))
    assert as_json([elsewhere, MOMENT.replace(microsecond=0)]) == [THEN, "2026-01-02T03:04:05.000000Z"]


def test_bytes_in_json_are_text() -> None:
    assert as_json({"a": b"x\xff", "b": (1, None, True)}) == {"a": "x�", "b": [1, None, True]}
