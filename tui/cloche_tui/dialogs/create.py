"""The form for a new sandbox: what it is to be, then the steps of its making, then the sandbox.

Rules:
- What is wrong is said in the form, and what was typed stays.
- While the sandbox is made, escape takes the request back: none is left behind.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

from textual import on
from textual.containers import Horizontal, Vertical
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Button, Input, Label, Static
from textual.worker import Worker

from cloche import ImageInfo, Progress, SandboxInfo
from cloche.errors import CodedError
from cloche_tui.dialogs.dialog import Dialog
from cloche_tui.model.creation import FLAVORS, CreateRequest, FieldWrong, read_form
from cloche_tui.model.roles import Line, Role, Span, line
from cloche_tui.widgets.choice import Choice
from cloche_tui.widgets.styles import text_of

Make: TypeAlias = Callable[[CreateRequest, Callable[[Progress], None]], Awaitable[SandboxInfo]]
"""Has the hub make a sandbox, and tells its steps on the way."""

_SHOWN_STEPS = 4
_FIELDS = (
    ("name", "made up if you give none"),
    ("labels", "team=blue tier=web"),
    ("lease", "how long after its last use: 90s, 10m, 2h, 1d"),
    ("env", "NAME=VALUE, or NAME to pass on your own"),
    ("secrets", "as env, but kept out of recordings"),
)
_KEYS = "enter makes it · tab goes on · esc leaves"
_KEYS_WHILE_MADE = "esc takes it back: no sandbox is left behind"


class CreateDialog(Dialog[SandboxInfo]):
    """Asks what a sandbox is to be, has it made, and answers with it.

    Args:
        make: makes it.
        images: lists what there is to make it from; the newest first.
        recipe: what stands in the form at first.
    """

    DEFAULT_CSS = """
    CreateDialog .row { height: 1; }
    CreateDialog .row Label { width: 10; }
    CreateDialog .row Input { width: 1fr; }
    CreateDialog #images { height: auto; padding-left: 10; }
    CreateDialog .buttons { height: 1; margin-top: 1; }
    CreateDialog .buttons Button { margin-right: 2; }
    CreateDialog #steps { height: auto; margin-top: 1; display: none; }
    CreateDialog.-making #steps { display: block; }
    """
    heading = "A new sandbox"
    keys = _KEYS

    def __init__(
        self, make: Make, images: Callable[[], Awaitable[Sequence[ImageInfo]]], *, recipe: str = ""
    ) -> None:
        super().__init__()
        self._make, self._images = make, images
        self._recipe = recipe or "python"
        self._hint = Static(id="images", markup=False)
        self._steps: deque[Line] = deque(maxlen=_SHOWN_STEPS)
        self._making: Worker[None] | None = None
        self._left: Widget | None = None
        """Where the focus was when it was sent, to go back there."""

    def compose_body(self) -> Iterable[Widget]:
        """The form, and below it the steps."""
        with Horizontal(classes="row"):
            yield Label("recipe")
            yield Input(self._recipe, id="recipe", compact=True)
        yield self._hint
        with Horizontal(classes="row"):
            yield Label("flavor")
            yield Choice(FLAVORS, id="flavor")
        for name, hint in _FIELDS:
            with Horizontal(classes="row"):
                yield Label(name)
                yield Input(placeholder=hint, id=name, password=name == "secrets", compact=True)
        with Horizontal(classes="buttons"):
            yield Button("Create", id="create", variant="primary", compact=True)
            yield Button("Leave", id="leave", compact=True)
        with Vertical(id="steps"):
            yield Static(id="step_lines", markup=False)

    def on_mount(self) -> None:
        """Ready to type, while what there is is looked up."""
        super().on_mount()
        self.query_one("#recipe").focus()
        self.run_worker(self._look_up_images(), group="images")

    async def _look_up_images(self) -> None:
        try:
            names = sorted({image.recipe for image in await self._images() if image.current})
        except CodedError:
            # Only a hint: the hub says what is wrong when the sandbox is made.
            return
        if not self._hint.is_attached:
            # The form was left meanwhile.
            return
        self.query_one("#recipe", Input).suggester = SuggestFromList(names)
        known = f"ready: {', '.join(names)}; others are built first" if names else "it is built first"
        hint = line(Span(f"{known}, in minutes", Role.MUTED))
        self._hint.update(text_of(self.app, hint))

    # The request.

    @property
    def is_making(self) -> bool:
        """Whether the hub has been asked and has not answered yet."""
        return self._making is not None

    @on(Input.Submitted)
    @on(Button.Pressed, "#create")
    def _create(self) -> None:
        if self.is_making:
            return
        try:
            request = read_form(self._typed(), os.environ)
        except FieldWrong as wrong:
            self.say(wrong.message, Role.BAD)
            self.query_one(f"#{wrong.field}").focus()
            return
        self._steps.clear()
        self._show_making(is_making=True)
        self._making = self.run_worker(self._made(request), group="make")

    def _typed(self) -> dict[str, str]:
        typed = {field.id or "": field.value for field in self.query(Input)}
        return typed | {"flavor": self.query_one(Choice).value}

    async def _made(self, request: CreateRequest) -> None:
        try:
            info = await self._make(request, self._progress)
        except CodedError as error:
            self._making = None
            self._show_making(is_making=False)
            self.say(error.message, Role.BAD)
        else:
            self.dismiss(info)

    def _progress(self, step: Progress) -> None:
        share = "" if step.fraction is None else f"{step.fraction:4.0%} "
        self._steps.append(line(Span(share, Role.ACCENT), step.message))
        self._show_steps()

    def _show_steps(self) -> None:
        self.query_one("#step_lines", Static).update(text_of(self.app, *self._steps))

    def _show_making(self, *, is_making: bool) -> None:
        if is_making:
            self._left = self.focused if isinstance(self.focused, Input) else None
        self.set_class(is_making, "-making")
        for field in (*self.query(Input), self.query_one(Choice), self.query_one("#create")):
            field.disabled = is_making
        self._show_steps()
        self.say("making it …" if is_making else "", Role.ACCENT)
        self.show_keys(_KEYS_WHILE_MADE if is_making else _KEYS)
        # Enter that is pressed twice is to take nothing back.
        self.set_focus(None if is_making else self._left or self.query_one("#recipe"))

    @on(Button.Pressed, "#leave")
    def action_leave(self) -> None:
        """Takes the request back, or leaves."""
        if self._making is None:
            self.dismiss(None)
            return
        self._making.cancel()
        self._making = None
        self._show_making(is_making=False)
        self.say("taken back: no sandbox was made", Role.WARNING)
