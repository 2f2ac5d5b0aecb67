"""What is so of every terminal that is lost."""

from __future__ import annotations

import pytest

from cloche_term.apart.terminal import ApartTerminal
from cloche_term.errors import TerminalLost


async def expect_lost(terminal: ApartTerminal) -> None:
    """Nothing can be asked of it any more, and its process is gone."""
    with pytest.raises(TerminalLost):
        await terminal.feed(b"x")
    assert terminal.is_lost
    await terminal.close()
    assert terminal.has_ended
