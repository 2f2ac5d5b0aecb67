"""What is written of files: each in its columns, and nothing that a guest chose does anything to the screen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from cloche.filters import parse_filter
from cloche_tui.model import file_text
from cloche_tui.model.file_panes import FileRow, Listing, Pane, Side, row_of_entry
from cloche_tui.model.roles import Line, Role, plain_text
from cloche_tui.model.transfers import Amount
from tests.tui.file_values import entry, pane, row

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def _plain(lines: Sequence[Line]) -> list[str]:
    return [plain_text(one) for one in lines]


def test_a_file_has_its_size_mode_and_time() -> None:
    one = row("a.txt", size_bytes=2048, mode=0o640, modified_at=NOW - timedelta(days=400))
    cells = {key: plain_text(cell) for key, cell in file_text.cells(one, NOW, is_marked=True).items()}
    assert cells["mark"] == "✓"
    assert (cells["name"], cells["size"], cells["mode"]) == ("  a.txt", "2.0 KiB", "-rw-r-----")
    assert cells["changed"].endswith(" 2024")


def test_what_was_changed_lately_has_its_hour() -> None:
    here = (NOW - timedelta(days=1)).astimezone()
    assert file_text.changed(here, NOW) == here.strftime("%d %b %H:%M")


@pytest.mark.parametrize("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_any_time_that_a_guest_says_can_be_written(moment: datetime) -> None:
    assert file_text.changed(moment, NOW)


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (row("src", "dir"), "▸ src/"),
        (row("l", "link", target="../x"), "→ l → ../x"),
        (row("tty", "other"), "? tty  a device, a socket or a pipe"),
        (row("a", refusal="its name is not UTF-8"), "✗ a  its name is not UTF-8"),
        (row_of_entry(entry("..")), "✗ ..  no file can be called that"),
    ],
)
def test_a_name_says_what_it_is(one: FileRow, shown: str) -> None:
    assert plain_text(file_text.name(one)) == shown


def test_what_is_no_file_has_no_size() -> None:
    assert plain_text(file_text.cells(row("a", "dir", size_bytes=4096), NOW, is_marked=False)["size"]) == "–"


@pytest.mark.parametrize("hostile", ["\x1b[2Ja", "a\nb", "\u202egpj.exe", "\udcff", "\x9bm"])
def test_hostile_names_and_targets_are_written_out(hostile: str) -> None:
    for one in (row(hostile), row("l", "link", target=hostile), row(hostile, refusal="no")):
        assert plain_text(file_text.name(one)).isprintable()
    assert all(text.isprintable() for text in _plain(file_text.named_plainly([hostile])))
    assert file_text.shown(hostile).isprintable()
    heading = file_text.heading(pane(folder=f"/{hostile}"), hostile, width=80, is_active=True)
    assert plain_text(heading).isprintable()


def test_a_target_is_cut() -> None:
    assert len(plain_text(file_text.name(row("l", "link", target="x" * 4095)))) < 300


# Above and instead of a list.


def test_the_heading_says_where_and_how_much() -> None:
    shown = pane(row("a", size_bytes=1024), row("b"))
    assert plain_text(file_text.heading(shown, "box", width=80, is_active=True)) == "▶ box  /a  2 files"
    shown.mark_selected()
    shown.set_filter(parse_filter("b"))
    assert plain_text(file_text.heading(shown, "box", width=80, is_active=False)) == (
        "  box  /a  1/2, ✓ 1 marked, 1.0 KiB"
    )
    shown.set_filter(None)
    shown.show(Listing("/b", [row("a")], is_cut=True))
    assert "1 file, and more" in plain_text(file_text.heading(shown, "box", width=80, is_active=False))


def test_of_a_long_path_the_end_is_shown() -> None:
    shown = pane("a", folder="/" + "x" * 50 + "/漢字/end")
    text = plain_text(file_text.heading(shown, "box", width=40, is_active=True))
    assert "…" in text
    assert "漢字/end  1 file" in text
    assert len(text) <= 40
    assert "1 file" in plain_text(file_text.heading(shown, "box", width=5, is_active=True))


def test_an_empty_list_says_why() -> None:
    nowhere, there = Pane(Side.SANDBOX), pane("a", side=Side.SANDBOX)
    assert _plain(file_text.empty(nowhere, "box is gone.")) == ["box is gone."]
    assert _plain(file_text.empty(nowhere, "")) == ["looking …"]
    there.set_filter(parse_filter("nothing"))
    assert _plain(file_text.empty(there, "")) == ["No file matches /nothing", "esc takes it away"]
    assert (
        _plain(file_text.empty(pane(side=Side.SANDBOX), ""))[0] == "Nothing is in this folder of the sandbox."
    )
    assert _plain(file_text.empty(pane(), ""))[0] == "Nothing is in this folder."


# In a question.


def test_a_question_names_what_it_is_about_and_counts_the_rest() -> None:
    told = _plain(file_text.named([row(str(number)) for number in range(12)]))
    assert told[-1] == "and 2 more"
    assert len(told) == 11
    assert _plain(file_text.named([row("d", "dir")])) == ["▸ d/", "Folders with all that is in them."]
    assert _plain(file_text.named_plainly(["a", "b"])) == ["  a", "  b"]
    assert _plain(file_text.named_plainly([str(number) for number in range(11)]))[-1] == "  and 1 more"


def test_what_cannot_be_used_stands_out_by_more_than_its_colour() -> None:
    spans = file_text.name(row("a", refusal="no"))
    assert spans[0].role is Role.WARNING
    assert spans[0].text == "✗ "


@pytest.mark.parametrize(
    ("is_all", "told"), [(True, "1,200 files, 2.0 KiB in all"), (False, "more than 1,200 files, 2.0 KiB")]
)
def test_how_much_a_copy_is_says_whether_that_is_all(is_all: bool, told: str) -> None:
    assert plain_text(file_text.amount(Amount(1, 1200, 2048, is_all=is_all))) == told
