"""How options are read."""

from __future__ import annotations

import pytest
import typer

from cloche.cli import options
from cloche.cli.options import in_options, label_filter, parse_env, parse_labels, parse_lease, parse_timeout


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("15m", 900.0),
        ("2h", 7200.0),
        ("1d", 86400.0),
        ("1h30m", 5400.0),
        ("250ms", 0.25),
        ("1.5s", 1.5),
    ],
)
def test_a_duration_is_seconds(text: str, seconds: float) -> None:
    assert parse_timeout(text) == pytest.approx(seconds)


def test_no_duration_is_none() -> None:
    assert (parse_timeout(None), parse_lease(None)) == (None, None)


@pytest.mark.parametrize("text", ["", "soon", "-5s", "5x", "5 s", "s", "1h-5m", "٣s"])
def test_what_is_no_duration_is_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(
        typer.BadParameter, match=r"such as 90s, 10m, 2h or 1h30m .* a number alone is seconds"
    ):
        parse_timeout(text)


@pytest.mark.parametrize("text", ["0", "0.9", "999ms"])
def test_a_lease_too_short_to_be_of_use_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="give at least 1s") as raised:
        parse_lease(text)
    assert raised.value.param_hint == "--lease"
    assert parse_lease("1s") == 1


def test_a_timeout_of_nothing_is_refused() -> None:
    with pytest.raises(typer.BadParameter, match="above 0") as raised:
        parse_timeout("0s")
    assert raised.value.param_hint == "--timeout"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("lease_s must be at most 5 seconds, not 6.0", "--lease must be at most 5s, not 6s"),
        ("timeout_s must be above 0", "--timeout must be above 0"),
        ("labels has a key 'env'", "--label has a key 'env'"),
        ("argv and env are 9 bytes together", "the command and --env are 9 bytes together"),
        ("argv[1] is longer", "the command[1] is longer"),
        ("environment is a word of its own", "environment is a word of its own"),
        ("the lease_s of another", "the lease_s of another"),
        ("topics has 'foo'; there are: usage", "--topic has 'foo'; there are: usage"),
        ("sandbox is missing: name one", "--sandbox is missing: name one"),
        ("sandbox box is on its way out", "sandbox box is on its way out"),
        (
            "lease_s must be above 0 and at most 2592000 seconds, not 34560000.0",
            "--lease must be at most 30d, not 400d",
        ),
        (
            "timeout_s must be above 0 and at most 5400 seconds, not 1e+06",
            "--timeout must be at most 1h30m, not 11d13h46m40s",
        ),
        ("lease_s must be at least 1 second, not 0.5", "--lease must be at least 1s, not 0.5s"),
        (
            "lease_s must be above 0 and at most 60 seconds, not text",
            "--lease must be above 0 and at most 60 seconds, not text",
        ),
    ],
)
def test_what_the_hub_says_of_a_field_is_said_of_its_option(message: str, said: str) -> None:
    assert in_options(message) == said


def test_variables_are_said_or_taken_from_here() -> None:
    here = {"HERE": "x=y", "OTHER": "z"}
    assert parse_env(["A=1", "B=", "C=a=b", "HERE"], here) == {"A": "1", "B": "", "C": "a=b", "HERE": "x=y"}
    assert parse_env(None, here) == {}


@pytest.mark.parametrize(
    ("text", "match"),
    [("ABSENT", "ABSENT is not set here"), ("=1", "names no variable"), ("", "names no variable")],
)
def test_a_variable_there_is_not_is_refused(text: str, match: str) -> None:
    with pytest.raises(typer.BadParameter, match=match):
        parse_env([text], {})


def test_labels_are_keys_with_values() -> None:
    assert parse_labels(["a=1", "b="]) == {"a": "1", "b": ""}
    assert parse_labels(None) == {}


@pytest.mark.parametrize("text", ["a", "=1", ""])
def test_what_is_no_label_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="give KEY=VALUE"):
        parse_labels([text])


def test_labels_to_choose_by_are_keys_with_a_value_or_any() -> None:
    is_meant = label_filter(["team=blue", "gpu"])
    assert is_meant({"team": "blue", "gpu": "2", "tier": "web"})
    assert not is_meant({"team": "red", "gpu": "2"})
    assert label_filter(None)({})


@pytest.mark.parametrize("text", ["=blue", "team:blue", "größe=3"])
def test_a_label_no_sandbox_can_have_is_not_looked_for(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="give KEY or KEY=VALUE"):
        label_filter([text])


@pytest.mark.parametrize(
    ("text", "place"), [("box", ("box", None)), ("box/1", ("box", "1")), ("sb_1/con_2", ("sb_1", "con_2"))]
)
def test_a_console_is_named_by_its_sandbox_and_itself(text: str, place: tuple[str, str | None]) -> None:
    assert options.parse_console(text) == place


@pytest.mark.parametrize("text", ["", "/", "box/", "/1", "a/b/c"])
def test_what_names_no_console_is_refused(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="give SANDBOX/CONSOLE"):
        options.parse_console(text)


def test_a_limit_of_idling_is_a_duration_and_may_be_none_at_all() -> None:
    assert (options.parse_idle_limit("500ms"), options.parse_idle_limit("0"), options.parse_idle_limit(None)) == (
        0.5, 0.0, None
    )  # fmt: skip
