"""The hub's log: for people or programs, never failing, and harmless to a terminal."""

from __future__ import annotations

import errno
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from cloche_hub.log import Unfailing, configure_logging, make_harmless

SECRET = "hunter2"


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Leaves logging as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:], root.level = handlers, level


def logged(capsys: pytest.CaptureFixture[str], *, form: str, level: str = "info") -> Any:
    """A logger, set up after its stream was captured."""
    del capsys
    configure_logging(level=level, form=form)
    return structlog.get_logger("test")


def test_a_program_gets_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    log = logged(capsys, form="json")
    log.info("hub_ready", addresses=["unix:///x"])
    log.warning("more")
    captured = capsys.readouterr()
    first, second = map(json.loads, captured.err.splitlines())
    assert (first["event"], first["level"], first["addresses"]) == ("hub_ready", "info", ["unix:///x"])
    assert (second["event"], first["timestamp"][-1], captured.out) == ("more", "Z", "")


def test_a_person_gets_a_line_without_colours_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logged(capsys, form="console").info("hub_ready", home="/x")
    error = capsys.readouterr().err
    assert "hub_ready" in error
    assert "home=/x" in error
    assert "\x1b" not in error


def test_what_is_below_the_level_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    log = logged(capsys, form="json", level="warning")
    log.info("quiet")
    log.error("loud")
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == ["loud"]


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_traceback_is_told_without_the_values_of_variables(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    log = logged(capsys, form=form)

    def defect() -> None:
        env = {"KEY": SECRET}
        raise ValueError(f"{len(env)} variables")

    try:
        defect()
    except ValueError:
        log.exception("handler_defect")
    error = capsys.readouterr().err
    assert "ValueError: 1 variables" in error
    assert "in defect" in error
    assert SECRET not in error


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_guest_can_give_the_terminal_no_orders_and_write_no_line_of_its_own(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    log = logged(capsys, form=form)
    log.info("guest_link_lost", reason="bye\n2026-01-01 [info] hub_ready\x1b[2J\x9b31m")
    try:
        raise ValueError("\x1b[2J")
    except ValueError:
        log.exception("defect")
    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert "\x9b" not in error
    assert "bye\\n" in error.replace("\\\\", "\\")


def test_what_is_printable_stays_as_it_is() -> None:
    event = {"event": "x", "name": "größer", "number": 1}
    assert make_harmless(None, "info", dict(event)) == event


def test_libraries_are_heard_only_when_it_is_serious(capsys: pytest.CaptureFixture[str]) -> None:
    logged(capsys, form="console")
    logging.getLogger("asyncio").info("detail")
    logging.getLogger("websockets.server").warning("a stranger hung up")
    logging.getLogger("asyncio").error("serious")
    assert capsys.readouterr().err == "ERROR asyncio: serious\n"


class Full(io.StringIO):
    """A stream on a full disk."""

    def write(self, _text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_log_that_cannot_be_written_is_lost_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Full())
    configure_logging(level="info", form="console")
    structlog.get_logger("test").info("hub_ready")
    logging.getLogger("asyncio").error("serious")


def test_a_closed_stream_is_no_error_either() -> None:
    closed = io.StringIO()
    closed.close()
    stream = Unfailing(closed)
    assert stream.write("text") == 4
    stream.flush()
