"""What is copied, on the screen: there while there is anything to tell, and as far as it is."""

from __future__ import annotations

from cloche.transfer import Copied
from cloche_tui.model.transfers import Transfers
from cloche_tui.widgets.transfer_list import TransferList
from tests.tui.file_values import down
from tests.tui.support import HostApp, screen_text


class Host(HostApp):
    """A screen with the list alone, and a clock."""

    def __init__(self, count: int) -> None:
        self.now = 0.0
        self.transfers = Transfers()
        self.transfers.add("sb_box", "box", [down(f"f{number}") for number in range(count)])
        self.list = TransferList(self.transfers, clock=lambda: self.now)
        super().__init__(self.list)

    @property
    def is_looking(self) -> bool:
        return self.list._looking._active.is_set()

    def is_at(self, transfer: int | None) -> bool:
        return self.list.selected == transfer


async def test_without_copies_there_is_no_list() -> None:
    host = Host(0)
    async with host.run_test(size=(100, 10)) as pilot:
        host.list.show()
        await pilot.pause()
        assert screen_text(host).strip() == ""
        assert host.is_at(None)


async def test_it_is_as_high_as_what_there_is_to_tell_up_to_a_bound() -> None:
    for count, height in ((2, 3), (50, 6)):
        host = Host(count)
        async with host.run_test(size=(100, 20)) as pilot:
            host.list.show()
            await pilot.pause()
            assert host.list.table.size.height == height


async def test_how_far_a_copy_is_is_looked_at_while_anything_moves() -> None:
    host = Host(1)
    async with host.run_test(size=(120, 10)) as pilot:
        host.transfers.start(1, now=0.0)
        host.list.show()
        host.transfers.progress(1, 0, 1 << 20, "f0", now=0.0)
        host.transfers.progress(1, 1 << 19, 1 << 20, "f0", now=2.0)
        host.now = 2.0
        # One look, as the timer has it.
        host.list._look()
        await pilot.pause()
        assert "50%  0:02 left  256 KiB/s  512 KiB of 1.0 MiB" in screen_text(host)
        assert host.is_looking
        host.transfers.finish(1, Copied(1, 1 << 20, 4.0, ()))
        host.list.show()
        await pilot.pause()
        assert "✓ done" in screen_text(host)
        assert not host.is_looking


async def test_a_copy_can_be_gone_to_until_it_is_put_away() -> None:
    host = Host(3)
    async with host.run_test(size=(100, 10)) as pilot:
        host.list.show()
        host.list.table.focus()
        await pilot.press("home", "j")
        assert host.is_at(2)
        for number in (1, 2, 3):
            host.transfers.cancel(number)
        host.list.show()
        assert host.is_at(2)
        assert host.list.story() == "– given up  ↓ f1  box → /here"
        host.transfers.put_away()
        host.list.show()
        assert host.list.story() == ""
        assert host.is_at(None)
        host.list._look()
