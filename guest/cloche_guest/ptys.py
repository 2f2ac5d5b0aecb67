"""All consoles of a machine, by their ids: opened, left by a lost session, taken by the next one.

Rules:
- An id is one console's until somebody has its result; so the hub that opened it finds it again, and no other.
- As many consoles are known as commands may run at once. Of those that have ended and were left, the oldest makes room.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cloche_guest.fields import Params
from cloche_guest.messages import parse_pty, parse_pty_take
from cloche_guest.pty import Pty
from cloche_guest.works import Open, Surroundings
from cloche_wire.errors import Conflict, NotFound
from cloche_wire.events import Confirmed, Failed


class Ptys:
    """See the module.

    Args:
        around: what they are started in.
    """

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._by_id: dict[str, Pty] = {}

    def opens(self) -> dict[str, Open]:
        """Kind of request → what carries it out."""
        return {"pty": self.open, "pty.take": self.take}

    def owns(self, channel: int) -> bool:
        """Whether a channel is a console's."""
        return isinstance(self._around.works.on(channel), Pty)

    def heard(self, event: Confirmed | Failed) -> None:
        """A channel that is `owned` is gone: the hub has its result, or the session is lost."""
        console = self._around.works.on(event.channel)
        assert isinstance(console, Pty)
        if isinstance(event, Confirmed):
            console.confirmed()
        else:
            console.leave(event.unacknowledged)

    def left(self) -> list[dict[str, Any]]:
        """The consoles that no session has, as the agent's hello tells them."""
        return [
            {"console": console_id, "begins": console.kept[0], "ends": console.kept[1]}
            for console_id, console in self._by_id.items()
            if console.is_left
        ]

    def open(self, channel: int, params: Params, env: Mapping[str, str]) -> None:
        """Starts a program in a terminal on an offered channel.

        Raises:
            BadRequest: the parameters are wrong.
            Conflict: there is a console of this id.
            NoSpace: too many run already.
            CommandNotStarted: it can not run.
        """
        request = parse_pty(params)
        if request.console_id in self._by_id:
            raise Conflict(f"there is a console {request.console_id} already")
        self._around.children.require_room()
        self._drop_oldest()
        console = Pty(
            self._around,
            channel,
            request,
            env=env,
            on_gone=self._gone,
        )
        self._by_id[request.console_id] = console
        self._around.children.expect(console.pid, console.exited, console.broken)

    def take(self, channel: int, params: Params, _env: Mapping[str, str]) -> None:
        """Goes on with a console of a lost session on an offered channel.

        Raises:
            BadRequest: the parameters are wrong.
            NotFound: there is no such console, or it has ended and its result was confirmed.
            WrongState: it is open on this link.
        """
        request = parse_pty_take(params)
        console = self._by_id.get(request.console_id)
        if console is None:
            raise NotFound(f"there is no console {request.console_id}")
        console.take(channel, request.received)

    def _drop_oldest(self) -> None:
        """Makes room: with as many as may run, the oldest goes that has ended and that nobody has taken."""
        if len(self._by_id) >= self._around.children.most:
            ended = (console for console in self._by_id.values() if console.is_left and console.is_complete)
            if oldest := next(ended, None):
                oldest.kill()

    def _gone(self, console: Pty) -> None:
        # Its id may be another's by now.
        if self._by_id.get(console.console_id) is console:
            del self._by_id[console.console_id]
