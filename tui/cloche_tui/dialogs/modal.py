"""A screen over all others that goes once, however often it is told to."""

from __future__ import annotations

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

T = TypeVar("T")


class Modal(ModalScreen[T]):
    """A modal screen of ours."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Goes, with an answer; does nothing once it has gone.

        Textual would take away the screen below for a second key that was typed as fast as the first.
        """
        if self.is_current:
            return super().dismiss(result)
        return AwaitComplete.nothing()  # type: ignore[no-any-return, no-untyped-call]
