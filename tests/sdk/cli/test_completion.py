"""`cloche completion`, and the answers it makes a shell ask for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cloche.cli.completion import QUESTION
from tests.sdk.cli.conftest import CLOCHE, Cloche
from tests.support.local_hub import LocalHub


@pytest.mark.parametrize(
    ("shell", "word"),
    [("bash", "complete -o default"), ("zsh", "#compdef cloche"), ("fish", "complete --command cloche")],
)
async def test_each_shell_gets_its_script(cloche: Cloche, shell: str, word: str) -> None:
    ran = await cloche("completion", shell)
    assert (ran.status, ran.err) == (0, "")
    assert word in ran.out
    assert f"{QUESTION}=complete_{shell}" in ran.out.replace('"', "")


async def test_without_a_name_it_is_the_user_s_own_shell(
    cloche: Cloche, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "complete --command cloche" in (await cloche("completion")).out
    monkeypatch.setenv("SHELL", "/bin/odd")
    ran = await cloche("completion")
    assert ran == (125, "", "cloche: no completion for the shell 'odd'; give one of: bash, zsh, fish\n")


async def test_a_shell_that_is_none_is_wrong_usage(cloche: Cloche) -> None:
    assert (await cloche("completion", "cmd")).status == 2


def _ask(line: str) -> list[str]:
    words = line.split(" ")
    env = {**os.environ, QUESTION: "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(CLOCHE, env=env, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_commands_are_completed(home: Path) -> None:
    assert _ask("cloche r") == ["run", "rm", "record"]
    assert _ask("cloche image b") == ["build"]


async def test_sandboxes_are_completed(cloche: Cloche, hub: LocalHub) -> None:
    import asyncio

    await cloche("create", "--name", "box")
    assert await asyncio.to_thread(_ask, "cloche exec b") == ["box"]
    assert await asyncio.to_thread(_ask, "cloche run --flavor l") == ["large"]


def test_a_question_nobody_understands_is_answered_with_nothing() -> None:
    env = {**os.environ, QUESTION: "complete_nonsense"}
    done = subprocess.run(CLOCHE, env=env, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (1, "")
