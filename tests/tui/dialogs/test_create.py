"""The form for a new sandbox: what it asks of the hub, what it shows meanwhile, and what becomes of errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from cloche import ImageInfo, Progress, SandboxInfo
from cloche.errors import CodedError, Conflict, LinkLost
from cloche_tui.dialogs.create import CreateDialog
from cloche_tui.model.creation import CreateRequest
from tests.tui.sandbox_values import NOW, sandbox
from tests.tui.support import HostApp, screen_text


def _image(recipe: str, *, current: bool = True) -> ImageInfo:
    return ImageInfo("ab" * 32, recipe, "x86_64", "cd" * 32, 1 << 20, NOW, current)


class Hub:
    """What makes sandboxes: it waits for `go`, and does what a test wants."""

    def __init__(self) -> None:
        self.asked: list[CreateRequest] = []
        self.images_now: Sequence[ImageInfo] = (
            _image("python"),
            _image("node"),
            _image("old", current=False),
        )
        self.error: CodedError | None = None
        self.go = asyncio.Event()
        self.go.set()
        self.taken_back = 0
        self.tell: Callable[[Progress], None]

    async def make(self, request: CreateRequest, on_progress: Callable[[Progress], None]) -> SandboxInfo:
        self.asked.append(request)
        self.tell = on_progress
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.taken_back += 1
            raise
        if self.error is not None:
            raise self.error
        return sandbox(request.name or "box")

    async def images(self) -> Sequence[ImageInfo]:
        if self.error is not None:
            raise self.error
        return self.images_now


@asynccontextmanager
async def _form(
    hub: Hub, size: tuple[int, int] = (80, 24), recipe: str = ""
) -> AsyncIterator[tuple[HostApp, Pilot[None], list[SandboxInfo | None]]]:
    app, answers = HostApp(), list[SandboxInfo | None]()
    async with app.run_test(size=size) as pilot:
        await app.push_screen(CreateDialog(hub.make, hub.images, recipe=recipe), answers.append)
        await pilot.pause()
        yield app, pilot, answers


async def _press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


async def test_enter_makes_what_the_form_says_and_answers_with_it() -> None:
    hub = Hub()
    async with _form(hub) as (_, pilot, answers):
        await _press(pilot, "enter")
        assert hub.asked == [CreateRequest("python", "small")]
        assert answers == [sandbox("box")]


async def test_every_field_can_be_reached_and_typed_into() -> None:
    hub = Hub()
    async with _form(hub, recipe="node") as (_, pilot, _answers):
        await _press(pilot, "tab", "right", "tab", *"web", "tab", *"a=1", "tab", *"2h")
        await _press(pilot, "tab", *"E=1", "tab", *"S=2", "enter")
        assert hub.asked == [
            CreateRequest("node", "medium", "web", {"a": "1"}, 7200.0, {"E": "1"}, {"S": "2"})
        ]


async def test_what_there_is_to_make_it_from_is_said() -> None:
    async with _form(Hub()) as (app, _, _answers):
        assert "ready: node, python; others are built first" in screen_text(app)


async def test_without_an_image_it_says_that_one_is_built() -> None:
    hub = Hub()
    hub.images_now = ()
    async with _form(hub) as (app, _, _answers):
        assert "it is built first, in minutes" in screen_text(app)
        assert "ready:" not in screen_text(app)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_all_of_the_form_is_on_the_screen(size: tuple[int, int]) -> None:
    async with _form(Hub(), size) as (app, _, _answers):
        shown = screen_text(app)
        words = (
            "recipe",
            "[small]",
            "medium",
            "large",
            "name",
            "labels",
            "lease",
            "env",
            "secrets",
            "enter makes it",
        )
        assert [word for word in words if word not in shown] == []


async def test_a_secret_is_not_shown() -> None:
    async with _form(Hub()) as (app, pilot, _answers):
        app.screen.query_one("#secrets", Input).focus()
        await _press(pilot, *"T=hunter2")
        assert "hunter2" not in screen_text(app)


async def test_a_wrong_field_is_named_and_goes_to_nobody() -> None:
    hub = Hub()
    async with _form(hub) as (app, pilot, answers):
        lease = app.screen.query_one("#lease", Input)
        lease.focus()
        await _press(pilot, *"soon", "shift+tab", "enter")
        assert "'soon' is no duration" in screen_text(app)
        assert app.focused is lease
        assert (hub.asked, answers) == ([], [])


async def test_what_the_hub_refuses_is_said_in_the_form_and_what_was_typed_stays() -> None:
    hub = Hub()
    async with _form(hub) as (app, pilot, answers):
        hub.error = Conflict("there is a sandbox 'web' already; choose another name")
        app.screen.query_one("#name", Input).focus()
        await _press(pilot, *"web", "enter")
        assert "there is a sandbox 'web' already" in screen_text(app)
        assert app.screen.query_one("#name", Input).value == "web"
        assert answers == []
        hub.error = None
        # The focus is where it was: what is typed now is not written over another field.
        assert app.focused is app.screen.query_one("#name", Input)
        await _press(pilot, "end", "2", "enter")
        assert answers == [sandbox("web2")]


async def test_a_hub_that_cannot_list_its_images_is_no_hindrance() -> None:
    hub = Hub()
    hub.error = LinkLost("the hub is gone")
    async with _form(hub) as (app, pilot, answers):
        assert "the hub is gone" not in screen_text(app)
        hub.error = None
        await _press(pilot, "enter")
        assert answers == [sandbox("box")]


async def test_the_steps_are_shown_while_it_is_made() -> None:
    hub = Hub()
    hub.go.clear()
    async with _form(hub) as (app, pilot, answers):
        await _press(pilot, "enter")
        hub.tell(Progress("packages", "fetching [packages]", 0.25))
        hub.tell(Progress("template", "booting the template", None))
        await pilot.pause()
        shown = screen_text(app)
        for text in ("making it", " 25% fetching [packages]", "booting the template", "esc takes it back"):
            assert text in shown
        await _press(pilot, "enter")
        assert len(hub.asked) == 1
        hub.go.set()
        await pilot.pause()
        await pilot.pause()
        assert answers == [sandbox("box")]


async def test_enter_that_is_pressed_twice_at_once_makes_one() -> None:
    hub = Hub()
    hub.go.clear()
    async with _form(hub) as (app, pilot, _answers):
        field = app.screen.query_one("#recipe", Input)
        for _ in range(2):
            field.post_message(Input.Submitted(field, "python"))
        await pilot.pause()
        assert len(hub.asked) == 1


async def test_escape_while_it_is_made_takes_it_back_and_keeps_the_form() -> None:
    hub = Hub()
    hub.go.clear()
    async with _form(hub) as (app, pilot, answers):
        await _press(pilot, "enter")
        await _press(pilot, "escape")
        assert hub.taken_back == 1
        assert "taken back: no sandbox was made" in screen_text(app)
        assert answers == []
        await _press(pilot, "escape")
        assert answers == [None]
