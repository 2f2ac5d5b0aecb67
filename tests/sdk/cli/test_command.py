"""What `run` and `exec` have in common."""

from __future__ import annotations

import json
import os
import pty

import pytest

from cloche.cli.command import Command, wants_stdin
from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import LocalHub


def test_input_is_passed_on_as_asked_and_otherwise_unless_another_job_has_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert wants_stdin(True)
    assert not wants_stdin(False)
    reader, terminal = pty.openpty()
    kept = os.dup(0)
    try:
        os.dup2(terminal, 0)
        assert wants_stdin(None)
        monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
        assert wants_stdin(None)
        monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp() + 1)
        assert not wants_stdin(None)
    finally:
        os.dup2(kept, 0)
        for descriptor in (reader, terminal, kept):
            os.close(descriptor)


def test_a_command_is_plain_unless_more_is_said() -> None:
    assert Command(("true",)) == Command(("true",), env={}, cwd=None, user=None, timeout_s=None, stdin=False)


async def test_in_json_everything_comes_at_the_end(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    ran = await cloche("exec", "box", "--json", "--", "sh", "-c", "printf 'a\\377'; echo b >&2; exit 3")
    told = json.loads(ran.out)
    assert ran.status == 3
    assert told.pop("duration_s") > 0
    assert told == {
        "sandbox": "sb_0001",
        "exit_code": 3,
        "signal": None,
        "timed_out": False,
        "stdout": "a�",
        "stderr": "b\n",
        "recording": None,
    }


async def test_in_json_a_recorded_command_s_recording_is_named(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    hub.recordings.add(of="ex_1", sandbox="sb_0001", kind="exec")
    ran = await cloche("exec", "box", "--record", "--json", "--", "echo", "hello")
    told = json.loads(ran.out)["recording"]
    hub.recordings.add(of="ex_2", sandbox="sb_0001", kind="exec")
    assert (told, (await cloche("record", "export", told)).status) == ("rec_0002", 0)
    assert hub.recordings.recordings[told].fields["command"] == ["echo", "hello"]


async def test_in_json_a_signal_and_a_timeout_are_told(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    killed = await cloche("exec", "box", "--json", "--", "sh", "-c", "kill -9 $$")
    late = await cloche("exec", "box", "--json", "--timeout", "200ms", "--", "sleep", "60")
    assert (killed.status, late.status) == (137, 124)
    assert json.loads(killed.out)["signal"] == "KILL"
    assert json.loads(late.out)["timed_out"] is True


async def test_a_timeout_is_told(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    ran = await cloche("exec", "box", "--timeout", "200ms", "--", "sleep", "60")
    assert ran == (124, "", "cloche: ended after its timeout of 0.2 s\n")
