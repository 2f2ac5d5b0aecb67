"""Every terminal case on both emulators, and what people are told of where they differ."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cloche_term import open_terminal
from cloche_term.opening import BACKENDS
from tests.term.cases import Case, Size, show
from tests.term.cases_of_screens import SCREEN_CASES
from tests.term.cases_of_talk import TALK_CASES
from tests.term.cases_of_text import TEXT_CASES
from tests.term.cases_that_differ import DIFFERENCES

CASES = (*SCREEN_CASES, *TEXT_CASES, *TALK_CASES)
README = Path(__file__).parents[2] / "term" / "README.md"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_terminal_shows_what_the_case_says(case: Case, backend: str) -> None:
    terminal = open_terminal(*case.size, backend=backend)
    try:
        assert show(terminal, case) == DIFFERENCES.get((backend, case.name), case.shows)
    finally:
        terminal.close()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_terminal_fed_byte_by_byte_shows_the_same(case: Case, backend: str) -> None:
    pieces: list[bytes | Size] = []
    for step in case.given:
        pieces += [step[i : i + 1] for i in range(len(step))] if isinstance(step, bytes) else [step]
    case_in_pieces = Case(
        name=case.name, source=case.source, given=tuple(pieces), shows=case.shows, size=case.size
    )
    terminal = open_terminal(*case.size, backend=backend)
    try:
        assert show(terminal, case_in_pieces) == DIFFERENCES.get((backend, case.name), case.shows)
    finally:
        terminal.close()


def test_no_two_cases_have_one_name() -> None:
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []


def test_a_difference_is_one_of_a_case_that_there_is() -> None:
    assert {name for _, name in DIFFERENCES} <= {case.name for case in CASES}


def test_people_are_told_of_every_difference() -> None:
    told = README.read_text()
    assert [name for _, name in DIFFERENCES if name not in told] == []
