"""How every command line begins and ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from cloche.cli import main as cli
from cloche.cli.main import app, run_command
from cloche.errors import BadRequest, NotFound
from cloche.version import VERSION
from tests.sdk.cli.conftest import CLOCHE, Cloche, start
from tests.support.local_hub import LocalHub


def _commands(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path] if path else []
    for name, child in getattr(command, "commands", {}).items():
        found += _commands(child, (*path, name))
    return found


_COMMANDS = _commands(typer.main.get_command(app))


async def test_the_version_is_said(cloche: Cloche) -> None:
    assert await cloche("--version") == (0, f"cloche {VERSION}\n", "")


@pytest.mark.parametrize("words", _COMMANDS, ids=" ".join)
async def test_every_command_explains_itself_with_examples(cloche: Cloche, words: tuple[str, ...]) -> None:
    ran = await cloche(*words, "--help")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: cloche {' '.join(words)} ")
    if words not in (
        ("approvals",),
        ("callbacks",),
        ("consoles",),
        ("files",),
        ("image",),
        ("audit",),
        ("policy",),
        ("record",),
        ("token",),
    ):
        assert f"  cloche {' '.join(words)}" in ran.out.partition("Examples:")[2], (
            "an example uses the command"
        )


async def test_the_whole_is_explained(cloche: Cloche) -> None:
    ran = await cloche("-h")
    assert (ran.status, ran.err) == (0, "")
    assert all(f"\n  {name} " in ran.out for name, *_rest in _COMMANDS)
    assert "Exit status:" in ran.out


@pytest.mark.parametrize("words", [(), ("image",), ("audit",)])
async def test_a_group_without_a_command_shows_what_there_is(cloche: Cloche, words: tuple[str, ...]) -> None:
    ran = await cloche(*words)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("Usage: cloche")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("rn",), "cloche: No such command 'rn'. Did you mean 'run'? see: cloche --help"),
        (("ls", "--nope"), "cloche: No such option: --nope; see: cloche ls --help"),
        (("ls", "extra"), "cloche: Got unexpected extra argument(s) (extra); see: cloche ls --help"),
        (
            ("run", "echo", "--zzz"),
            "cloche: No such option: --zzz; put -- before the command; see: cloche run --help",
        ),
        (("run",), "cloche: Missing argument 'CMD'; put -- before the command; see: cloche run --help"),
        (
            ("run", "ls", "-l"),
            "cloche: Option '-l' requires an argument; put -- before the command; see: cloche run --help",
        ),
        (
            ("callbacks", "serve", "pay", "cat"),
            "cloche: Invalid value for COMMAND: give the command that answers; put -- before the command; see: cloche callbacks serve --help",
        ),
        (
            ("completion", "foo"),
            "cloche: Invalid value for 'shell': 'foo' is not one of 'bash', 'zsh', 'fish'; see: cloche completion --help",
        ),
        (
            ("audit", "tail", "-n", "0"),
            "cloche: Invalid value for '--lines' / '-n': give at least 1; see: cloche audit tail --help",
        ),
        (
            ("rm",),
            "cloche: Invalid value: give the sandboxes to remove, or --label, or --all; see: cloche rm --help",
        ),
        (
            ("run", "--timeout", "soon", "--", "x"),
            "cloche: Invalid value for --timeout: 'soon' is no duration; give one such as 90s, 10m, 2h or 1h30m (units",
        ),
        (
            ("create", "--lease", "10ms"),
            "cloche: Invalid value for --lease: '10ms' is too short to use a sandbox; give at least 1s; see: cloche create --help",
        ),
    ],
)
async def test_wrong_usage_is_one_line_and_status_2(
    cloche: Cloche, words: tuple[str, ...], line: str
) -> None:
    ran = await cloche(*words)
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
    assert line in ran.err


def _failing_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (BadRequest("lease_s must be at most 5"), 125, "cloche: --lease must be at most 5\n"),
        (NotFound("no sandbox 'x'"), 125, "cloche: no sandbox 'x'\n"),
        (NotFound("\033[2J"), 125, "cloche: \\x1b[2J\n"),
        (OSError(28, "No space left"), 125, "cloche: cannot write the output: No space left\n"),
        (OSError(111, "Connection refused"), 125, "cloche: Connection refused\n"),
        (FileNotFoundError(2, "No such file", "/proc/x"), 125, "cloche: cannot use /proc/x: No such file\n"),
        (NotFound("log:\ncloche: forged"), 125, "cloche: log:\n  cloche: forged\n"),
        (
            ZeroDivisionError("oh"),
            125,
            "cloche: a defect: ZeroDivisionError: oh; CLOCHE_DEBUG=1 shows where\n",
        ),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_whatever_happens_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    status: int,
    line: str,
) -> None:
    _failing_with(error, monkeypatch)
    assert run_command(["ls"]) == status
    assert capsys.readouterr() == ("", line)


def test_who_asks_for_it_gets_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLOCHE_DEBUG", "1")
    _failing_with(ZeroDivisionError("oh"), monkeypatch)
    assert run_command(["ls"]) == 125
    assert "Traceback" in capsys.readouterr().err


def test_what_the_terminal_cannot_show_is_shown_otherwise() -> None:
    done = subprocess.run(
        [*CLOCHE, "漢"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert r"No such command '\u6f22'" in done.stderr


_ANSWERS = [("--help",), ("run", "--help"), ("--version",), ("completion", "bash"), ("ls",), ("df", "--json")]


@pytest.mark.parametrize("words", _ANSWERS, ids=" ".join)
async def test_an_output_that_is_full_is_one_line_and_status_125(
    hub: LocalHub, words: tuple[str, ...]
) -> None:
    with Path("/dev/full").open("wb") as full:
        process = await start(*words, stdout=full)
        async with asyncio.timeout(30):
            _, err = await process.communicate()
    assert (process.returncode, err) == (125, b"cloche: cannot write the output: No space left on device\n")


@pytest.mark.parametrize("words", _ANSWERS, ids=" ".join)
async def test_an_output_that_was_closed_is_one_line_and_status_125(
    hub: LocalHub, words: tuple[str, ...]
) -> None:
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", '"$@" >&-', "sh", *CLOCHE, *words, stderr=subprocess.PIPE
    )
    async with asyncio.timeout(30):
        _, err = await process.communicate()
    assert (process.returncode, err) == (125, b"cloche: cannot write the output: Bad file descriptor\n")


async def test_all_streams_may_be_closed(hub: LocalHub) -> None:
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", '"$@" <&- >&- 2>&-', "sh", *CLOCHE, "create", "--name", "box"
    )
    async with asyncio.timeout(30):
        assert await process.wait() == 125
    assert [sandbox["name"] for sandbox in hub.sandboxes.values()] == ["box"]


@pytest.mark.parametrize("words", [("--help",), ("hub", "logs")], ids=" ".join)
def test_a_reader_who_leaves_before_the_answer_is_no_error(home: Path, words: tuple[str, ...]) -> None:
    (home / "hub.log").write_text("a line\n")
    reader, writer = os.pipe()
    # Before it begins: what it says fits into the pipe.
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run([*CLOCHE, *words], stdout=gone, stderr=subprocess.PIPE, timeout=30)
    assert (done.returncode, done.stderr) == (141, b"")


def test_help_loads_nothing_it_does_not_need() -> None:
    script = (
        "import sys; from cloche.cli.main import run_command; run_command(['--version']); "
        "print(*sorted({'asyncio', 'websockets', 'rich', 'msgpack'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == f"cloche {VERSION}\n\n"


def test_the_installed_command_is_this_one() -> None:
    installed = Path(sys.executable).parent / "cloche"
    done = subprocess.run([installed, "--version"], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == f"cloche {VERSION}\n"
