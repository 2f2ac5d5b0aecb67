"""A modal screen goes once: what is typed as fast as the key that closes it takes nothing else away."""

from __future__ import annotations

from textual import events

from cloche_tui.dialogs.modal import Modal
from tests.tui.support import HostApp


class Anything(Modal[int]):
    """Goes with any key."""

    def on_key(self, event: events.Key) -> None:
        """Goes."""
        event.stop()
        self.dismiss(len(self.app.screen_stack))


async def test_two_keys_in_one_go_close_one_screen() -> None:
    host = HostApp()
    answers: list[int | None] = []
    async with host.run_test() as pilot:
        main = host.screen
        await host.push_screen(Anything())
        await host.push_screen(Anything(), answers.append)
        driver = host._driver
        assert driver is not None
        first, second = events.Key("a", "a"), events.Key("b", "b")
        top = host.screen
        top.post_message(first)
        top.post_message(second)
        await pilot.pause()
        assert host.screen_stack == [main, host.screen_stack[1]]
        assert answers == [3]
