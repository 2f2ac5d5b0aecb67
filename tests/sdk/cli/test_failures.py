"""Exit statuses."""

from __future__ import annotations

import pytest

from cloche.cli.failures import status_for, status_of
from cloche.errors import CodedError, CommandNotStarted, HubNotRunning, NotFound
from cloche.messages import ExitStatus


@pytest.mark.parametrize(
    ("ended", "status"),
    [
        (ExitStatus(0, None, False, 1.0), 0),
        (ExitStatus(3, None, False, 1.0), 3),
        (ExitStatus(None, "KILL", False, 1.0), 137),
        (ExitStatus(None, "INT", False, 1.0), 130),
        (ExitStatus(None, "34", False, 1.0), 162),
        (ExitStatus(None, "KILL", True, 1.0), 124),
        (ExitStatus(0, None, True, 1.0), 124),
        (ExitStatus(None, None, False, 1.0), 125),
    ],
)
def test_how_a_command_ended_is_one_status(ended: ExitStatus, status: int) -> None:
    assert status_of(ended) == status


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NotFound("no sandbox"), 125),
        (HubNotRunning("none"), 125),
        (CommandNotStarted("none", reason="not_found"), 127),
        (CommandNotStarted("may not", reason="permission"), 126),
        (CommandNotStarted("who knows"), 126),
    ],
)
def test_what_went_wrong_is_one_status(error: CodedError, status: int) -> None:
    assert status_for(error) == status
