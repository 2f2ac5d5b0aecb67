"""What a program wants to have copied is found in its output however that is cut, bounded, cleaned, and waits a while."""

from __future__ import annotations

import base64
import random

import pytest

from cloche_tui.model.clipboard import (
    LONGEST_TEXT,
    STANDS_S,
    WAITS_S,
    CopyRequest,
    CopyRequests,
    RequestScanner,
    read_request,
)


def osc52(text: str | bytes, selections: str = "c", end: str = "\x07") -> bytes:
    """What a program writes that wants to have a text copied."""
    data = text.encode() if isinstance(text, str) else text
    return f"\x1b]52;{selections};{base64.b64encode(data).decode()}{end}".encode()


def found(*pieces: bytes) -> list[str]:
    """The text of the newest request in each piece that has one."""
    scanner = RequestScanner()
    payloads = (scanner.newest(piece) for piece in pieces)
    requests = [read_request(payload) for payload in payloads if payload is not None]
    return [request.text for request in requests if request is not None]


# Found.


@pytest.mark.parametrize("end", ["\x07", "\x1b\\"])
@pytest.mark.parametrize("selections", ["c", "p", "", "pc", "s0"])
def test_a_request_is_found_among_other_output(selections: str, end: str) -> None:
    assert found(b"\x1b[31mone" + osc52("hello", selections, end) + b"two\x1b[0m") == ["hello"]


@pytest.mark.parametrize("end", [b"\x07", b"\x1b\\"])
def test_a_request_is_found_wherever_its_output_is_cut(end: bytes) -> None:
    data = b"\x1b" + osc52("hello", "pc").replace(b"\x07", end) + b"\x1b[m"
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1):
            assert found(data[:first], data[first:second], data[second:]) == ["hello"]
    assert found(*(bytes([byte]) for byte in data)) == ["hello"]


def test_the_last_of_several_is_the_newest_also_behind_one_that_was_cut() -> None:
    assert found(osc52("one") + osc52("two") + b"text") == ["two"]
    cut = osc52("one")
    assert found(cut[:9], cut[9:] + osc52("two") + osc52("three")[:9], osc52("three")[9:]) == ["two", "three"]


def test_the_clipboard_is_never_asked_for() -> None:
    query = b"\x1b]52;c;?\x07"
    assert found(query, *(bytes([byte]) for byte in query), osc52("one") + query) == ["one"]


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b]52;c;aGVsbG8=\x18\x07",
        b"\x1b]52;c;aGVsbG8=\x1a\x07",
        b"\x1b]52;c;aGVsbG8=\x1b[m\x07",
        b"\x1b]52;c;aGVsbG8=\x1b",
        b"\x1b]52;c;aGVsbG8=",
        b"\x1b]52;Z;aGVsbG8=\x07",
        b"\x1b]52;aGVsbG8=\x07",
        b"\x1b]520;c;aGVsbG8=\x07",
        b"\x1b]0;52;c;aGVsbG8=\x07",
        b"]52;c;aGVsbG8=\x07",
        b"\x1b]52;c;\x07",
    ],
)  # fmt: skip
def test_what_is_no_request_or_has_no_end_is_none(data: bytes) -> None:
    assert found(data) == []
    assert found(*(bytes([byte]) for byte in data)) == []


def test_one_that_is_broken_off_does_not_hide_the_next() -> None:
    assert found(b"\x1b]52;c;aGVs\x1b]52;c;", b"b25l\x1b]52;c;dHdv\x07") == ["two"]


# Read.


def test_what_is_told_is_what_would_be_copied_without_control_characters() -> None:
    told = "tab\tline\nrest\x1b[31m\x00\r\x07\x7f\x9b\u2028 é日"
    assert read_request(base64.b64encode(told.encode())) == CopyRequest("tab\tline\nrest[31m\u2028 é日")


