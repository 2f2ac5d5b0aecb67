"""A question to whoever sits in front of this terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from cloche.cli import streams
from cloche.cli.asking import can_ask, confirm


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Where somebody types."""
    reader, writer = os.pipe()
    monkeypatch.setattr(streams, "STDIN", reader)
    yield writer
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize(
    ("typed", "default", "answer"),
    [("y", False, True), ("Yes", False, True), ("", False, False), ("", True, True), ("n", True, False)],
)
async def test_a_yes_is_a_yes_and_enter_is_the_default(
    keys: int, capsys: pytest.CaptureFixture[str], typed: str, default: bool, answer: bool
) -> None:
    os.write(keys, f"{typed}\n".encode())
    assert await confirm("go on\033", default=default) is answer
    assert capsys.readouterr().err == f"cloche: go on\\x1b? [{'Y/n' if default else 'y/N'}] "


async def test_what_is_neither_is_asked_again(keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = [b"what\n", b"y\n"]
    monkeypatch.setattr(streams, "read", lambda _number: typed.pop(0))
    assert await confirm("go on", default=False)
    assert typed == []


async def test_no_answer_is_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STDIN", -1)
    assert await confirm("go on", default=True) is False


def test_nobody_is_asked_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda number: number != 2)
    assert not can_ask()
    monkeypatch.setattr(os, "isatty", lambda _number: True)
    assert can_ask()
