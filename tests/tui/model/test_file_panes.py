"""Two folders: what is shown, chosen and copied, whatever a guest calls its files."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cloche.filters import parse_filter
from cloche_tui.model.file_panes import FilePanes, Listing, Pane, Side, row_of_entry
from cloche_tui.model.transfers import Direction, Wanted
from tests.tui.file_values import entry, pane, row


def _names(of: Pane) -> list[str]:
    return [of.row(key).name for key in of.order]


def _selected(of: Pane) -> str | None:
    return of.selected.name if of.selected is not None else None


# What a guest says.


def test_an_entry_is_taken_as_it_is() -> None:
    one = row_of_entry(entry("a.txt", size_bytes=7, mode=0o755))
    assert (one.name, one.kind, one.size_bytes, one.mode, one.refusal, one.key) == (
        "a.txt", "file", 7, 0o755, "", "a.txt",
    )  # fmt: skip
    assert one.modified_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize("name", ["..", ".", "", "/etc/passwd", "../a", "a/b", "a\0b", "n" * 256, "\udcff"])
def test_a_name_that_leads_elsewhere_is_shown_and_cannot_be_used(name: str) -> None:
    one = row_of_entry(entry(name))
    assert one.refusal == "no file can be called that"
    assert len(one.name) <= 255
    shown = pane(one, side=Side.SANDBOX)
    shown.select(one.key)
    assert shown.chosen == []
    with pytest.raises(ValueError, match="no file can be called that"):
        shown.path_of(one)
    shown.mark_selected()
    shown.mark_all()
    assert shown.marks == frozenset()


def test_a_name_that_is_no_text_is_not_taken_for_one_that_is() -> None:
    shown = pane(row_of_entry(entry(r"\xff", unusable=True)), row_of_entry(entry(r"\xff")), side=Side.SANDBOX)
    assert [shown.row(key).refusal for key in shown.order] == ["its name is not UTF-8", ""]


def test_names_that_only_look_bad_can_be_used() -> None:
    for name in ("a\nb", "\u202egpj.exe", "\x1b[2J", " ", "-rf", "…"):
        assert row_of_entry(entry(name)).refusal == ""


def test_a_file_that_is_told_twice_has_one_row() -> None:
    shown = pane(row("a", size_bytes=1), row("a", size_bytes=2))
    assert [shown.row(key).size_bytes for key in shown.order] == [1]


# What is shown.


def test_folders_stand_first_and_names_in_order_whatever_their_case() -> None:
    shown = pane("b", "A", "c", row("z", "dir"), row("y", "link", leads_to_folder=True))
    assert _names(shown) == ["y", "z", "A", "b", "c"]
    assert (len(shown), shown.known) == (5, 5)


def test_it_is_sorted_by_what_is_asked_for() -> None:
    shown = pane(
        row("a", size_bytes=1, mode=3, modified_at=datetime(2026, 1, 3, tzinfo=UTC)),
        row("b", size_bytes=2, mode=1, modified_at=datetime(2026, 1, 1, tzinfo=UTC)),
        row("c", size_bytes=2, mode=2, modified_at=datetime(2026, 1, 2, tzinfo=UTC)),
    )
    for key, names in (("size", "bca"), ("changed", "acb"), ("mode", "bca"), ("name", "abc")):
        shown.sort_by(key)
        assert _names(shown) == list(names)
    shown.sort_by("size", is_descending=False)
    assert _names(shown) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("rep", ["Report.pdf"]),
        ("kind=folder", ["src"]),
        ("!kind=folder", ["Report.pdf", "x"]),
        ("name=x", ["x"]),
    ],
)
def test_a_filter_shows_what_matches(typed: str, names: list[str]) -> None:
    shown = pane("Report.pdf", "x", row("src", "dir"))
    assert shown.set_filter(parse_filter(typed)) == (len(names), 3)
    assert _names(shown) == names
    assert shown.is_filtered
    assert shown.set_filter(None) == (3, 3)


# What is selected and marked.


def test_the_selected_file_stays_selected_wherever_it_goes() -> None:
    shown = pane("b", "c")
    shown.select("c")
    shown.select("nobody")
    shown.show(Listing("/a", [row("a"), row("c"), row("d")]))
    assert _selected(shown) == "c"
    shown.show(Listing("/a", [row("a"), row("d")]))
    assert _selected(shown) == "d"
    shown.show(Listing("/a", []))
    assert _selected(shown) is None


def test_going_up_selects_the_folder_one_has_come_from() -> None:
    shown = pane("x", folder="/a/b")
    shown.show(Listing("/a", [row("a", "dir"), row("b", "dir"), row("c", "dir")]))
    assert _selected(shown) == "b"
    shown.show(Listing("/a/c", [row("1"), row("2")]))
    assert _selected(shown) == "1"


def test_another_folder_has_no_marks_and_the_filter_that_is_said_below() -> None:
    shown = pane("a", "b")
    shown.mark_all()
    shown.set_filter(parse_filter("a"))
    shown.show(Listing("/a", [row("a"), row("c")]))
    assert (set(shown.marks), shown.is_filtered) == ({"a"}, True)
    shown.show(Listing("/b", [row("a"), row("c")]))
    assert (shown.marks, shown.is_filtered, _names(shown)) == (frozenset(), True, ["a"])


def test_marking_goes_on_to_the_next() -> None:
    shown = pane("a", "b", "c")
    shown.mark_selected()
    assert _selected(shown) == "b"
    shown.mark_selected()
    shown.mark_selected()
    assert (_selected(shown), set(shown.marks)) == ("c", {"a", "b", "c"})
    shown.mark_selected()
    assert shown.marks == {"a", "b"}
    assert [one.name for one in shown.chosen] == ["a", "b"]
    shown.clear_marks()
    assert [one.name for one in shown.chosen] == ["c"]


def test_only_what_is_shown_is_marked() -> None:
    shown = pane("a", "b")
    shown.set_filter(parse_filter("b"))
    shown.mark_all()
    assert shown.marks == {"b"}


def test_an_empty_folder_has_nothing_to_choose() -> None:
    shown = Pane(Side.HERE)
    shown.mark_selected()
    assert (shown.selected, shown.chosen, shown.parent, len(shown)) == (None, [], None, 0)


def test_a_folder_that_is_gone_is_cleared() -> None:
    shown = pane("a")
    shown.clear()
    assert (shown.folder, len(shown)) == ("", 0)


# Paths.


def test_paths_are_below_the_folder() -> None:
    assert pane("a", folder="/").path_of(row("a")) == "/a"
    assert pane("a", folder="/x/y").path_of(row("a")) == "/x/y/a"
    assert [pane("a", folder=folder).parent for folder in ("/x/y", "/x", "/")] == ["/x", "/", None]


@pytest.mark.parametrize(
    ("side", "typed", "path"),
    [
        (Side.HERE, "b", "/a/b"),
        (Side.HERE, "../b/./c", "/b/c"),
        (Side.HERE, "/etc", "/etc"),
        (Side.HERE, "~/x", "~/x"),
        (Side.SANDBOX, "b", "/a/b"),
        (Side.SANDBOX, "~", "."),
        (Side.SANDBOX, "~/x", "x"),
    ],
)
def test_what_is_typed_is_taken_from_the_folder_or_a_home(side: Side, typed: str, path: str) -> None:
    assert pane(side=side).place(typed) == path


# What is copied.


def _panes() -> FilePanes:
    panes = FilePanes()
    panes.here.show(Listing("/here", [row("a"), row("b")]))
    panes.sandbox.show(Listing("/home/user", [row("x"), row("y")]))
    return panes


def test_what_is_marked_is_copied_into_the_other_folder() -> None:
    panes = _panes()
    panes.source.mark_all()
    assert panes.wanted() == [
        Wanted(Direction.UP, "a", "/here/a", "/home/user"),
        Wanted(Direction.UP, "b", "/here/b", "/home/user"),
    ]
    assert panes.command("box") == ("/here/a", "/here/b", "box:/home/user")
    panes.active = Side.SANDBOX
    assert panes.wanted() == [Wanted(Direction.DOWN, "x", "/home/user/x", "/here")]
    assert panes.command("box") == ("box:/home/user/x", "/here")
    assert panes.target is panes.here


def test_what_is_or_may_be_a_folder_is_told_of() -> None:
    panes = _panes()
    rows = [row("d", "dir"), row("f"), row("l", "link"), row("m", "link", leads_to_folder=True)]
    for side, folders in ((Side.HERE, "dm"), (Side.SANDBOX, "dlm")):
        panes.active = side
        panes.source.show(Listing(panes.source.folder, rows))
        panes.source.mark_all()
        assert "".join(one.name for one in panes.wanted() if one.is_folder) == folders


def test_nothing_is_copied_where_no_folder_is_shown() -> None:
    panes = _panes()
    panes.sandbox.clear()
    assert panes.wanted() == []
    assert panes.command("box") == ()


def test_a_command_names_no_more_than_can_be_read() -> None:
    panes = _panes()
    panes.here.show(Listing("/here", [row(str(number)) for number in range(21)]))
    panes.here.mark_all()
    assert len(panes.wanted()) == 21
    assert panes.command("box") == ()
