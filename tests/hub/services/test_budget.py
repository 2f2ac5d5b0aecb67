"""Room that many share."""

from __future__ import annotations

import pytest

from cloche_hub.errors import TooLarge
from cloche_hub.services.budget import Budget

MIB = 1 << 20


def test_one_has_its_share_and_gets_it_back() -> None:
    budget = Budget("texts", own=2 * MIB, every=9 * MIB)
    with budget.taken("ann", MIB), budget.taken("ann", MIB):
        with pytest.raises(TooLarge, match="texts: one sandbox has 2 MiB at most"), budget.taken("ann", 1):
            pass
        with budget.taken("bob", 2 * MIB):
            pass
    with budget.taken("ann", 2 * MIB):
        pass


def test_all_together_have_no_more_than_there_is() -> None:
    budget = Budget("texts", own=2 * MIB, every=3 * MIB)
    with (
        budget.taken("ann", 2 * MIB),
        budget.taken("bob", MIB),
        pytest.raises(TooLarge, match="texts: the hub has 3 MiB at most"),
        budget.taken("carol", 1),
    ):
        pass
    with budget.taken("carol", 2 * MIB):
        pass
