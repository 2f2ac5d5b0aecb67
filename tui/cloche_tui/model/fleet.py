"""The sandboxes there are, with what they cost, in the order and choice a person has asked for. Pure.

Rules:
- What is selected is a sandbox and not a place: others come, go and change places around it.
- If it goes, its neighbour is selected, and `has_slipped` says that nobody has chosen that one yet: nothing that ends
  something may act on it before somebody has.
- While it is frozen, the order and all values stand still; what comes is counted, what goes is said to be gone.
- Marks are of sandboxes, shown or not; those that go lose theirs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cloche import Event, SandboxInfo, Usage
from cloche.filters import Fields, Filter
from cloche_tui.model.current import Current
from cloche_tui.model.sandbox_rows import NOTHING_NOTED, ORDERS, Attention, Row, fields_of

HISTORY = 60
"""Samples of a sandbox that are kept."""


class Fleet:
    """See the module. What the hub tells comes in by `begin`, `apply` and `end_of_current`; the rest is a person's."""

    def __init__(self) -> None:
        self._infos: dict[str, SandboxInfo] = {}
        self._usages: dict[str, Usage] = {}
        self._cpu: dict[str, deque[float]] = {}
        self._memory: dict[str, deque[float]] = {}
        self._fields: dict[str, Fields] = {}
        self._attention: Mapping[str, Attention] = {}
        self._current = Current()
        self._by_name: list[str] | None = None
        self._order: tuple[str, ...] | None = None
        self._indexes: dict[str, int] = {}
        self._shown_before: tuple[str, ...] = ()
        self._sort, self._is_descending = "name", False
        self._filter: Filter | None = None
        self._frozen: dict[str, Row] | None = None
        self._marks: set[str] = set()
        self._selected: str | None = None
        self._has_slipped = False

    # What the hub tells.

    def begin(self) -> None:
        """A new subscription: what is not told as current any more is gone."""
        self._current.begin()

    def apply(self, event: Event) -> None:
        """A sandbox is, has changed or is gone; or what one costs."""
        match event.value:
            case SandboxInfo(id=sandbox_id, state=state) as info:
                if event.change == "gone" or state == "removed":
                    self._forget(sandbox_id)
                else:
                    self._keep(info)
            case Usage() as usage:
                self._sample(usage)

    def end_of_current(self) -> None:
        """All that there is has been told."""
        for sandbox_id in self._current.end(self._infos.keys()):
            self._forget(sandbox_id)
        self._order = None

    @property
    def is_known(self) -> bool:
        """Whether the hub has told all there are, once."""
        return self._current.is_known

    def note(self, attention: Mapping[str, Attention]) -> None:
        """Who looks at sandboxes now, and what waits, by their ids."""
        self._attention = attention
        self._stir("attention")

    def _keep(self, info: SandboxInfo) -> None:
        self._current.tell(info.id)
        self._infos[info.id] = info
        if info.state != "running":
            self._usages.pop(info.id, None)
        self._fields[info.id] = fields_of(info)
        self._by_name = self._order = None

    def _forget(self, sandbox_id: str) -> None:
        for known in (self._infos, self._usages, self._cpu, self._memory, self._fields):
            known.pop(sandbox_id, None)
        self._marks.discard(sandbox_id)
        self._by_name = self._order = None

    def _sample(self, usage: Usage) -> None:
        info = self._infos.get(usage.sandbox)
        if info is None or info.state != "running":
            return
        known = self._usages.get(usage.sandbox)
        # A new subscription tells the newest sample once more.
        if known is None or known.at != usage.at:
            self._cpu.setdefault(usage.sandbox, deque(maxlen=HISTORY)).append(usage.cpu_percent or 0.0)
            self._memory.setdefault(usage.sandbox, deque(maxlen=HISTORY)).append(usage.memory_pss_bytes)
        self._usages[usage.sandbox] = usage
        self._stir("usage")

    def _stir(self, moved: str) -> None:
        if ORDERS[self._sort].moves_with == moved:
            self._order = None

    # What there is.

    def __len__(self) -> int:
        return len(self._infos)

    def get(self, sandbox_id: str | None) -> SandboxInfo | None:
        """A sandbox that is there."""
        return self._infos.get(sandbox_id or "")

    def names(self) -> list[str]:
        """The names of all, sorted."""
        return [self._infos[sandbox_id].name for sandbox_id in self._sorted_by_name()]

    def named(self, reference: str) -> str | None:
        """The id of the sandbox with this name or id."""
        if reference in self._infos:
            return reference
        return next((info.id for info in self._infos.values() if info.name == reference), None)

    # What is shown.

    @property
    def order(self) -> Sequence[str]:
        """The ids of those that are shown, in their order."""
        return self._arranged()

    def index_of(self, sandbox_id: str) -> int | None:
        """Where a sandbox is shown."""
        self._arranged()
        return self._indexes.get(sandbox_id)

    def rows(self) -> list[Row]:
        """Those that are shown, in their order."""
        return [self.row(sandbox_id) for sandbox_id in self._arranged()]

    def row(self, sandbox_id: str) -> Row:
        """One of those that are shown.

        Raises:
            KeyError: it is not.
        """
        if self._frozen is None:
            return self._live_row(sandbox_id)
        return replace(
            self._frozen[sandbox_id],
            is_marked=sandbox_id in self._marks,
            is_gone=sandbox_id not in self._infos,
        )

    def live_rows(self, sandbox_ids: Sequence[str]) -> list[Row]:
        """Sandboxes as they are now, shown or not, also while the table stands still; without those that are gone."""
        return [self._live_row(sandbox_id) for sandbox_id in sandbox_ids if sandbox_id in self._infos]

    def _live_row(self, sandbox_id: str) -> Row:
        return Row(
            self._infos[sandbox_id],
            self._usages.get(sandbox_id),
            tuple(self._cpu.get(sandbox_id, ())),
            tuple(self._memory.get(sandbox_id, ())),
            self._attention.get(sandbox_id, NOTHING_NOTED),
            sandbox_id in self._marks,
        )

    # Filter, order, standing still.

    @property
    def filtered_by(self) -> str:
        """What was typed to see less; empty: nothing."""
        return "" if self._filter is None else self._filter.source

    def set_filter(self, wanted: Filter | None) -> tuple[int, int]:
        """Shows what matches only; returns how many that are, of how many."""
        had_slipped = self.has_slipped
        self._filter, self._order = wanted, None
        shown = len(self._arranged())
        # What a person's own filter hides has not slipped away.
        self._has_slipped = had_slipped
        return shown, len(self._infos if self._frozen is None else self._frozen)

    @property
    def sort(self) -> tuple[str, bool]:
        """By which of `ORDERS`, and whether from the largest on."""
        return self._sort, self._is_descending

    def sort_by(self, key: str, *, is_descending: bool | None = None) -> None:
        """Sorts by one of `ORDERS`; the way round it usually is wanted, if that is not said."""
        order = ORDERS[key]
        self._sort = key
        self._is_descending = order.is_descending if is_descending is None else is_descending
        self._order = None

    def reverse(self) -> None:
        """Sorts the other way round."""
        self.sort_by(self._sort, is_descending=not self._is_descending)

    @property
    def is_frozen(self) -> bool:
        """Whether order and values stand still."""
        return self._frozen is not None

    def freeze(self, *, on: bool) -> None:
        """Has order and values stand still, or lets them go."""
        if on is not self.is_frozen:
            every = self._sorted_by_name() if on else []
            self._frozen = {sandbox_id: self._live_row(sandbox_id) for sandbox_id in every} if on else None
            self._order = None

    @property
    def new_since_frozen(self) -> int:
        """How many have come that are not shown because the table stands still."""
        if self._frozen is None:
            return 0
        return sum(
            sandbox_id not in self._frozen and self._is_wanted(sandbox_id) for sandbox_id in self._infos
        )

    # Marks and selection.

    @property
    def marks(self) -> tuple[str, ...]:
        """The marked ones: those that are shown in their order, then the others."""
        self._arranged()
        last = len(self._indexes)
        return tuple(
            sorted(self._marks, key=lambda sandbox_id: (self._indexes.get(sandbox_id, last), sandbox_id))
        )

    @property
    def hidden_marks(self) -> int:
        """How many of them the filter hides."""
        self._arranged()
        return sum(sandbox_id not in self._indexes for sandbox_id in self._marks)

    def mark(self, sandbox_id: str) -> None:
        """Marks a sandbox, or takes its mark away."""
        if sandbox_id in self._infos:
            self._marks ^= {sandbox_id}

    def mark_all(self) -> None:
        """Marks all that are shown."""
        self._marks |= {sandbox_id for sandbox_id in self._arranged() if sandbox_id in self._infos}

    def clear_marks(self) -> None:
        """Takes all marks away."""
        self._marks.clear()

    @property
    def selected(self) -> str | None:
        """The id of the one that is selected; None: none is shown."""
        self._arranged()
        return self._selected

    @property
    def has_slipped(self) -> bool:
        """Whether it is selected only because another one went: nobody has chosen it."""
        self._arranged()
        return self._has_slipped

    def select(self, sandbox_id: str) -> None:
        """A person chooses a sandbox. One that is not shown changes nothing."""
        if self.index_of(sandbox_id) is not None:
            self._selected, self._has_slipped = sandbox_id, False

    def move(self, rows: int) -> None:
        """A person goes so many rows down from the selected one."""
        order = self._arranged()
        if order:
            index = self._indexes.get(self._selected or "", 0)
            self.select(order[min(max(index + rows, 0), len(order) - 1)])

    def settle(self) -> None:
        """A person has been told what is selected."""
        self._has_slipped = False

    @property
    def chosen(self) -> tuple[str, ...]:
        """What actions are about: the marked ones, else the selected one; never one that is gone."""
        selected = self.selected
        return self.marks or ((selected,) if selected is not None and selected in self._infos else ())

    # How it comes about.

    def _sorted_by_name(self) -> list[str]:
        if self._by_name is None:
            self._by_name = sorted(
                self._infos, key=lambda sandbox_id: (self._infos[sandbox_id].name, sandbox_id)
            )
        return self._by_name

    def _is_wanted(self, sandbox_id: str) -> bool:
        return self._filter is None or self._filter.matches(self._fields[sandbox_id])

    def _arranged(self) -> tuple[str, ...]:
        if self._order is None:
            self._order = tuple(self._sorted())
            self._indexes = {sandbox_id: index for index, sandbox_id in enumerate(self._order)}
            self._follow_selected(self._order)
            self._shown_before = self._order
        return self._order

    def _sorted(self) -> Iterator[str]:
        if self._frozen is None:
            wanted = [each for each in self._sorted_by_name() if self._is_wanted(each)]
        else:
            wanted = [each for each, row in self._frozen.items() if self._wants_row(row)]
        if self._sort == "name":
            return reversed(wanted) if self._is_descending else iter(wanted)
        return iter(sorted(wanted, key=self._sort_key, reverse=self._is_descending))

    def _sort_key(self, sandbox_id: str) -> float | str:
        key = ORDERS[self._sort].key
        if self._frozen is not None:
            row = self._frozen[sandbox_id]
            return key(row.info, row.usage, row.attention)
        return key(
            self._infos[sandbox_id],
            self._usages.get(sandbox_id),
            self._attention.get(sandbox_id, NOTHING_NOTED),
        )

    def _wants_row(self, row: Row) -> bool:
        return self._filter is None or self._filter.matches(fields_of(row.info))

    def _follow_selected(self, order: tuple[str, ...]) -> None:
        """Has something selected that is shown."""
        if self._selected in self._indexes:
            return
        if self._selected is None:
            # Before all are told, whichever comes first is nobody's choice.
            self._selected = order[0] if order and not self._current.is_under_way else None
            return
        self._selected = self._neighbour(self._selected)
        self._has_slipped = self._selected is not None

    def _neighbour(self, of: str) -> str | None:
        """The one that stood next to another and still is shown."""
        before = self._shown_before
        at = before.index(of) if of in before else 0
        near = (*before[at + 1 :], *reversed(before[:at]), *self._indexes)
        return next((each for each in near if each in self._indexes), None)
