"""Handing this process over to the hub's own program."""

from __future__ import annotations

import os
import sys

import pytest

from cloche.cli.handover import hand_over


class _Became(Exception):
    """What this process would have become."""


@pytest.mark.parametrize(
    ("words", "files", "expected"),
    [
        (("doctor", "--json"), (), ["doctor", "--json"]),
        (("verify",), ("-odd",), ["verify", "--", "-odd"]),
    ],
)
def test_the_process_goes_on_as_the_hub_s_program(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], files: tuple[str, ...], expected: list[str]
) -> None:
    def become(path: str, command: list[str]) -> None:
        raise _Became(path, command)

    monkeypatch.setattr(os, "execv", become)
    with pytest.raises(_Became) as caught:
        hand_over(*words, files=files)
    assert caught.value.args == (sys.executable, [sys.executable, "-P", "-m", "cloche_hub", *expected])
