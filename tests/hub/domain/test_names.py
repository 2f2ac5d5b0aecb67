"""What sandboxes may be called."""

from __future__ import annotations

import pytest

from cloche_hub.domain.names import ADJECTIVES, MAX_NAME, NOUNS, check_name, friendly_name
from cloche_hub.errors import BadRequest


@pytest.mark.parametrize("name", ["a", "web", "web-1", "a1", "a--b", "a" * MAX_NAME])
def test_a_host_names_label_is_a_name(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", "1a", "Web", "a_b", "a.b", "a b", "é", "a\n", "../x", "a" * (MAX_NAME + 1)]
)
def test_anything_else_is_refused_and_told_what_a_name_looks_like(name: str) -> None:
    with pytest.raises(BadRequest, match="starts with a letter"):
        check_name(name)


def test_a_refused_name_is_not_repeated_at_any_length() -> None:
    with pytest.raises(BadRequest) as refusal:
        check_name("a" * 100_000)
    assert len(refusal.value.message) < 300


def test_a_friendly_name_is_an_adjective_and_a_noun() -> None:
    assert friendly_name(choose=lambda words: words[0]) == f"{ADJECTIVES[0]}-{NOUNS[0]}"


def test_a_friendly_name_for_a_crowded_place_is_another_each_time() -> None:
    names = {friendly_name(crowded=True, choose=lambda words: words[0]) for _ in range(100)}
    assert len(names) > 90
    assert all(name.startswith(f"{ADJECTIVES[0]}-{NOUNS[0]}-") for name in names)


def test_every_name_that_can_be_made_up_is_a_name() -> None:
    for adjective in ADJECTIVES:
        for noun in NOUNS:
            check_name(f"{adjective}-{noun}-z0z0")


def test_no_word_is_listed_twice() -> None:
    assert len(set(ADJECTIVES)) == len(ADJECTIVES)
    assert len(set(NOUNS)) == len(NOUNS)
