"""People and programs at a console: how one comes, what it may do, how it goes.

Rules:
- Nobody is let in unless that is recorded, and whoever was let in has its leaving recorded. So has each hand-over.
- Who comes, or moves, faster than people do waits (`paces`): the audit keeps each of it for ever.
- A viewer is told of the end behind all that the console has shown, if it takes that within a moment.
- As long as somebody is there, the sandbox does not expire.
"""

from __future__ import annotations

import asyncio
import contextlib

from cloche_hub.domain import driving
from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.console import Console, Viewer, ViewerMode, console_fields
from cloche_hub.domain.console_requests import (
    Ask,
    AttachRequest,
    Give,
    Refresh,
    Resize,
    SendSignal,
    Take,
    ViewerMessage,
    parse_viewer_message,
)
from cloche_hub.domain.driving import AttachMode, HandOver, Step
from cloche_hub.domain.ids import new_id
from cloche_hub.domain.tokens import Token
from cloche_hub.errors import Cancelled, TimedOut
from cloche_hub.services.clock import Clock
from cloche_hub.services.consoles import messages
from cloche_hub.services.consoles.line import Line
from cloche_hub.services.consoles.live import LiveConsole
from cloche_hub.services.consoles.paces import Paces
from cloche_hub.services.fair import Turns
from cloche_hub.services.recorded import Recorded, Recorder
from cloche_hub.services.records import noting
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel
from cloche_wire.aio.bounds import within
from cloche_wire.aio.channel import MESSAGES
from cloche_wire.errors import ungrouped
from cloche_wire.frames import Fields

DELIVERY_S = 10.0
"""How long the last of a console is kept for a viewer that does not read."""
REPLAY_S = 10.0
"""How long a screen with scrollback is kept for one that does not."""
_NOBODY = "v0"
_MOST_MESSAGE = 4 << 10


