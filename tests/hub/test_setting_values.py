"""Values of settings with a form of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.setting_values import (
    ListenAddress,
    UidRange,
    parse_listen_address,
    parse_uid_range,
    require_absolute,
    split_list,
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:7070", ListenAddress("127.0.0.1", 7070)),
        ("[::1]:0", ListenAddress("::1", 0)),
        ("hub.example:65535", ListenAddress("hub.example", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port_and_told_as_it_was_given(text: str, address: ListenAddress) -> None:
    assert parse_listen_address(text) == address
    assert parse_listen_address(address) is address
    assert str(address) == text


@pytest.mark.parametrize("text", ["7070", ":7070", "::1:7070", "[1.2.3.4]:1", "host:", "host:٣", "host:-1"])
def test_another_form_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"give HOST:PORT, such as 127\.0\.0\.1:7070"):
        parse_listen_address(text)


def test_a_port_has_16_bits() -> None:
    with pytest.raises(ValueError, match="a port is at most 65535"):
        parse_listen_address("host:65536")


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [("localhost", True), ("127.9.9.9", True), ("::1", True), ("0.0.0.0", False), ("hub.example", False)],
)
def test_what_only_this_host_reaches_is_loopback(host: str, *, is_loopback: bool) -> None:
    assert ListenAddress(host, 1).is_loopback is is_loopback


def test_user_ids_are_a_first_and_a_last() -> None:
    assert parse_uid_range("1001-1001") == UidRange(1001, 1001)
    assert parse_uid_range(UidRange(2, 1)) == UidRange(2, 1)


@pytest.mark.parametrize("text", ["1001", "a-b", "1001-", "1001-٣"])
def test_another_form_is_no_range(text: str) -> None:
    with pytest.raises(ValueError, match="give FIRST-LAST"):
        parse_uid_range(text)


@pytest.mark.parametrize("text", ["0-2000", "1000-2000", "3000-2000", "2000-4294967294"])
def test_nobody_elses_user_ids_are_a_range(text: str) -> None:
    with pytest.raises(ValueError, match="two user ids above 1000, the smaller one first"):
        parse_uid_range(text)


def test_a_path_is_absolute() -> None:
    assert require_absolute(Path("/a")) == Path("/a")
    with pytest.raises(ValueError, match="give an absolute path"):
        require_absolute(Path("a"))


def test_a_list_is_a_text_with_commas() -> None:
    assert split_list(" a, b,,c ") == ("a", "b", "c")
    assert split_list(["a, b"]) == ["a, b"]