def test_base64_may_be_in_lines_and_without_its_padding() -> None:
    assert read_request(b"aGVs\r\nbG8") == CopyRequest("hello")


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"aGVsbG8=!", "no base64"),
        (b"a", "no base64"),
        (b"\xff\xfe", "no base64"),
        (base64.b64encode(b"\xff\xfe"), "no text in UTF-8"),
        (base64.b64encode(b"x" * (LONGEST_TEXT + 1)), "more than 64 KiB"),
        (b"\n" * (2 * LONGEST_TEXT), "more than 64 KiB"),
    ],
)
def test_what_cannot_be_copied_is_refused_with_the_reason(payload: bytes, why: str) -> None:
    assert read_request(payload) == CopyRequest("", why)


def test_as_much_as_may_be_is_copied() -> None:
    text = "x" * LONGEST_TEXT
    assert read_request(base64.b64encode(text.encode())) == CopyRequest(text)


@pytest.mark.parametrize("payload", [b"", b"====", base64.b64encode(b"\x1b\r\x00")])
def test_nothing_is_no_request(payload: bytes) -> None:
    assert read_request(payload) is None


def test_of_a_payload_without_an_end_no_more_is_kept_than_is_needed_to_refuse_it() -> None:
    scanner = RequestScanner()
    assert scanner.newest(b"\x1b]52;c;" + b"A" * (1 << 20)) is None
    for _ in range(10):
        assert scanner.newest(b"A" * (1 << 20)) is None
    assert scanner._open is not None
    assert len(scanner._open) <= 2 * LONGEST_TEXT
    payload = scanner.newest(b"\x07")
    assert payload is not None
    assert read_request(payload) == CopyRequest("", "more than 64 KiB")


def test_noise_is_read_without_an_error() -> None:
    scanner = RequestScanner()
    noise = random.Random(52)
    alphabet = b"\x1b]52;c?\\\x07\x18aGVsbG8=\xff"
    for _ in range(2000):
        piece = bytes(alphabet[byte % len(alphabet)] for byte in noise.randbytes(20))
        if (payload := scanner.newest(piece)) is not None:
            read_request(payload)


# Waiting for the person.


def test_a_request_stands_until_it_is_answered_or_too_old() -> None:
    requests = CopyRequests()
    assert requests.newest(0) is None
    requests.hear(osc52("one"), 1)
    assert requests.newest(1) == CopyRequest("one")
    assert requests.newest(1 + WAITS_S - 0.1) == CopyRequest("one")
    assert requests.newest(1 + WAITS_S) is None
    requests.hear(osc52("two"), 50)
    assert requests.newest(50) == CopyRequest("two")
    requests.done()
    assert requests.newest(51) is None


def test_one_that_nobody_looked_at_in_time_is_too_old() -> None:
    requests = CopyRequests()
    requests.hear(osc52("one"), 0)
    assert requests.newest(WAITS_S) is None


def test_a_newer_one_takes_the_place_when_the_one_before_could_be_read() -> None:
    requests = CopyRequests()
    requests.hear(osc52("one"), 0)
    assert requests.newest(0) == CopyRequest("one")
    requests.hear(osc52("two"), 0.1)
    requests.hear(osc52("three"), 0.2)
    assert requests.newest(0.3) == CopyRequest("one")
    assert requests.newest(STANDS_S) == CopyRequest("three")


def test_a_flood_is_read_once_a_second() -> None:
    requests = CopyRequests()
    seen = set()
    for number in range(10_000):
        now = number / 1000
        requests.hear(osc52(str(number)), now)
        seen.add(requests.newest(now))
    assert len(seen) <= 10 / STANDS_S + 1


def test_one_with_nothing_to_be_copied_takes_no_place() -> None:
    requests = CopyRequests()
    requests.hear(osc52("one"), 0)
    assert requests.newest(0) == CopyRequest("one")
    requests.hear(osc52("\x00"), 1)
    assert requests.newest(2) == CopyRequest("one")


def test_what_is_cut_off_does_not_go_on_with_what_follows() -> None:
    requests = CopyRequests()
    requests.hear(osc52("one")[:10], 0)
    requests.cut()
    requests.hear(osc52("one")[10:], 0)
    assert requests.newest(0) is None
