"""What somebody who used the command line wrongly is told."""

from __future__ import annotations

import pytest

from cloche.cli.usage import usage_line

HINT = "; put -- before the command"


@pytest.mark.parametrize(
    ("message", "ours"),
    [
        ("Invalid value for '-n': Input should be greater than or equal to 1", "Invalid value for '-n': give at least 1"),
        ("Input should be less than or equal to 500", "give at most 500"),
        (
            "Input should be a valid integer, unable to parse string as an integer",
            "give a whole number",
        ),
        ("Value error, 'foo' is not one of 'bash', 'zsh'", "'foo' is not one of 'bash', 'zsh'"),
        ("Missing argument 'NAME'.", "Missing argument 'NAME'"),
    ],
)  # fmt: skip
def test_the_library_s_phrases_are_put_in_plain_words(message: str, ours: str) -> None:
    assert usage_line(message, "cloche ls", []) == f"{ours}; see: cloche ls --help"


def test_a_question_needs_no_semicolon() -> None:
    assert usage_line("Did you mean 'run'?", "cloche", ["rn"]) == "Did you mean 'run'? see: cloche --help"


@pytest.mark.parametrize(
    ("message", "path", "line"),
    [
        ("No such option: -x", "run", "ls -x"),
        ("Option '-l' requires an argument.", "run", "ls -l"),
        ("No such option: -x", "exec", "box ls -x"),
        ("No such option: -x", "shell", "box ls -x"),
        ("'x' is no label; give KEY=VALUE", "run", "grep -l x"),
        ("Missing argument 'CMD'.", "exec", "box"),
        ("Invalid value for COMMAND: give it", "callbacks serve", "pay cat"),
    ],
)
def test_who_forgot_the_dashes_is_told(message: str, path: str, line: str) -> None:
    told = usage_line(message, f"cloche {path}", line.split())
    assert told == f"{message.rstrip('.')}{HINT}; see: cloche {path} --help"


@pytest.mark.parametrize(
    ("message", "path", "line"),
    [
        ("No such option: --nope", "run", "--nope -- ls"),
        ("No such option: --nope", "ls", "--nope"),
        ("'x' is no label; give KEY=VALUE", "run", "--label x ls"),
        ("'soon' is no duration", "exec", "box --timeout soon ls"),
        ("Missing argument 'SANDBOX'.", "exec", ""),
    ],
)
def test_who_made_another_mistake_is_told_that_one_only(message: str, path: str, line: str) -> None:
    assert HINT not in usage_line(message, f"cloche {path}", line.split())
