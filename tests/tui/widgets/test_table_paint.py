"""How rows become strips: once each, in their roles, and as wide as the table."""

from __future__ import annotations

from rich.style import Style

from cloche_tui.model.roles import Role, Span, line
from cloche_tui.widgets.columns import Column
from cloche_tui.widgets.table_paint import Painter, TableRow

COLUMNS = (Column("name", "NAME", 6), Column("cpu", "CPU", 5, is_right=True))
STYLES = {
    role: Style(bold=True) if role is Role.BAD else Style(reverse=True) if role is Role.SELECTED else Style()
    for role in Role
}


def _painter(width: int = 12) -> Painter:
    painter = Painter(COLUMNS)
    painter.use(width, Style(color="red"), STYLES)
    return painter


def _row(cpu: str = "3%", *, is_marked: bool = False) -> TableRow:
    return TableRow("a", {"name": line("box", Span("!", Role.BAD)), "cpu": line(cpu)}, is_marked=is_marked)


def test_a_row_has_its_cells_in_their_columns() -> None:
    assert _painter().row(_row(), ()).text == "box!      3%"


def test_a_wider_table_is_filled_up_and_a_narrower_one_cut() -> None:
    assert _painter(20).row(_row(), ()).text == "box!      3%        "
    assert _painter(8).row(_row(), ()).text == "box!    "


def test_a_cell_that_is_not_there_is_blank() -> None:
    assert _painter().row(TableRow("a", {"cpu": line("3%")}), ()).text == "          3%"


def test_roles_lie_one_on_the_other() -> None:
    strip = _painter().row(_row(), (Role.SELECTED,))
    styles = {segment.text: segment.style for segment in strip}
    assert styles["box"] == Style(color="red", reverse=True)
    assert styles["!"] == Style(color="red", reverse=True, bold=True)


def test_a_row_that_looks_as_it_did_gives_the_strip_it_gave() -> None:
    painter = _painter()
    strip = painter.row(_row(), ())
    assert painter.row(_row(), ()) is strip
    assert painter.row(_row(), (Role.SELECTED,)) is not strip
    assert painter.row(_row("4%"), ()).text == "box!      4%"
    assert painter.row(_row(is_marked=True), ()) is not strip


def test_nothing_is_kept_of_another_width_or_other_styles() -> None:
    painter = _painter()
    strip = painter.row(_row(), ())
    painter.use(12, Style(color="red"), STYLES)
    assert painter.row(_row(), ()) is strip
    painter.use(12, Style(color="blue"), STYLES)
    blue = painter.row(_row(), ())
    assert blue is not strip
    painter.use(12, Style(color="blue"), dict(STYLES))
    assert painter.row(_row(), ()) is not blue


def test_only_so_many_rows_are_kept() -> None:
    painter = _painter()
    strip = painter.row(_row(), ())
    for number in range(500):
        painter.row(TableRow(str(number), {}), ())
    assert painter.row(_row(), ()) is not strip


def test_the_heading_shows_the_column_that_the_rows_are_sorted_by() -> None:
    painter = _painter()
    assert painter.heading(None).text == "NAME     CPU"
    assert painter.heading(("cpu", True)).text == "NAME   CPU ▼"
    assert painter.heading(("name", False)).text == "NAME ▲   CPU"


def test_a_text_stands_in_the_place_of_rows_cut_where_it_is_too_long() -> None:
    assert _painter().text(line("press n")).text == "  press n   "
    assert _painter().text(line("there is nothing")).text == "  there is …"


def test_a_place_belongs_to_a_column_and_the_gap_behind_it() -> None:
    painter = _painter(20)
    assert [painter.column_at(x) for x in (0, 6, 7, 12, 13)] == ["name", "name", "cpu", "cpu", None]
