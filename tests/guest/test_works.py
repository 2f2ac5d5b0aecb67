"""Work under way, by channel."""

from __future__ import annotations

from cloche_guest.works import Works


class _Work:
    def received(self, stream: int, data: bytes) -> None: ...
    def ended(self, stream: int) -> None: ...
    def acknowledged(self, stream: int) -> None: ...
    def kill(self) -> None: ...


def test_work_is_found_by_its_channel_until_it_is_over() -> None:
    works, work = Works(), _Work()
    works.add(7, work)

    assert works.on(7) is work
    assert works.on(8) is None

    works.remove(7)
    works.remove(7)
    assert works.on(7) is None
