"""The agent: what the hub asks for, carried out.

Rules:
- A clone serves nothing but `become` and `poweroff` until it has become itself, and becomes itself once.
- What goes wrong in one channel is that channel's end and no other's.
- With a session ends all that runs on its channels, but for consoles: those wait for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from cloche_guest import __version__
from cloche_guest.callbacks import MOST_CALLBACKS, Callbacks
from cloche_guest.children import MOST_EXECS, Children
from cloche_guest.execs import Execs
from cloche_guest.files.service import Files
from cloche_guest.link import Link
from cloche_guest.loop import Loop
from cloche_guest.messages import Identity, parse_become
from cloche_guest.ptys import Ptys
from cloche_guest.transport import Transport
from cloche_guest.trees import Trees
from cloche_guest.users import Accounts
from cloche_guest.works import Open, Surroundings, Work
from cloche_wire.connection import Connection
from cloche_wire.errors import CodedError, InternalError, Unsupported, WrongState
from cloche_wire.events import (
    Accepted,
    Acknowledged,
    Confirmed,
    Ended,
    Event,
    Failed,
    Finished,
    Greeted,
    Opened,
    Received,
)
from cloche_wire.limits import Limits

if TYPE_CHECKING:
    import _socket

LIMITS = Limits(
    max_frame=256 << 10, max_message=512 << 10, max_own_channels=MOST_CALLBACKS, least_window=64 << 10
)
"""Those the hub holds guests to.

An acknowledgement costs a slow machine as much as the data it is about: the hub gathers them to a quarter of `least_window`.
"""

# How long the answer to `poweroff` may take to arrive before the machine goes down all the same.
_FAREWELL_S = 1.0


class System(Protocol):
    """What the agent does to the machine it runs in."""

    def take_on(self, identity: Identity) -> None:
        """Becomes somebody."""

    def power_off(self) -> None:
        """Ends the machine; may return before it has ended."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the agent serves."""

    default_user: str
    """Whom commands run as unless they say so: a name or a number."""
    hello: dict[str, Any]
    """What it says of itself in its hello."""
    most_execs: int = MOST_EXECS
    """Commands at once."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The image's variables; a sandbox's own win over them."""
    callbacks: _socket.socket | None = None
    """Where programs ask for callbacks (`callers.listen`); None: nowhere."""
    is_somebody: bool = False
    """Serves from the start, without `become`: for tests."""


class Agent:
    """Joins a transport, the services and the machine.

    Args:
        loop: runs everything.
        transport: to the hub.
        trees: for the commands' processes.
        system: the machine.
        settings: how to serve.
        report: told of trouble that nobody else hears of, as a line.
        report_error: told of a defect and of what was being done.
    """

    def __init__(
        self,
        *,
        loop: Loop,
        transport: Transport,
        trees: Trees,
        system: System,
        settings: Settings,
        report: Callable[[str], None],
        report_error: Callable[[Exception, str], None],
    ) -> None:
        self._loop, self._system, self._report_error = loop, system, report_error
        self._image_env = settings.env
        self._env = dict(settings.env)
        self._is_somebody = settings.is_somebody
        self._powering_off: int | None = None
        self._connection = Connection(
            leader=False, software=f"cloche_guest/{__version__}", info=settings.hello, limits=LIMITS
        )
        around = Surroundings(
            loop,
            self._connection,
            trees,
            Accounts(),
            settings.default_user,
            report_error,
            Children(most=settings.most_execs),
        )
        self._works, self._hello = around.works, settings.hello
        self._consoles = Ptys(around)
        # Kind of request → what starts it.
        self._opens: dict[str, Open] = {
            "exec": Execs(around).open,
            **self._consoles.opens(),
            **Files(around).opens(),
        }
        self._callbacks = Callbacks(loop, self._connection, settings.callbacks, report_error)
        if self._is_somebody:
            self._callbacks.serve()
        self._link = Link(transport, self._connection, on_event=self._on_event, on_trouble=report)
        loop.watch_children(around.children.reap)
        loop.on_turn_end = self._link.flush

    def _on_event(self, event: Event) -> None:
        match event:
            case Opened():
                self._safely(event.channel, lambda: self._opened(event))
            case Accepted() | Finished() | Failed() if self._callbacks.owns(event.channel):
                self._safely(event.channel, lambda: self._callbacks.heard(event))
            case Confirmed() | Failed(by_peer=False) if self._consoles.owns(event.channel):
                self._safely(event.channel, lambda: self._consoles.heard(event))
            case Received() | Acknowledged() | Ended() | Failed():
                work = self._works.on(event.channel)
                # Late words to work that is over need no answer.
                if work is not None:
                    self._safely(event.channel, lambda: _tell(work, event))
            case Confirmed(channel):
                if channel == self._powering_off:
                    self._system.power_off()
            case Greeted():
                # Our own hello leaves after this: what the peer's has changed is in it.
                self._connection.info = {**self._hello, "consoles": self._consoles.left()}
            case _:
                # Parted, Ponged: nothing to do. Accepted, Finished: of a callback that is over.
                pass

    def _safely(self, channel: int, action: Callable[[], None]) -> None:
        """Carries out what a channel asks for; what goes wrong is answered on that channel."""
        try:
            action()
        except CodedError as error:
            self._give_up(channel, error)
        except Exception as error:  # the edge of a request; it is reported and answered
            self._report_error(error, f"channel {channel}")
            self._give_up(channel, InternalError(f"the agent failed: {type(error).__name__}: {error}"))

    def _give_up(self, channel: int, error: CodedError) -> None:
        self._connection.reset(channel, error)
        if work := self._works.on(channel):
            work.kill()

    def _opened(self, opened: Opened) -> None:
        match opened.kind:
            case "become":
                self._become(parse_become(opened.params))
                self._connection.close(opened.channel, {})
            case "poweroff":
                self._powering_off = opened.channel
                self._connection.close(opened.channel, {})
                self._loop.call_later(_FAREWELL_S, self._system.power_off)
            case kind if kind in self._opens:
                self._require_somebody()
                self._opens[kind](opened.channel, opened.params, self._env)
            case kind:
                known = ", ".join(("become", "poweroff", *self._opens))
                raise Unsupported(f"this agent has no {kind[:40]!r}; it has {known}")

    def _become(self, identity: Identity) -> None:
        if self._is_somebody:
            raise WrongState("this machine has become itself already; each clone does it once")
        self._system.take_on(identity)
        self._env = {**self._image_env, **identity.env}
        self._is_somebody = True
        self._callbacks.serve()

    def _require_somebody(self) -> None:
        if not self._is_somebody:
            raise WrongState("this machine is still any clone of its template; send become first")


def _tell(work: Work, event: Received | Acknowledged | Ended | Failed) -> None:
    match event:
        case Received(_, stream, data):
            work.received(stream, data)
        case Acknowledged(_, stream, _):
            work.acknowledged(stream)
        case Ended(_, stream):
            work.ended(stream)
        case Failed():
            work.kill()
