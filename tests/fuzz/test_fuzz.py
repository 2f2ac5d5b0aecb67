"""A hostile peer costs its own link and nothing else: the same cases every time; `python -m tests.fuzz` finds others."""

from __future__ import annotations

import pytest

from tests.fuzz.__main__ import run
from tests.fuzz.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_whatever_a_hostile_peer_sends_only_its_own_session_suffers(name: str) -> None:
    assert run(name, first=0, count=1500) is None
