"""What is answered is bounded, in whole answers."""

from __future__ import annotations

from cloche_term.on_bittty.answers import Answers
from cloche_term.terminal import MOST_ANSWER_BYTES


def test_answers_beyond_the_bound_are_dropped_whole() -> None:
    answers = Answers()
    for _ in range(5):
        answers.write_bytes(b"x" * 1000)
    answers.write_bytes(b"y" * (MOST_ANSWER_BYTES - 4000))
    taken = answers.take()
    assert taken == b"x" * 4000 + b"y" * (MOST_ANSWER_BYTES - 4000)
    answers.write("z")
    assert answers.take() == b"z"


def test_a_cable_end_has_nothing_else_to_do() -> None:
    answers = Answers()
    answers.flush()
    answers.resize(1, 1)
    answers.configure_line(None)
    answers.close()
    assert answers.take() == b""
