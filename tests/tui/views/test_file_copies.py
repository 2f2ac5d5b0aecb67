"""Copies that go on whichever view is shown: begun, told when they have ended, given up."""

from __future__ import annotations

from typing import Any

import pytest

from cloche.aio import Hub
from cloche.errors import TooLarge
from cloche_tui.feed.session import NotConnected
from cloche_tui.model.transfers import MOST_UNDER_WAY, State, Transfer
from cloche_tui.views.file_copies import FileCopies
from tests.tui.file_values import down
from tests.tui.support import HostApp


def _away() -> Hub:
    raise NotConnected("the hub is away")


class Host(HostApp):
    """A screen with the copies alone, without a hub."""

    def __init__(self) -> None:
        self.drained: list[int] = []
        self.copies = FileCopies(_away, self._note)
        super().__init__(self.copies)

    def _note(self, last: Transfer) -> None:
        self.drained.append(last.id)

    @property
    def states(self) -> dict[int, State]:
        transfers = self.copies.transfers
        return {one.id: one.state for one in map(transfers.get, transfers.order) if one is not None}


async def _until_over(host: Host, pilot: Any) -> None:
    await host.workers.wait_for_complete()
    await pilot.pause()


async def test_what_has_ended_is_told_once_nothing_waits_any_more() -> None:
    host = Host()
    async with host.run_test(size=(100, 10)) as pilot:
        host.copies.begin("sb_box", "box", [down("a"), down("b")])
        await _until_over(host, pilot)
        assert host.states == {2: State.FAILED, 1: State.FAILED}
        assert host.drained == [2]


async def test_no_more_is_taken_up_than_can_be_shown() -> None:
    host = Host()
    async with host.run_test(size=(100, 10)):
        host.copies.transfers.add("sb_box", "box", [down("a")])
        host.copies.require_room(MOST_UNDER_WAY - 1)
        with pytest.raises(TooLarge, match="copy the folder they are in"):
            host.copies.require_room(MOST_UNDER_WAY)


async def test_what_is_given_up_is_what_is_shown_or_all() -> None:
    host = Host()
    async with host.run_test(size=(100, 10)) as pilot:
        # Nobody carries these out.
        host.copies.transfers.add("sb_other", "other", [down("a")])
        host.copies.transfers.add("sb_box", "box", [down("b"), down("c")])
        host.copies.give_up("sb_box")
        assert host.states[2] is State.CANCELLED
        host.copies.give_up("sb_nobody")
        assert host.states[1] is State.CANCELLED
        host.copies.give_up(None, everything=True)
        assert set(host.states.values()) == {State.CANCELLED}
        assert host.drained == [1, 3]
        host.copies.give_up(None)
        assert host.states == {}
        await pilot.pause()


async def test_a_copy_that_ends_after_the_screen_is_gone_changes_nothing() -> None:
    host = Host()
    async with host.run_test(size=(100, 10)):
        host.copies.transfers.add("sb_box", "box", [down("a")])
    host.copies.give_up("sb_box")
    assert host.drained == []
