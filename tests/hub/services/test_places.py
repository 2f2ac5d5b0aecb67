"""So many places for each who takes them."""

from __future__ import annotations

import contextlib

import pytest

from cloche_hub.errors import TooLarge
from cloche_hub.services.places import Places


def test_who_has_all_its_places_is_refused_and_others_are_not() -> None:
    places = Places("follows the audit", most=2)
    with places.taken("tok_a"), places.taken("tok_a"):
        refusal = pytest.raises(TooLarge, match="this token follows the audit 2 times already")
        with refusal, places.taken("tok_a"):
            pass
        with places.taken("tok_b"):
            pass
    with places.taken("tok_a"):
        pass


def test_a_place_is_given_back_however_it_is_left() -> None:
    places = Places("x", most=1)
    for _ in range(3):
        with contextlib.suppress(ValueError), places.taken("tok_a"):
            raise ValueError
