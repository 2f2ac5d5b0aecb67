"""A hostile peer costs its own link and nothing else: the same cases every time, and others with `make fuzz`."""

from __future__ import annotations

import random

import pytest
from hypothesis import settings

from tests.fuzz.__main__ import run
from tests.fuzz.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_whatever_a_hostile_peer_sends_only_its_own_session_suffers(name: str) -> None:
    examples = settings.get_profile(settings.get_current_profile_name())
    # As the profile says of all random tests: the same ones for a verdict, new and more of them for a search.
    first = 0 if examples.derandomize else random.SystemRandom().randrange(1 << 48)
    assert run(name, first=first, count=15 * examples.max_examples) is None
