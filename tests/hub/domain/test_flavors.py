"""The sizes a machine comes in."""

from __future__ import annotations

import pytest

from cloche_hub.domain.flavors import DEFAULT_FLAVOR, FLAVORS, flavor_named
from cloche_hub.errors import BadRequest


def test_a_flavor_is_found_by_its_name() -> None:
    assert [flavor_named(name).name for name in FLAVORS] == list(FLAVORS)


def test_the_default_is_a_flavor() -> None:
    assert DEFAULT_FLAVOR in FLAVORS


def test_an_unknown_flavor_is_refused_with_those_there_are() -> None:
    with pytest.raises(BadRequest, match="no flavor 'huge'; there are: small, medium, large"):
        flavor_named("huge")
