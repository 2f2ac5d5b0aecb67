"""Filters are kept for each view as they were typed, and taken up again where they still are filters."""

from __future__ import annotations

from pathlib import Path

from cloche.filters import Filter
from cloche_tui.kept_filters import KeptFilters
from cloche_tui.remembered import Remembered


class View:
    """Notes what it is filtered by."""

    def __init__(self, view_id: str) -> None:
        self.id = view_id
        self.filters: list[Filter | None] = []

    def set_filter(self, wanted: Filter | None) -> None:
        """Notes it."""
        self.filters.append(wanted)


class Never:
    """What is never done."""

    def cancel(self) -> None:
        """It was not going to happen."""


def _kept(folder: Path) -> KeptFilters:
    return KeptFilters(Remembered(folder / "remembered.json", later=lambda _seconds, _action: Never()))


def test_each_view_has_its_own(tmp_path: Path) -> None:
    kept = _kept(tmp_path)
    one, other = View("audit"), View("files")
    kept.keep(one, "web")  # type: ignore[arg-type]
    assert kept.of(one) == "web"  # type: ignore[arg-type]
    assert kept.of(other) == ""  # type: ignore[arg-type]


def test_what_is_no_filter_any_more_is_left_out(tmp_path: Path) -> None:
    kept = _kept(tmp_path)
    right, wrong, none = View("audit"), View("files"), View("sandboxes")
    kept.keep(right, "web")  # type: ignore[arg-type]
    kept.keep(wrong, "re:(")  # type: ignore[arg-type]
    kept.take_up([right, wrong, none])  # type: ignore[list-item]
    assert [len(view.filters) for view in (right, wrong, none)] == [1, 0, 0]
