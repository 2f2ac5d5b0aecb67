"""Why a console cannot be looked into: at a real hub on fakes, and at one that was killed."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cloche.aio import Hub
from cloche.errors import CodedError, Forbidden, LinkLost, NotFound, WrongState
from cloche_tui.feed.console_fate import why_gone
from tests.tui.sandbox_values import sandbox

KILLED = "the hub was killed; its machine was ended"
NO_CONSOLE = NotFound("no console 'con_1'; `cloche consoles --all` lists them")


def _hub(answer: Callable[[], Any]) -> Hub:
    async def show(_reference: str) -> Any:
        return SimpleNamespace(info=answer())

    return cast("Hub", SimpleNamespace(sandbox=show))


@pytest.mark.parametrize(
    ("state", "reason", "error", "said"),
    [
        ("failed", KILLED, NO_CONSOLE, f"its sandbox has failed: {KILLED}"),
        ("removed", None, WrongState("box is removed"), "its sandbox was removed"),
        ("removing", None, WrongState("box is removing"), "its sandbox is removing"),
        ("running", None, NO_CONSOLE, "this console is gone"),
        ("running", None, WrongState("it is no terminal"), "it is no terminal"),
        ("failed", KILLED, Forbidden("not yours"), "not yours"),
    ],
)
async def test_what_has_become_of_the_sandbox_is_told_first(
    state: str, reason: str | None, error: CodedError, said: str
) -> None:
    info = sandbox("box", state=state, end_reason=reason)
    assert await why_gone(_hub(lambda: info), "sb_box", error) == said


@pytest.mark.parametrize(
    ("raised", "said"),
    [(NotFound("no sandbox"), "its sandbox is gone"), (LinkLost("lost"), NO_CONSOLE.message)],
)
async def test_a_sandbox_nobody_knows_of_is_gone(raised: CodedError, said: str) -> None:
    def answer() -> Any:
        raise raised

    assert await why_gone(_hub(answer), "sb_box", NO_CONSOLE) == said
