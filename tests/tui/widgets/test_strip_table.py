"""The table: what is selected stays selected, only what is on the screen is asked for, only what changed is painted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.containers import Container
from textual.events import MouseScrollDown
from textual.message import Message
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Button

from cloche_tui.model.roles import Role, line
from cloche_tui.widgets.strip_table import Column, StripTable, TableRow
from cloche_tui.widgets.styles import style_of

COLUMNS = (
    Column("name", "NAME", 8, most=20),
    Column("value", "VALUE", 6, is_right=True),
    Column("more", "MORE", 30, rank=1),
)
SIZE = (40, 11)
"""Ten rows below the heading."""


def _line(name: str, value: str = "0") -> str:
    return f"{name:<20} {value:>6}"


HEADING = _line("NAME", "VALUE")


class Rows:
    """Rows that a test changes; `None` values are not here yet."""

    def __init__(self, count: int) -> None:
        self.keys = [f"r{number}" for number in range(count)]
        self.values: dict[str, str | None] = {}
        self.marked: set[str] = set()
        self.asked: list[int] = []

    def __len__(self) -> int:
        return len(self.keys)

    def row(self, index: int) -> TableRow | str:
        self.asked.append(index)
        key = self.keys[index]
        value = self.values.get(key, "0")
        if value is None:
            return key
        return TableRow(key, {"name": line(key), "value": line(value)}, is_marked=key in self.marked)

    def index_of(self, key: str) -> int | None:
        return self.keys.index(key) if key in self.keys else None


class Millions:
    """A million rows, none of which exists before it is asked for."""

    asked = 0

    def __len__(self) -> int:
        return 1_000_000

    def row(self, index: int) -> TableRow:
        self.asked += 1
        return TableRow(str(index), {"name": line(f"event {index}")})

    def index_of(self, key: str) -> int:
        return int(key)


class Host(App[None]):
    """A screen with the table alone."""

    def __init__(self, source: Rows | Millions) -> None:
        super().__init__()
        self.selected: list[str] = []
        self.table = StripTable(
            COLUMNS, source, on_select=self.selected.append, empty=(line("no rows"), line("make one: n"))
        )
        self.heard: list[Message] = []
        self.painted = 0

    def compose(self) -> ComposeResult:
        with Container() as self.hidden_part:
            yield self.table

    def on_strip_table_entered(self, message: StripTable.Entered) -> None:
        self.heard.append(message)

    def on_strip_table_heading_clicked(self, message: StripTable.HeadingClicked) -> None:
        self.heard.append(message)

    def on_strip_table_cell_clicked(self, message: StripTable.CellClicked) -> None:
        self.heard.append(message)

    def on_strip_table_viewed(self, message: StripTable.Viewed) -> None:
        self.heard.append(message)

    def note_painted_lines(self) -> list[int]:
        """The lines that are painted from now on."""
        lines: list[int] = []
        paint = self.table.render_line

        def noted(y: int) -> Strip:
            lines.append(y)
            return paint(y)

        self.table.render_line = noted  # type: ignore[method-assign]
        return lines

    def shown_columns(self) -> list[str]:
        """The columns there is room for."""
        return list(self.table.shown_columns)

    def screen_text(self) -> list[str]:
        """The lines of the table, as they were painted."""
        return [self.table.render_line(y).text.rstrip() for y in range(self.table.size.height)]

    def last(self, kind: type[Message]) -> Message | None:
        """The newest message of a kind."""
        return next((message for message in reversed(self.heard) if isinstance(message, kind)), None)


@asynccontextmanager
async def _shown(source: Rows | Millions) -> AsyncIterator[tuple[Host, Pilot[None]]]:
    app = Host(source)
    async with app.run_test(size=SIZE) as pilot:
        app.table.focus()
        app.table.update()
        await pilot.pause()
        yield app, pilot


async def _press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


async def test_rows_stand_below_their_headings() -> None:
    async with _shown(Rows(2)) as (app, _):
        assert app.screen_text()[:4] == [
            HEADING,
            _line("r0"),
            _line("r1"),
            "",
        ]


async def test_a_table_without_rows_says_what_to_do() -> None:
    source = Rows(0)
    async with _shown(source) as (app, pilot):
        assert app.screen_text()[:4] == [HEADING, "", "  no rows", "  make one: n"]
        app.table.show_empty([line("nothing matches")])
        await pilot.pause()
        assert app.screen_text()[2:4] == ["  nothing matches", ""]
        await _press(pilot, "down", "end", "home")
        assert app.selected == []
        source.keys = ["a"]
        app.table.update()
        assert app.screen_text()[1:3] == [_line("a"), ""]


async def test_a_wider_screen_shows_more_columns() -> None:
    async with _shown(Rows(1)) as (app, pilot):
        assert app.shown_columns() == ["name", "value"]
        await pilot.resize_terminal(80, 11)
        await pilot.pause()
        assert app.shown_columns() == ["name", "value", "more"]


async def test_keys_select_and_tell_it_at_once() -> None:
    async with _shown(Rows(50)) as (app, pilot):
        await _press(pilot, "down", "down", "j", "k")
        assert app.selected == ["r0", "r1", "r2", "r1"]
        await _press(pilot, "pagedown")
        assert app.table.selected_key == "r10"
        await _press(pilot, "end")
        assert app.table.selected_key == "r49"
        assert app.table.is_at_end
        await _press(pilot, "down", "pageup", "home", "up")
        assert app.selected[-4:] == ["r49", "r40", "r0", "r0"]
        assert app.table.visible_rows == range(10)


async def test_what_is_selected_is_always_on_the_screen() -> None:
    async with _shown(Rows(50)) as (app, pilot):
        app.table.select("r30")
        await pilot.pause()
        assert app.table.visible_rows == range(21, 31)
        assert app.screen_text()[10].startswith("r30")
        app.table.select("r5")
        await pilot.pause()
        assert app.table.visible_rows == range(5, 15)
        assert app.selected == []


async def test_the_selection_goes_with_its_row_and_not_with_its_place() -> None:
    source = Rows(50)
    async with _shown(source) as (app, pilot):
        app.table.select("r3")
        source.keys.remove("r3")
        source.keys.insert(30, "r3")
        app.table.update()
        await pilot.pause()
        assert app.table.selected_key == "r3"
        assert 30 in app.table.visible_rows
        await _press(pilot, "down")
        assert app.table.selected_key == source.keys[31]


async def test_rows_that_move_take_nobody_away_from_what_he_looks_at() -> None:
    source = Rows(50)
    async with _shown(source) as (app, pilot):
        app.table.select("r3")
        app.table.scroll_to(y=20, animate=False)
        await pilot.pause()
        source.keys.insert(0, "new")
        app.table.update()
        await pilot.pause()
        assert app.table.visible_rows == range(20, 30)


async def test_an_update_can_select_another_row() -> None:
    source = Rows(50)
    async with _shown(source) as (app, _):
        app.table.select("r9")
        source.keys.remove("r9")
        app.table.update(select="r10")
        assert app.table.selected_key == "r10"
        app.table.select(None)
        assert app.table.selected_key is None


async def test_only_lines_that_look_different_are_painted_again() -> None:
    source = Rows(50)
    async with _shown(source) as (app, pilot):
        before = [app.table.render_line(y) for y in range(1, 11)]
        source.values["r4"] = "9"
        source.values["r40"] = "9"
        app.table.update()
        await pilot.pause()
        after = [app.table.render_line(y) for y in range(1, 11)]
        assert [y for y, (old, new) in enumerate(zip(before, after, strict=True)) if old is not new] == [4]
        assert app.screen_text()[5] == _line("r4", "9")


async def test_a_change_is_on_the_screen_and_costs_its_line_only() -> None:
    source = Rows(50)
    async with _shown(source) as (app, pilot):
        asked = app.note_painted_lines()
        source.values["r4"] = "9"
        app.table.update()
        await pilot.pause()
        assert asked == [5]
        asked.clear()
        app.table.update()
        await pilot.pause()
        assert asked == []


async def test_a_million_rows_cost_what_is_on_the_screen() -> None:
    source = Millions()
    async with _shown(source) as (app, pilot):
        await _press(pilot, "end")
        assert app.screen_text()[10].startswith("event 999999")
        await _press(pilot, "pageup")
        app.table.scroll_to(y=500_000, animate=False)
        await pilot.pause()
        assert app.screen_text()[1].startswith("event 500000")
        assert source.asked < 100


async def test_a_row_that_is_not_here_yet_is_selected_when_it_is() -> None:
    source = Rows(50)
    source.values |= {"r48": None, "r49": None}
    async with _shown(source) as (app, pilot):
        await _press(pilot, "home", "end")
        assert app.screen_text()[9:11] == ["  …", "  …"]
        assert app.selected == ["r0"]
        await _press(pilot, "up")
        source.values.clear()
        app.table.update()
        assert app.selected == ["r0", "r48"]
        app.table.update()
        assert app.selected == ["r0", "r48"]


async def test_it_tells_which_rows_are_on_the_screen() -> None:
    source = Rows(12)
    async with _shown(source) as (app, pilot):
        assert app.last(StripTable.Viewed) == StripTable.Viewed(0, 10, False)
        app.table.scroll_to(y=2, animate=False)
        await pilot.pause()
        assert app.last(StripTable.Viewed) == StripTable.Viewed(2, 10, True)
        source.keys.append("new")
        app.table.update()
        await pilot.pause()
        assert app.last(StripTable.Viewed) == StripTable.Viewed(2, 10, False)


async def test_a_list_that_becomes_short_is_scrolled_back() -> None:
    source = Rows(50)
    async with _shown(source) as (app, pilot):
        await _press(pilot, "end")
        source.keys = source.keys[:5]
        app.table.update()
        await pilot.pause()
        assert app.screen_text()[1:7] == [*(_line(f"r{number}") for number in range(5)), ""]


async def test_a_click_selects_and_a_second_one_enters() -> None:
    async with _shown(Rows(50)) as (app, pilot):
        await pilot.click(app.table, offset=(22, 3))
        await pilot.pause()
        assert app.selected == ["r2"]
        assert app.last(StripTable.CellClicked) == StripTable.CellClicked("r2", "value")
        await pilot.click(app.table, offset=(22, 3), times=2)
        await pilot.pause()
        assert app.last(StripTable.Entered) == StripTable.Entered("r2")


async def test_a_click_on_a_heading_asks_for_a_sort_and_one_below_the_rows_for_nothing() -> None:
    async with _shown(Rows(2)) as (app, pilot):
        await pilot.click(app.table, offset=(22, 0))
        await pilot.click(app.table, offset=(38, 0))
        await pilot.click(app.table, offset=(3, 8))
        await pilot.pause()
        kinds = [message for message in app.heard if not isinstance(message, StripTable.Viewed)]
        assert kinds == [StripTable.HeadingClicked("value")]
        app.table.show_sort("value", is_descending=True)
        assert app.screen_text()[0] == _line("NAME", "VALU ▼")


async def test_the_wheel_scrolls_and_leaves_the_selection_alone() -> None:
    async with _shown(Rows(50)) as (app, pilot):
        app.table.select("r1")
        await pilot._post_mouse_events([MouseScrollDown], app.table)
        await pilot.pause()
        assert app.table.visible_rows.start > 0
        assert app.table.selected_key == "r1"


async def test_a_selected_row_stands_out_and_more_so_with_the_focus() -> None:
    async with _shown(Rows(3)) as (app, pilot):
        app.table.select("r1")
        await pilot.pause()

        def background() -> object:
            style = next(iter(app.table.render_line(2))).style
            assert style is not None
            return style.bgcolor

        assert background() == style_of(app, Role.SELECTED).bgcolor
        await app.mount(Button())
        app.query_one(Button).focus()
        await pilot.pause()
        assert background() == style_of(app, Role.HEADING).bgcolor


async def test_a_marked_row_stands_out() -> None:
    source = Rows(3)
    async with _shown(source) as (app, _):
        source.marked = {"r2"}
        app.table.update()
        style = next(iter(app.table.render_line(3))).style
        assert style is not None
        assert style.bgcolor == style_of(app, Role.MARKED).bgcolor


async def test_what_changed_while_it_was_hidden_is_there_when_it_is_shown() -> None:
    source = Rows(3)
    async with _shown(source) as (app, pilot):
        app.hidden_part.display = False
        await pilot.pause()
        source.values["r0"] = "7"
        app.table.update()
        await pilot.pause()
        asked = app.note_painted_lines()
        app.hidden_part.display = True
        await pilot.pause()
        assert 1 in asked
        assert app.screen_text()[1] == _line("r0", "7")


async def test_another_theme_paints_everything_in_its_colours() -> None:
    async with _shown(Rows(3)) as (app, pilot):
        app.table.select("r1")
        app.theme = "nord"
        await pilot.pause()
        await pilot.pause()
        plain, selected = (next(iter(app.table.render_line(y))).style for y in (1, 2))
        assert plain == app.table.rich_style
        assert selected == app.table.rich_style + style_of(app, Role.SELECTED)
