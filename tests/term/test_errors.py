"""What goes wrong in a terminal can be caught as one kind."""

from __future__ import annotations

import pytest

from cloche_term import BackendMissing, SnapshotUnreadable, TerminalError
from cloche_term.on_ghostty.library import LibraryError


@pytest.mark.parametrize("kind", [BackendMissing, SnapshotUnreadable, LibraryError])
def test_every_error_is_a_terminals(kind: type[Exception]) -> None:
    assert issubclass(kind, TerminalError)
