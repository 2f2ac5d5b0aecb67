"""Recorded sessions of real programs, shown by both emulators as tmux shows them.

`recordings/record.py` says how they were recorded. Each is cut in many places; all rows, the cursor and which screen is
on are compared at each of them; between the two emulators styles, modes, title and scrollback, too.
"""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path

import pytest

from cloche_term import open_terminal, restore
from cloche_term.opening import BACKENDS
from cloche_term.terminal import Terminal
from tests.term.looks import look_of
from tests.term.recordings.record import COLS, ROWS, SESSIONS
from tests.term.tmux import Screen, tmux_screens

RECORDINGS = Path(__file__).parent / "recordings"
CUTS = 12


def pieces_of(data: bytes) -> list[bytes]:
    """About as many pieces of one length, each ending where a sequence begins: not inside of anything."""
    ends = [data.find(b"\x1b[", len(data) * number // CUTS) for number in range(1, CUTS)]
    places = [0, *sorted({end for end in ends if end > 0}), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(places)]


def screen_of(terminal: Terminal) -> Screen:
    """What a terminal shows, as tmux tells it."""
    return Screen(terminal.text(), (terminal.cursor.row, terminal.cursor.col), terminal.modes.is_alternate)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_program_looks_in_both_emulators_as_it_does_in_tmux(name: str, tmp_path: Path) -> None:
    pieces = pieces_of(gzip.decompress((RECORDINGS / f"{name}.vt.gz").read_bytes()))
    terminals = {backend: open_terminal(ROWS, COLS, backend=backend) for backend in BACKENDS}
    compared = 0
    with tmux_screens(pieces, ROWS, COLS, tmp_path) as screens:
        for piece, expected in zip(pieces, screens, strict=True):
            for backend, terminal in terminals.items():
                terminal.feed(piece)
                assert (backend, *screen_of(terminal)) == (backend, *expected)
            assert look_of(terminals["bittty"]) == look_of(terminals["ghostty"])
            compared += 1
    assert compared > CUTS // 2
    for terminal in terminals.values():
        terminal.close()


@pytest.mark.parametrize("reader", BACKENDS)
@pytest.mark.parametrize("writer", BACKENDS)
@pytest.mark.parametrize("name", SESSIONS)
def test_a_program_that_one_emulator_dumps_goes_on_in_the_other(name: str, writer: str, reader: str) -> None:
    pieces = pieces_of(gzip.decompress((RECORDINGS / f"{name}.vt.gz").read_bytes()))
    for cut in range(1, len(pieces), 3):
        terminal = open_terminal(ROWS, COLS, backend=writer)
        terminal.feed(b"".join(pieces[:cut]))
        again = open_terminal(ROWS, COLS, backend=reader)
        again.feed(terminal.dump(scrollback_lines=1000))
        assert screen_of(again) == screen_of(terminal)
        for piece in pieces[cut:]:
            again.feed(piece)
            terminal.feed(piece)
            assert screen_of(again) == screen_of(terminal)
        assert again.modes == terminal.modes
        again.close()
        terminal.close()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SESSIONS)
def test_a_program_goes_on_in_what_was_stored_of_its_terminal(name: str, backend: str) -> None:
    pieces = pieces_of(gzip.decompress((RECORDINGS / f"{name}.vt.gz").read_bytes()))
    terminal = open_terminal(ROWS, COLS, backend=backend)
    stored = open_terminal(ROWS, COLS, backend=backend)
    for piece in pieces:
        terminal.feed(piece)
        stored.feed(piece)
        snapshot = stored.snapshot()
        stored.close()
        stored = restore(snapshot)
        assert look_of(stored) == look_of(terminal)
    stored.close()
    terminal.close()
