"""A console of a sandbox while a program is attached to it: what it shows, what is typed, its screen, its end.

Rules:
- The console goes on whoever looks at it. Who reads too slowly misses output, and gets the screen as it is instead.
- The keys of one viewer reach the program: the driver's. The console has the driver's size.
- `until`, `look` and `screen` ask the hub's own terminal, whatever is read here meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cloche.aio.console_feed import ConsoleFeed
from cloche.answers import Answer
from cloche.console_events import ConsoleEvent, Output, after
from cloche.console_messages import LONGEST_SIDE, MOST_CELLS, ConsoleInfo
from cloche.errors import (
    BadRequest,
    Cancelled,
    CodedError,
    InternalError,
    LinkLost,
    NotFound,
    TimedOut,
    WrongState,
)
from cloche.messages import ExitStatus
from cloche.screen_search import Old, not_shown, pattern_of, search
from cloche.screens import Screen
from cloche.signals import signal_name
from cloche_wire.aio.bounds import within

if TYPE_CHECKING:
    from cloche.link import Link
    from cloche_wire.aio import Channel

_KEYS = 1
"""The stream of what is typed."""
_MOST_SCREEN_BYTES = 16 << 20
"""Of one told screen: a thousand rows of a thousand characters, some of several code points."""


class Console:
    """A console that is attached to. A context manager: leaving it detaches, and closes it if it was made so.

    Made by `Sandbox.console` and `Sandbox.attach`. Iterating yields what the terminal shows, as bytes as they come, to
    the end. Read here, by `read` or by `events`, not in two of these ways at once.
    """

    def __init__(self, link: Link, channel: Channel, accepted: dict[str, Any], *, closes: bool) -> None:
        read = Answer("console", accepted)
        self._info, self._viewer = ConsoleInfo.parse(read.of_type("console", dict)), read.text("viewer")
        self._link, self._channel, self._closes = link, channel, closes
        self._feed = ConsoleFeed(channel, self._note)
        self._old = Old()
        self._screen: Screen | None = None

    def __repr__(self) -> str:
        return f"<Console {self._info.sandbox_name}/{self.name} ({self.id}), {self._info.state}>"

    @property
    def id(self) -> str:
        """Its id, such as `con_…`."""
        return self._info.id

    @property
    def name(self) -> str:
        """Its name, unique among the open ones of its sandbox."""
        return self._info.name

    @property
    def info(self) -> ConsoleInfo:
        """What is known of it, as of what has been read: its size, who is attached, who drives.

        Who drives is known from `until` and `look`, too.
        """
        return self._info

    @property
    def viewer(self) -> str:
        """Who we are among those who are attached, such as `v1`."""
        return self._viewer

    @property
    def is_driving(self) -> bool:
        """Whether what is typed here reaches the program, as of what has been read, or was last seen on the screen."""
        return self._info.driver == self._viewer

    # What it shows, as it comes.

    async def events(self) -> AsyncIterator[ConsoleEvent]:
        """All that happens, in order, to the end: `cloche.console_events` says what there is.

        Raises:
            CodedError: the attachment was lost; the console may go on.
        """
        while (event := await self._feed.next()) is not None:
            yield event

    async def read(self) -> bytes:
        """What the terminal shows next; empty at the end. Cancelling loses nothing.

        It begins with what makes the screen. Who falls behind gets what makes the screen anew.

        Raises:
            CodedError: the attachment was lost; the console may go on.
        """
        while (event := await self._feed.next()) is not None:
            if isinstance(event, Output) and event.data:
                return event.data
        return b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await self.read():
            yield piece

    # What it is told.

    async def write(self, data: bytes | str) -> None:
        """Types: sends bytes as a keyboard would, waiting until there is room. Cancelling may leave a part sent.

        Raises:
            WrongState: its program has ended, or somebody else drives.
            CodedError: the attachment was lost.
        """
        if not self.is_driving and not await self._drives_now():
            raise WrongState("you are watching, so what you type goes nowhere: ask to drive, or take over")
        try:
            await self._channel.write(_KEYS, data.encode() if isinstance(data, str) else data)
        except LinkLost:
            await self._channel.result()  # raises what happened, unless the program has simply ended
            raise WrongState("the program in the console has ended and reads no more") from None

    async def resize(self, rows: int, cols: int) -> None:
        """Tells the size of our window; of who drives, it becomes the console's. Does nothing if it has ended.

        Args:
            rows, cols: 1 to 1000, and 50,000 cells at most.

        Raises:
            BadRequest: that is no size.
        """
        if not (1 <= rows <= LONGEST_SIDE and 1 <= cols <= LONGEST_SIDE and rows * cols <= MOST_CELLS):
            raise BadRequest(
                f"no console has {rows} rows and {cols} columns: each is 1 to {LONGEST_SIDE}, and "
                f"there are {MOST_CELLS} cells at most"
            )
        await self._tell({"resize": {"rows": rows, "cols": cols}})

    async def signal(self, signal: str | int) -> None:
        """Sends a signal to everything in the console: "TERM", `signal.SIGTERM` or a Linux number.

        Does nothing if it has ended, or of who does not drive.

        Raises:
            BadRequest: there is no such signal.
        """
        await self._tell({"signal": signal_name(signal)})

    async def ask(self) -> None:
        """Asks whoever drives to let us drive; who asks when nobody drives does from then on."""
        await self._tell({"ask": True})

    async def give(self, viewer: str) -> None:
        """Lets another viewer drive, if we do.

        Args:
            viewer: its id, such as `v2`; `info.viewers` and the event `Asked` have them.

        Raises:
            BadRequest: that is no viewer's id.
        """
        if not isinstance(viewer, str) or not viewer:
            raise BadRequest(f"{viewer!r} is no viewer's id: those look like 'v2'")
        await self._tell({"give": viewer})

    async def take(self) -> None:
        """Drives from now on, whoever did; everybody attached is told.

        Owners may take their own sandboxes' consoles, operators any.
        """
        await self._tell({"take": True})

    async def refresh(self) -> None:
        """Asks for the screen to be shown anew: the event `ScreenBegins`, and what follows it."""
        await self._tell({"refresh": True})

    async def _tell(self, message: dict[str, object]) -> None:
        if self._channel.can_send:
            await self._channel.send_message(message)

    # Its screen.

    async def until(self, wanted: str | re.Pattern[str], *, timeout_s: float | None = 30.0) -> Screen:
        """Waits until the screen shows something new that matches; returns the screen, with its `match`.

        What is searched is the screen's text as a person sees it: rows with line feeds between them (a long line is
        several rows), without the blanks at their ends; but in the cursor's row blanks reach up to the cursor, so that
        the prompt `$ ` has its blank while it waits.

        New is what was not there, just so, when `until` last found something: everything behind that place, also as
        the screen scrolls, and rows above it that read otherwise now. So a prompt that was found is not found again,
        and the next one is. Before the first `until` everything counts, also what an attached console has shown before
        we came: wait for its prompt first. While a full-screen program has the screen everything counts, always; so it
        does once the row of the last match is blank, as after `clear`. What you type is shown, too, and found.

        Only what stays is found for sure: what scrolls by or is overwritten at once need not be seen. A screen that is
        cleared and then looks as it did before counts as unchanged.

        Args:
            wanted: a text, or a compiled pattern; it finds what `re.Pattern.search` would.
            timeout_s: how long to wait; None: for ever.

        Returns:
            The screen; the newest one is in `screen`, too.

        Raises:
            TimedOut: it was not shown in time; the message has the screen's last rows.
            WrongState: the console has ended without showing it; as above.
            CodedError: the hub or the sandbox is gone.
        """
        pattern = pattern_of(wanted)
        try:
            async with within(timeout_s):
                if (found := await self._find(pattern)) is not None:
                    return found
        except TimeoutError:
            raise TimedOut(not_shown(wanted, f"within {timeout_s:g} s", self._screen)) from None
        raise WrongState(not_shown(wanted, "before it ended", self._screen))

    async def look(self) -> Screen:
        """The screen as it is now. `until` finds the same afterwards as it would have before.

        Raises:
            CodedError: the hub or the sandbox is gone.
        """
        return self._saw(await look_at(self._link, self._info.sandbox, self.id))

    @property
    def screen(self) -> Screen:
        """The newest screen that `until` or `look` have seen.

        Raises:
            WrongState: they have not seen any.
        """
        if self._screen is None:
            raise WrongState("the console's screen was not looked at yet: use look() or until() first")
        return self._screen

    async def _find(self, pattern: re.Pattern[str]) -> Screen | None:
        """Follows the screen until something is found; None if the console ends before."""
        channel = _open_screen(self._link, self._info.sandbox, self.id, follow=True)
        try:
            async for message in channel.messages(max_bytes=_MOST_SCREEN_BYTES):
                screen = self._saw(Screen.parse(message))
                if (found := search(self._old, pattern, screen)) is not None:
                    match, self._old = found
                    self._screen = replace(screen, match=match)
                    return self._screen
            await channel.result()
        finally:
            channel.reset(Cancelled("the caller has seen enough"))
        return None

    def _saw(self, screen: Screen) -> Screen:
        self._screen = screen
        self._info = replace(self._info, driver=screen.driver)
        return screen

    async def _drives_now(self) -> bool:
        """Whether we drive, asked anew: what is known may be older than a change of hands."""
        await self.look()
        # An ended console has no driver, and says of itself that it has ended.
        return self.is_driving or self.screen.state != "open"

    # Its end.

    async def wait(self) -> ExitStatus:
        """Waits for the end of its program; any number may wait. Cancelling loses nothing.

        What nobody reads meanwhile is kept to be read later; when it is more than 256 KiB all of it is dropped, and the
        screen comes in its place if the program goes on.

        Raises:
            CodedError: the attachment or the console was lost; whether its program ended is not known.
        """
        await self._feed.finish()
        ended = await self._channel.result()
        # A console has no time limit.
        return ExitStatus.parse({"timed_out": False, **ended})

    def _note(self, event: ConsoleEvent) -> None:
        self._info = after(self._info, event)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Does nothing to one that has ended.
        self._channel.reset(Cancelled("the caller has left the console"))
        if not self._closes:
            return
        try:
            await self._link.call("console.close", {"sandbox": self._info.sandbox, "console": self.id})
        except NotFound:
            pass  # it went with its sandbox, which is what was wanted
        except CodedError:
            # The error that is on its way tells more than what it did to the clean-up.
            if error is None:
                raise


async def look_at(link: Link, sandbox: str, console: str | None) -> Screen:
    """The screen of a console as it is now; nobody needs to be attached to it.

    Args:
        link: to the hub.
        sandbox: the one it is in.
        console: which; None: the newest open one.
    """
    channel = _open_screen(link, sandbox, console, follow=False)
    try:
        async for message in channel.messages(max_bytes=_MOST_SCREEN_BYTES):
            return Screen.parse(message)
        await channel.result()
    finally:
        channel.reset(Cancelled("the caller has seen enough"))
    raise InternalError("the hub's answer is not understood: it told no screen; is the hub of this version?")


def _open_screen(link: Link, sandbox: str, console: str | None, *, follow: bool) -> Channel:
    params = {"sandbox": sandbox, "follow": follow}
    return link.open("console.screen", params if console is None else {**params, "console": console})
