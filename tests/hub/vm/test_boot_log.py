"""A console that a guest may write to without end."""

from __future__ import annotations

from cloche_hub.ports import BootOutput
from cloche_hub.vm.boot_log import BootLog, last_lines


def test_the_newest_bytes_are_kept_and_the_oldest_forgotten() -> None:
    log = BootLog(capacity=8)
    log.append(b"12345")
    log.append(b"6789")
    assert log.tail(100) == b"23456789"
    assert log.tail(3) == b"789"


def test_what_the_template_printed_comes_first() -> None:
    log = BootLog(b"booted\n", capacity=100)
    log.append(b"restored\n")
    assert log.tail(100) == b"booted\nrestored\n"


def test_no_bytes_are_no_bytes() -> None:
    assert BootLog(b"booted").tail(0) == b""


def test_what_came_after_a_place_is_told_from_there() -> None:
    log = BootLog(b"boot", capacity=8)
    assert (log.since(0), log.end) == (BootOutput(b"boot"), 4)
    log.append(b"ed\n")
    assert (log.since(4), log.since(log.end)) == (BootOutput(b"ed\n"), BootOutput(b""))


def test_a_reader_who_is_too_slow_is_told_that_something_is_missing() -> None:
    log = BootLog(capacity=8)
    log.append(b"12345678")
    assert log.since(0) == BootOutput(b"12345678")
    log.append(b"9")
    assert log.since(0) == BootOutput(b"23456789", is_cut=True)


def test_what_was_lost_before_anybody_read_it_is_told_once_to_each_reader() -> None:
    log = BootLog(b"boot", capacity=16)
    log.append(b"late", is_cut=True)
    assert log.since(0) == BootOutput(b"bootlate", is_cut=True)
    assert log.since(4) == BootOutput(b"late", is_cut=True)
    assert log.since(8) == BootOutput(b"")
    log.append(b"r")
    assert log.since(8) == BootOutput(b"r")
    assert log.since(5) == BootOutput(b"ater")


def test_last_lines_are_safe_to_print() -> None:
    assert last_lines(b"first\r\nsecond\r\n\x1b[2Jthird\xff\r\n\r\n", lines=2) == "second\n[2Jthird\ufffd"


def test_a_line_without_end_is_cut() -> None:
    assert len(last_lines(b"x" * 100_000, lines=1)) == 300
