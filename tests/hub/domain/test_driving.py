"""Who drives a console: every move in every situation, sizes, and what is told of it."""

from __future__ import annotations

from itertools import product

import pytest

from cloche_hub.domain import driving
from cloche_hub.domain.console import MAX_VIEWERS, Console, ConsoleKind, Viewer, ViewerMode
from cloche_hub.domain.driving import RULES, AttachMode, Drives, HandOver, How, Move, Step
from cloche_hub.errors import TooLarge
from tests.hub.domain.examples import console, viewer

DRIVING = ViewerMode.DRIVING


def watched(*, by: int = 0, driver: int | None = None, **changes: object) -> Console:
    """A console with viewers v1…, one of whom drives; its size is theirs."""
    viewers = tuple(
        viewer(number, **({"mode": DRIVING} if number == driver else {})) for number in range(1, by + 1)
    )
    size = {"rows": 30, "cols": 100}
    return console(**{"viewers": viewers, "driver": driver and f"v{driver}", **size, **changes})


def test_the_table_has_every_move_in_every_situation() -> None:
    assert set(RULES) == set(product(Move, Drives))


@pytest.mark.parametrize(
    ("driver", "mode", "drives", "how"),
    [
        (None, AttachMode.DRIVE, "v3", How.FREE),
        (None, AttachMode.WATCH, None, None),
        (None, AttachMode.TAKE, "v3", How.FREE),
        (1, AttachMode.DRIVE, "v1", None),
        (1, AttachMode.WATCH, "v1", None),
        (1, AttachMode.TAKE, "v3", How.TAKEN),
    ],
)
def test_who_comes_drives_where_the_mode_says_so(
    driver: int | None, mode: AttachMode, drives: str | None, how: How | None
) -> None:
    step = driving.attach(watched(by=2, driver=driver), viewer(3), mode)
    assert step.console.driver == drives
    assert [one.id for one in step.console.viewers] == ["v1", "v2", "v3"]
    assert (step.hand_over and step.hand_over.how) == how
    assert_consistent(step.console)


def test_there_is_a_most_of_viewers() -> None:
    full = watched(by=MAX_VIEWERS)
    with pytest.raises(TooLarge, match="32 viewers"):
        driving.attach(full, viewer(99), AttachMode.WATCH)


SECOND_DRIVES = watched(by=3, driver=2)
NOBODY_DRIVES = watched(by=3)


@pytest.mark.parametrize("move", [driving.ask, driving.take])
def test_who_asks_for_what_nobody_drives_drives_it(move: object) -> None:
    step = move(NOBODY_DRIVES, "v1")  # type: ignore[operator]
    assert step == Step(watched(by=3, driver=1), HandOver(viewer(1, mode=DRIVING), None, How.FREE))
    assert step.hand_over.notice == "person 1 drives now"


@pytest.mark.parametrize("move", [driving.ask, driving.take])
def test_who_drives_already_changes_nothing(move: object) -> None:
    assert move(SECOND_DRIVES, "v2") == Step(SECOND_DRIVES)  # type: ignore[operator]


def test_who_asks_for_what_another_drives_has_the_driver_asked() -> None:
    assert driving.ask(SECOND_DRIVES, "v1") == Step(SECOND_DRIVES, asked=viewer(1))


def test_who_asks_a_driver_that_cannot_hear_it_drives() -> None:
    step = driving.ask(SECOND_DRIVES, "v1", is_driver_lost=True)
    assert step == driving.take(SECOND_DRIVES, "v1")
    # Nobody is lost who moves, and nobody who is not there.
    assert driving.ask(SECOND_DRIVES, "v2", is_driver_lost=True) == Step(SECOND_DRIVES)
    assert driving.ask(NOBODY_DRIVES, "v2", is_driver_lost=True) == driving.ask(NOBODY_DRIVES, "v2")


@pytest.mark.parametrize(
    ("token", "mode", "driver"),
    [("tok_2", AttachMode.DRIVE, "v4"), ("tok_2", AttachMode.WATCH, "v2"), ("tok_9", AttachMode.DRIVE, "v2")],
)
def test_who_comes_back_by_another_link_drives_again(token: str, mode: AttachMode, driver: str) -> None:
    step = driving.attach(SECOND_DRIVES, viewer(4, token=token), mode, is_driver_lost=True)
    assert step.console.driver == driver
    assert driving.attach(SECOND_DRIVES, viewer(4, token=token), mode).console.driver == "v2"
    assert_consistent(step.console)