class Attachments:
    """Lets viewers in.

    Args:
        recorder: for the audit.
        clock: now.
    """

    def __init__(self, recorder: Recorder, clock: Clock) -> None:
        self._recorder, self._clock = recorder, clock
        self._paces = Paces()
        self.replays = Turns()
        """Of each token, one screen with scrollback is made and held at a time."""

    async def wait_turn(self, channel: Channel, token: Token) -> None:
        """Returns when this token may attach.

        Raises:
            CodedError: the viewer has left.
        """
        async with while_wanted(channel):
            await self._paces.wait(token)

    async def attach(
        self,
        channel: Channel,
        live: LiveConsole,
        over: asyncio.Future[Fields],
        request: AttachRequest,
        *,
        token: Token,
    ) -> None:
        """Serves one viewer of an open console, until it leaves or the console has ended.

        Args:
            channel: the viewer's, offered.
            live: the console.
            over: done when it has ended, with what viewers are told of that.
            request: what the viewer wants.
            token: who it is.

        Raises:
            TooLarge: there are too many.
            NoSpace: it cannot be recorded.
            CodedError: the viewer has left, or the console was lost.
        """
        since = self._clock.now()
        viewer = Viewer("", token.id, token.name, ViewerMode.WATCHING, request.rows, request.cols, since)
        line, step = live.join(viewer, channel, request.mode, scrollback=request.scrollback)
        try:
            work = self._work(live.console, token, line.viewer_id, request.mode)
            await work.start(AuditName.CONSOLE_ATTACHED, {})
            async with work.watched():
                await self._record(live, step.hand_over, token)
                await self._show_first(live, line, request, token)
                ending = await self._serve(channel, over, live, line, token)
                await work.end(AuditName.CONSOLE_DETACHED, {}, what="the console has ended", told=ending)
                channel.close(ending)
        finally:
            live.leave(line.viewer_id)

    async def _show_first(self, live: LiveConsole, line: Line, request: AttachRequest, token: Token) -> None:
        accepted = {"console": console_fields(live.console), "viewer": line.viewer_id}
        if not request.scrollback:
            line.accept(accepted)
            return
        async with self.replays.turn(token.id):
            line.accept(accepted)
            await line.wait_shown(REPLAY_S)

    async def _serve(
        self,
        channel: Channel,
        over: asyncio.Future[Fields],
        live: LiveConsole,
        line: Line,
        token: Token,
    ) -> Fields:
        """Follows the console to its end, which it returns, and does what the viewer says meanwhile."""
        with ungrouped():
            async with while_wanted(channel), asyncio.TaskGroup() as tasks:
                listening = tasks.create_task(self._listen(channel, live, line, token))
                await asyncio.wait({over})
                listening.cancel()
                # Also where it was lost: what was seen last is what one wants to know then.
                with contextlib.suppress(TimeoutError):
                    async with within(DELIVERY_S):
                        await line.wait_drained()
                return over.result()

    async def _listen(self, channel: Channel, live: LiveConsole, line: Line, token: Token) -> None:
        async for message in channel.messages(max_bytes=_MOST_MESSAGE):
            said = parse_viewer_message(message)
            # As many as fit a window may be here already: everybody else has a turn between two of them.
            await asyncio.sleep(0)
            if isinstance(said, Ask | Take | Give):
                await self._paces.wait(token)
            # It may have ended since.
            if live.console.viewer(line.viewer_id) is not None:
                await self._do(live, line.viewer_id, said, token)

    async def _do(self, live: LiveConsole, viewer_id: str, said: ViewerMessage, token: Token) -> None:
        match said:
            case Resize(rows, cols):
                live.apply(driving.resize(live.console, viewer_id, rows=rows, cols=cols))
            case Refresh():
                live.refresh(viewer_id)
            case SendSignal(signal):
                if live.console.driver == viewer_id:
                    live.signal(signal)
                else:
                    live.tell(viewer_id, "you are watching: who drives sends signals")
            case Ask():
                await self._move(live, viewer_id, live.ask(viewer_id), token)
            case Take():
                await self._move(live, viewer_id, driving.take(live.console, viewer_id), token)
            case Give(to):
                await self._move(live, viewer_id, driving.give(live.console, viewer_id, to), token)

    async def _move(self, live: LiveConsole, viewer_id: str, step: Step, token: Token) -> None:
        if step.hand_over is not None and self._recorder.records.are_waiting:
            live.tell(viewer_id, "not now: the hub cannot record who drives, its disk is full")
            return
        if step.refusal is not None:
            live.tell(viewer_id, step.refusal)
        live.apply(step)
        await self._record(live, step.hand_over, token)

    async def _record(self, live: LiveConsole, hand_over: HandOver | None, token: Token) -> None:
        if hand_over is None:
            return
        detail: dict[str, Json] = {
            "console": live.console.id,
            "from": None if hand_over.before is None else hand_over.before.id,
            "to": hand_over.driver.id,
            "how": str(hand_over.how),
        }
        await self._recorder.records.keep(
            noting(AuditName.CONSOLE_DRIVEN, actor=token.id, sandbox=live.console.sandbox, detail=detail)
        )

    async def show_ended(
        self, channel: Channel, console: Console, last: list[bytes], *, token: Token
    ) -> None:
        """Shows what an ended console showed last, then how it ended.

        Raises:
            CodedError: the viewer has left, or nobody knows how it ended.
        """
        work = self._work(console, token, _NOBODY, AttachMode.WATCH)
        await work.start(AuditName.CONSOLE_ATTACHED, {})
        async with work.watched():
            channel.accept({"console": console_fields(console), "viewer": _NOBODY})
            try:
                async with within(DELIVERY_S), while_wanted(channel):
                    for message in (*last, messages.viewers(console)):
                        await channel.write(MESSAGES, message)
            except TimeoutError:
                raise TimedOut(f"the screen was not taken within {DELIVERY_S:g} s; ask again") from None
            if console.exit_code is None and console.signal is None:
                raise Cancelled(console.end_reason or "nobody knows how the console ended")
            ending = _ending_of(console)
            await work.end(AuditName.CONSOLE_DETACHED, {}, what="the console has ended", told=ending)
            channel.close(ending)

    def _work(self, console: Console, token: Token, viewer_id: str, mode: AttachMode) -> Recorded:
        return self._recorder.work(
            console.sandbox,
            actor=token.id,
            about={
                "console": console.id,
                "viewer": viewer_id,
                "mode": str(mode),
                # Viewers of several consoles have the same ids, and of an ended one all have.
                "attachment": new_id("att"),
            },
            failed=AuditName.CONSOLE_DETACHED,
        )


def _ending_of(console: Console) -> dict[str, object]:
    ending = {"signal": console.signal} if console.exit_code is None else {"exit_code": console.exit_code}
    return {**ending, "duration_s": console.duration_s}
