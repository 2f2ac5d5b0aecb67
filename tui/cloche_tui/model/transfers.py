"""What is copied between this host and sandboxes: what waits, how far what runs is, how it ended. Pure.

    WAITING ──start──► RUNNING ──finish──► DONE
       │                  ├──────fail────► FAILED
       └─────cancel───────┴─────cancel───► CANCELLED

Rules:
- Of one sandbox one transfer runs at a time, in the order in which they were wanted.
- Times are seconds of a clock that never goes back; whoever calls tells the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from cloche.transfer import Copied

MOST_UNDER_WAY = 1000
"""Transfers that run or wait; more are copied as the folder they are in."""
MOST_ENDED = 200
"""Transfers that have ended and are still told of."""
_WINDOW_S = 5.0
"""The rate is that of the last seconds: what was fast a minute ago says nothing of what is left."""
_SAMPLE_S = 0.2
_LEAST_S = 0.5
"""Before that nothing can be said of a rate."""


class Direction(StrEnum):
    """Which way something is copied."""

    UP = "up"
    """Into the sandbox."""
    DOWN = "down"


class State(StrEnum):
    """How far a transfer is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


_MOVES: Mapping[tuple[State, str], State] = MappingProxyType(
    {
        (State.WAITING, "start"): State.RUNNING,
        (State.WAITING, "cancel"): State.CANCELLED,
        (State.RUNNING, "finish"): State.DONE,
        (State.RUNNING, "fail"): State.FAILED,
        (State.RUNNING, "cancel"): State.CANCELLED,
    }
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Something to be copied."""

    direction: Direction
    name: str
    """One component: what it is called on both sides."""
    source: str
    """Its path where it is."""
    folder: str
    """What it is copied into, on the other side."""
    may_replace: bool = False
    """Whether a person has agreed to what is there already being replaced, or filled if it is a folder."""
    is_folder: bool = False
    """Whether it is one, or a link of a sandbox, which may lead to one."""

    @property
    def target(self) -> str:
        """Its path where it will be."""
        return f"{self.folder.rstrip('/')}/{self.name}"


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is to be copied with some folders."""

    folders: int
    """Those that were named."""
    files: int
    """In them, and in the folders in them."""
    size_bytes: int
    is_all: bool
    """Whether everything was counted: where there is much, or it takes long, it is not."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """One of them."""

    id: int
    sandbox: str
    """The sandbox's id."""
    sandbox_name: str
    wanted: Wanted
    state: State = State.WAITING
    done_bytes: int = 0
    total_bytes: int | None = None
    """None: it is still being counted."""
    path: str = ""
    """The file that is being copied."""
    copied: Copied | None = None
    """What was copied, once it is done."""
    message: str = ""
    """Why it failed."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended, in whichever way."""
        return self.state not in (State.WAITING, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a transfer is."""

    bytes_per_s: float
    left_s: float | None
    """None: nothing moves."""


class Transfers:
    """See the module."""

    def __init__(self) -> None:
        self._known: dict[int, Transfer] = {}
        self._waiting: dict[str, deque[int]] = {}
        """Ids, the next one first, by their sandboxes."""
        self._ended: deque[int] = deque()
        self._samples: dict[int, deque[tuple[float, int]]] = {}
        """What had been copied when, of those that run."""
        self._last = 0
        self._order: tuple[int, ...] | None = None

    # What there is.

    def __len__(self) -> int:
        return len(self._known)

    def get(self, transfer_id: int) -> Transfer | None:
        """One that is still told of."""
        return self._known.get(transfer_id)

    @property
    def order(self) -> Sequence[int]:
        """The ids as they are shown: what runs, what waits, then what has ended, the newest first."""
        if self._order is None:
            running = [one.id for one in self._known.values() if one.state is State.RUNNING]
            waiting = [one.id for one in self._known.values() if one.state is State.WAITING]
            self._order = (*running, *waiting, *reversed(self._ended))
        return self._order

    def under_way(self, sandbox: str | None = None) -> list[Transfer]:
        """Those that run or wait, of a sandbox or of all; what runs is first."""
        return [
            one
            for one in (self._known[each] for each in self.order)
            if not one.is_over and sandbox in (None, one.sandbox)
        ]

    def pace(self, transfer_id: int, *, now: float) -> Pace | None:
        """How fast it is; None: nothing can be said yet."""
        one, samples = self._known.get(transfer_id), self._samples.get(transfer_id)
        if one is None or one.total_bytes is None or not samples:
            return None
        since, before = samples[0]
        if now - since < _LEAST_S:
            return None
        rate = (one.done_bytes - before) / (now - since)
        return Pace(rate, (one.total_bytes - one.done_bytes) / rate if rate > 0 else None)

    # What a person wants.

    def add(self, sandbox: str, sandbox_name: str, wanted: Iterable[Wanted]) -> None:
        """Takes up what is to be copied, behind what waits already."""
        waiting = self._waiting.setdefault(sandbox, deque())
        for one in wanted:
            self._last += 1
            self._known[self._last] = Transfer(self._last, sandbox, sandbox_name, one)
            waiting.append(self._last)
        self._order = None

    def put_away(self) -> None:
        """Forgets what has ended."""
        while self._ended:
            del self._known[self._ended.popleft()]
        self._order = None

    # What becomes of it.

    def next_of(self, sandbox: str) -> Transfer | None:
        """What is to be started next in a sandbox."""
        waiting = self._waiting.get(sandbox, ())
        return self._known[waiting[0]] if waiting else None

    def start(self, transfer_id: int, *, now: float) -> None:
        """It begins."""
        self._move(transfer_id, "start")
        self._samples[transfer_id] = deque([(now, 0)])

    def progress(self, transfer_id: int, done_bytes: int, total_bytes: int, path: str, *, now: float) -> None:
        """More has been copied of one that runs; of another this changes nothing."""
        one, samples = self._known.get(transfer_id), self._samples.get(transfer_id)
        if one is None or samples is None:
            return
        if one.total_bytes is None:
            # Counting is over: only now bytes begin to move.
            samples[0] = now, 0
        self._known[transfer_id] = replace(one, done_bytes=done_bytes, total_bytes=total_bytes, path=path)
        if now - samples[-1][0] >= _SAMPLE_S:
            samples.append((now, done_bytes))
        while len(samples) > 1 and now - samples[0][0] > _WINDOW_S:
            samples.popleft()

    def finish(self, transfer_id: int, copied: Copied) -> None:
        """It is done."""
        self._move(transfer_id, "finish", done_bytes=copied.bytes, total_bytes=copied.bytes, copied=copied)

    def fail(self, transfer_id: int, message: str) -> None:
        """It cannot be done."""
        self._move(transfer_id, "fail", message=message)

    def cancel(self, transfer_id: int) -> None:
        """A person does not want it any more. Of one that runs, whoever carries it out says so."""
        self._move(transfer_id, "cancel")

    def _move(self, transfer_id: int, move: str, **more: object) -> None:
        one = self._known[transfer_id]
        state = _MOVES.get((one.state, move))
        if state is None:
            raise ValueError(f"transfer {transfer_id} is {one.state}: it cannot {move}")
        if one.state is State.WAITING:
            self._waiting[one.sandbox].remove(transfer_id)
        one = self._known[transfer_id] = replace(one, state=state, **more)  # type: ignore[arg-type]
        self._order = None
        if one.is_over:
            self._samples.pop(transfer_id, None)
            self._ended.append(transfer_id)
            while len(self._ended) > MOST_ENDED:
                del self._known[self._ended.popleft()]
