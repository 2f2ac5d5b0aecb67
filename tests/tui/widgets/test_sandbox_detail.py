"""The selected sandbox in detail: one line where there is little room, several and two courses where there is more."""

from __future__ import annotations

from cloche_tui.model.sandbox_rows import Row
from cloche_tui.widgets.sandbox_detail import SandboxDetail
from tests.tui.sandbox_values import NOW, sandbox, usage
from tests.tui.support import HostApp, screen_text

ROW = Row(sandbox(labels={"team": "blue"}), usage(cpu=37.0), (10.0, 37.0), (1.0, 2.0))


def _host(height: int) -> tuple[HostApp, SandboxDetail]:
    detail = SandboxDetail()
    return HostApp(detail, css=f"SandboxDetail {{ height: {height}; }}"), detail


async def test_where_there_is_little_room_one_line_says_it_all() -> None:
    app, detail = _host(1)
    async with app.run_test(size=(200, 4)) as pilot:
        detail.show(ROW, NOW)
        await pilot.pause()
        first, *others = screen_text(app).splitlines()
        assert first.startswith(
            " box  ● running   id sb_box   recipe python/small   on tcg   owner ann   expires in"
        )
        assert "labels team=blue" in first
        assert not any(others)


async def test_what_does_not_fit_is_cut_and_stays_on_its_line() -> None:
    app, detail = _host(1)
    async with app.run_test(size=(40, 4)) as pilot:
        detail.show(ROW, NOW)
        await pilot.pause()
        assert screen_text(app).splitlines()[0].endswith("…")


async def test_with_more_room_it_has_several_lines_and_the_course_of_what_it_costs() -> None:
    app, detail = _host(6)
    async with app.run_test(size=(120, 8)) as pilot:
        detail.show(ROW, NOW)
        await pilot.pause()
        shown = screen_text(app).splitlines()
        assert shown[0].startswith(" box  ● running")
        assert "CPU 37%" in shown[0]
        assert "memory 64 MiB" in shown[0]
        assert "█" in shown[5]
        assert shown[4].startswith(" labels team=blue")


async def test_with_several_lines_and_little_width_there_are_no_courses() -> None:
    app, detail = _host(6)
    async with app.run_test(size=(80, 8)) as pilot:
        detail.show(ROW, NOW)
        await pilot.pause()
        assert "CPU 37%" not in screen_text(app)
        await pilot.resize_terminal(120, 8)
        await pilot.pause()
        assert "CPU 37%" in screen_text(app)


async def test_nothing_selected_shows_nothing() -> None:
    app, detail = _host(6)
    async with app.run_test(size=(120, 8)) as pilot:
        detail.show(ROW, NOW)
        detail.show(None, NOW)
        await pilot.pause()
        assert "box" not in screen_text(app)
        assert "CPU –" in screen_text(app)