def test_who_takes_drives_and_who_drove_watches() -> None:
    step = driving.take(SECOND_DRIVES, "v1")
    assert step == Step(
        watched(by=3, driver=1), HandOver(viewer(1, mode=DRIVING), viewer(2, mode=DRIVING), How.TAKEN)
    )
    assert step.hand_over is not None
    assert step.hand_over.notice == "person 1 drives now (taken)"


def test_the_driver_gives_to_whom_it_names() -> None:
    step = driving.give(SECOND_DRIVES, "v2", "v3")
    assert step == Step(
        watched(by=3, driver=3), HandOver(viewer(3, mode=DRIVING), viewer(2, mode=DRIVING), How.GIVEN)
    )


def test_to_give_to_oneself_changes_nothing() -> None:
    assert driving.give(SECOND_DRIVES, "v2", "v2") == Step(SECOND_DRIVES)


@pytest.mark.parametrize("before", [SECOND_DRIVES, NOBODY_DRIVES])
def test_only_the_driver_gives(before: Console) -> None:
    step = driving.give(before, "v1", "v3")
    assert (step.console, step.hand_over) == (before, None)
    assert step.refusal is not None
    assert "you do not drive" in step.refusal


def test_nobody_can_be_given_to_who_is_not_there() -> None:
    step = driving.give(SECOND_DRIVES, "v2", "v9")
    assert step == Step(SECOND_DRIVES, refusal="whom you want to drive is not here any more")


@pytest.mark.parametrize(("leaver", "driver"), [("v1", "v2"), ("v2", None), ("v9", "v2")])
def test_nobody_drives_when_the_driver_has_left(leaver: str, driver: str | None) -> None:
    step = driving.detach(SECOND_DRIVES, leaver)
    assert step == Step(step.console)
    assert step.console.driver == driver
    assert leaver not in [one.id for one in step.console.viewers]
    assert (step.console.rows, step.console.cols) == (30, 100)


def test_the_drivers_size_is_the_consoles() -> None:
    step = driving.resize(SECOND_DRIVES, "v2", rows=50, cols=20)
    assert (step.console.rows, step.console.cols, step.is_resized) == (50, 20, True)
    assert driving.resize(step.console, "v2", rows=50, cols=20) == Step(step.console)


def test_a_watchers_size_is_its_own() -> None:
    step = driving.resize(SECOND_DRIVES, "v1", rows=50, cols=20)
    assert (step.console.rows, step.console.cols, step.is_resized) == (30, 100, False)
    assert (step.console.viewer("v1"), step.console.driver) == (viewer(1, rows=50, cols=20), "v2")
    taken = driving.take(step.console, "v1")
    assert (taken.console.rows, taken.console.cols, taken.is_resized) == (50, 20, True)


BOOT = watched(by=1, kind=ConsoleKind.BOOT)


@pytest.mark.parametrize("mode", list(AttachMode))
def test_who_comes_to_a_boot_console_watches(mode: AttachMode) -> None:
    assert driving.attach(BOOT, viewer(2), mode) == Step(watched(by=2, kind=ConsoleKind.BOOT))


def test_nobody_drives_a_boot_console() -> None:
    for step in (driving.ask(BOOT, "v1"), driving.take(BOOT, "v1"), driving.give(BOOT, "v1", "v1")):
        assert step == Step(BOOT, refusal="a boot console can be watched only")


def assert_consistent(after: Console) -> None:
    """The mode of each viewer says what `driver` says."""
    driving_ones = [one.id for one in after.viewers if one.mode is DRIVING]
    assert driving_ones == ([] if after.driver is None else [after.driver])


def test_modes_and_driver_agree_whatever_happens() -> None:
    def moves(before: Console, mover: Viewer) -> list[Step]:
        return [
            driving.ask(before, mover.id),
            driving.take(before, mover.id),
            *(driving.give(before, mover.id, to.id) for to in before.viewers),
            driving.detach(before, mover.id),
            driving.resize(before, mover.id, rows=1, cols=1),
        ]

    level = [NOBODY_DRIVES]
    for _ in range(3):
        steps = [step for before in level for mover in before.viewers for step in moves(before, mover)]
        for step in steps:
            assert_consistent(step.console)
            if (driver := step.console.viewer(step.console.driver)) is not None:
                assert (driver.rows, driver.cols) == (step.console.rows, step.console.cols)
        level = list({repr(step.console): step.console for step in steps}.values())
