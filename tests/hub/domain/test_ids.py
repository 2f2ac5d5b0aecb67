"""Ids are random, readable and never a name."""

from __future__ import annotations

import pytest

from cloche_hub.domain.ids import ALPHABET, ID_LENGTH, new_id, random_letters
from cloche_hub.domain.names import check_name
from cloche_hub.errors import BadRequest


def test_an_id_is_its_prefix_and_letters_of_the_alphabet() -> None:
    prefix, _, letters = new_id("sb").partition("_")
    assert prefix == "sb"
    assert len(letters) == ID_LENGTH
    assert set(letters) <= set(ALPHABET)


def test_the_alphabet_has_five_bits_a_letter_and_none_that_is_mistaken_for_a_digit() -> None:
    assert len(set(ALPHABET)) == 32
    assert not set(ALPHABET) & set("ilou")


def test_two_ids_differ() -> None:
    assert len({new_id("sb") for _ in range(1000)}) == 1000


def test_every_letter_of_the_alphabet_turns_up() -> None:
    assert set(random_letters(10_000)) == set(ALPHABET)


def test_an_id_is_never_a_name() -> None:
    with pytest.raises(BadRequest):
        check_name(new_id("sb"))
