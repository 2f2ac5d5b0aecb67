"""A text in the user's own editor."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche.cli.editor import edit_text
from cloche.cli.session import Interrupts, run_async
from cloche.errors import BadRequest

Edited = tuple[str, Path]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr(os, "isatty", lambda _number: True)


def _edit(monkeypatch: pytest.MonkeyPatch, editor: str, text: str = "before\n") -> Edited:
    monkeypatch.setenv("EDITOR", editor)
    edited: list[Edited] = []

    async def work(interrupts: Interrupts) -> None:
        edited.append(await edit_text(text, interrupts, suffix=".json"))

    run_async(work)
    return edited[0]


def test_the_editor_gets_a_file_that_is_this_users_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    text, path = _edit(monkeypatch, 'sh -c \'stat -c %a "$1" >> "$1"\' sh')
    assert text == "before\n600\n"
    assert (path.read_text(), path.suffix) == (text, ".json")


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("false", "ended with exit status 1; nothing was done"),
        ("/nowhere/editor -x", "cannot run the editor '/nowhere/editor'"),
        ('sh -c \'printf "\\377" > "$1"\' sh', "no text in UTF-8"),
    ],
)
def test_an_editor_that_fails_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, editor: str, words: str
) -> None:
    with pytest.raises(BadRequest, match=words):
        _edit(monkeypatch, editor)
    assert list(tmp_path.iterdir()) == []


def test_without_a_terminal_there_is_no_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda number: number == 0)
    with pytest.raises(BadRequest, match="an editor needs a terminal"):
        _edit(monkeypatch, "true")


def test_ctrl_c_is_the_editors(monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = _edit(monkeypatch, f"sh -c 'kill -INT {os.getpid()}; echo after > \"$1\"' sh")
    assert text == "after\n"
