"""Maps in a column."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from cloche_hub.store.rows import map_to_text, text_to_map


def test_a_map_reads_back_from_its_column_and_cannot_be_changed() -> None:
    kept = text_to_map(map_to_text(MappingProxyType({"b": "é", "a": 0.25})))
    assert kept == {"a": 0.25, "b": "é"}
    with pytest.raises(TypeError):
        kept["a"] = 1  # type: ignore[index]  # the point of the test
