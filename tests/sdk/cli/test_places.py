"""What `cloche cp` is asked."""

from __future__ import annotations

import pytest
import typer

from cloche.cli.places import Place, Request, destination, parse_place, parse_request


def test_a_place_is_in_a_sandbox_if_it_has_a_colon_before_any_slash() -> None:
    assert parse_place("box:a") == Place("box", "a")
    assert parse_place("box:/a:b") == Place("box", "/a:b")
    assert parse_place("box:") == Place("box", ".")
    assert parse_place("./a:b") == Place(None, "./a:b")
    assert parse_place("/x/a:b") == Place(None, "/x/a:b")
    assert parse_place("-").is_stdio
    assert not parse_place("box:-").is_stdio
    assert [str(parse_place(text)) for text in ("box:a", "a")] == ["box:a", "a"]


@pytest.mark.parametrize("text", ["", ":a"])
def test_a_place_without_a_name_is_wrong_usage(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="names nothing"):
        parse_place(text)


def test_a_request_goes_from_one_side_to_the_other() -> None:
    up = parse_request(["a", "b", "box:d"])
    assert up == Request([Place(None, "a"), Place(None, "b")], Place("box", "d"))
    assert up.is_upload
    assert not parse_request(["box:a", "other:b", "d"]).is_upload


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["box:a"], "give what to copy, and where"),
        (["a", "b"], "one side must be in a sandbox"),
        (["box:a", "other:b"], "cloche cp box:a - | cloche cp - other:b"),
        (["box:a", "other:d/"], "cloche cp - other:d/a"),
        (["-", "box:"], "give a file name behind box:"),
        (["-", "box:d/"], "give a file name behind box:d/"),
        (["a", "box:b", "box:c"], "all here or all in sandboxes"),
        (["a", "-", "box:c"], "takes one file"),
        (["box:a", "box:b", "-"], "takes one file"),
    ],
)
def test_other_requests_are_wrong_usage(texts: list[str], why: str) -> None:
    with pytest.raises(typer.BadParameter) as raised:
        parse_request(texts)
    assert why in raised.value.message


@pytest.mark.parametrize(
    ("source", "target", "is_folder", "expected"),
    [
        ("a/b", "d", True, "d/b"),
        ("a/b/", "d/", True, "d/b"),
        ("a/b", "d", False, "d"),
        ("a/b/", "d/", False, "d"),
        ("a/.", "d", True, "d"),
        (".", "d", True, "d"),
        ("..", "d", True, "d"),
        ("a", "/", True, "/a"),
        (".", "/", True, "/"),
        ("box:", "d", True, "d"),
    ],
)
def test_destinations_are_those_of_cp(source: str, target: str, is_folder: bool, expected: str) -> None:
    assert destination(parse_place(source), parse_place(target), is_folder=is_folder) == expected
