"""Which emulator a terminal gets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cloche_term import BackendMissing, SnapshotUnreadable, open_terminal, restore
from cloche_term.opening import BACKENDS, default_backend
from cloche_term.snapshots import Snapshot, pack, unpack


def test_the_native_emulator_is_taken_where_it_is_installed() -> None:
    assert default_backend() == "ghostty"
    terminal = open_terminal(5, 20)
    assert terminal.backend == "ghostty"
    terminal.close()


def test_the_one_in_python_is_taken_where_the_native_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyghostty", None)
    assert default_backend() == "bittty"
    terminal = open_terminal(5, 20)
    assert terminal.backend == "bittty"
    terminal.close()


def test_an_emulator_that_cannot_be_loaded_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloche_term.on_ghostty", None)
    with pytest.raises(BackendMissing, match="ghostty cannot be loaded here"):
        open_terminal(5, 20, backend="ghostty")


def test_an_emulator_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="only ghostty and bittty"):
        open_terminal(5, 20, backend="xterm")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_size_that_is_none_is_refused_before_anything_is_made(backend: str) -> None:
    with pytest.raises(ValueError, match="1 to 1000"):
        open_terminal(0, 20, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_snapshot_opens_with_the_emulator_that_made_it(backend: str) -> None:
    terminal = open_terminal(5, 20, backend=backend)
    terminal.feed(b"".join(b"line %d\r\n" % number for number in range(20)))
    restored = restore(terminal.snapshot())
    assert restored.backend == backend
    assert restored.text() == terminal.text()
    assert restored.first_line == terminal.first_line == 16
    assert restored.lines(3, 5) == ("line 3", "line 4")
    restored.close()
    terminal.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_snapshot_of_another_version_is_refused(backend: str) -> None:
    terminal = open_terminal(5, 20, backend=backend)
    made = unpack(terminal.snapshot())
    terminal.close()
    with pytest.raises(SnapshotUnreadable):
        restore(pack(Snapshot(made.backend, "another", made.beside, made.body)))


def test_a_snapshot_of_an_emulator_that_is_not_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloche_term.on_ghostty", None)
    with pytest.raises(SnapshotUnreadable, match="cannot be loaded here"):
        restore(pack(Snapshot("ghostty", "1", {}, b"")))
    with pytest.raises(SnapshotUnreadable, match="nobody here knows"):
        restore(pack(Snapshot("xterm", "1", {}, b"")))


def test_no_emulator_is_loaded_before_a_terminal_is_opened() -> None:
    program = "import sys, cloche_term; print([name for name in sys.modules if name.startswith(('pyghostty', 'bittty'))])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "[]"
