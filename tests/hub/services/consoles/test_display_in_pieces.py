"""What a console shows in very many pieces costs the hub no more than its bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgpack
import pytest

from cloche_hub.ports import Size
from cloche_hub.services.consoles import display as display_module
from cloche_term.apart.terminals import Terminals
from tests.hub.services.consoles.test_display import Fedding, shown
from tests.support.hub import within


@pytest.fixture
async def made(terminals: Terminals) -> AsyncIterator[Fedding]:
    """A display of 4 rows and 20 columns that is fed by hand."""
    made = Fedding(await terminals.open(4, 20), terminals)
    yield made
    made.display.close()


async def test_where_many_short_pieces_wait_more_of_them_are_joined(
    made: Fedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display_module, "_MANY", 1)
    for piece in (b"a", b"b", b"c" * 1022, b"d", b"e" * 1024, b"f"):
        made.display.output(piece)
    made.display.resize(Size(5, 20))
    made.display.output(b"g")
    waiting = [one.entry for one in made.display._pending]
    assert waiting == [b"ab" + b"c" * 1022, b"d", b"e" * 1024, b"f", Size(5, 20), b"g"]
    assert [msgpack.unpackb(packed) for packed in (await made.screen())[-6:-5]] == [{"output": waiting[0]}]
    for _ in waiting:
        await within(made.display._feed_one())
    assert made.entries == waiting
    assert made.display.offset == made.display.received


async def test_a_window_of_single_bytes_is_kept_as_few_pieces(made: Fedding) -> None:
    for _ in range(20_000):
        made.display.output(b"x")
    assert len(made.display._pending) < 100
    rows, _ = shown(await made.screen())
    assert rows == ["x" * 20] * 4
