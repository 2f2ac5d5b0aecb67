"""A sandbox as a list shows it, by what lists are sorted, and what filters find in it. Pure values and functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from cloche import ApprovalInfo, ConsoleInfo, SandboxInfo, Usage
from cloche.filters import Fields

_STATES = ("failed", "creating", "removing", "running")
"""What wants to be looked at comes first."""


@dataclass(frozen=True, slots=True)
class Attention:
    """Who looks at a sandbox, and what of it waits for a person."""

    consoles: int = 0
    """Those that are open, but for the machine's own."""
    viewers: int = 0
    drivers: tuple[str, ...] = ()
    """The names of those whose keys reach a program in it."""
    approvals: int = 0
    """Calls that wait for a decision."""
    asks: tuple[str, ...] = ()
    """The names of those who have asked to drive."""


NOTHING_NOTED = Attention()


def attention_of(
    consoles: Iterable[ConsoleInfo], approvals: Iterable[ApprovalInfo], asks: Mapping[str, Sequence[str]]
) -> Mapping[str, Attention]:
    """Who looks at each sandbox, and what of it waits, by their ids.

    Args:
        consoles: all there are.
        approvals: those that wait.
        asks: who has asked to drive, by the ids of sandboxes.
    """
    found: dict[str, Attention] = {}
    for console in consoles:
        if console.is_open:
            known = found.get(console.sandbox, NOTHING_NOTED)
            found[console.sandbox] = replace(
                known,
                consoles=known.consoles + (console.kind != "boot"),
                viewers=known.viewers + len(console.viewers),
                drivers=known.drivers
                + tuple(viewer.name for viewer in console.viewers if viewer.id == console.driver),
            )
    for sandbox, number in Counter(approval.sandbox for approval in approvals).items():
        found[sandbox] = replace(found.get(sandbox, NOTHING_NOTED), approvals=number)
    for sandbox, names in asks.items():
        found[sandbox] = replace(found.get(sandbox, NOTHING_NOTED), asks=tuple(names))
    return found


@dataclass(frozen=True, slots=True)
class Row:
    """A sandbox as it is shown."""

    info: SandboxInfo
    usage: Usage | None = None
    """None: not sampled yet, or its machine does not run."""
    cpu: tuple[float, ...] = ()
    """Percents of one processor, the oldest first."""
    memory: tuple[float, ...] = ()
    """Bytes, the oldest first."""
    attention: Attention = NOTHING_NOTED
    is_marked: bool = False
    is_gone: bool = False
    """Whether it stands here only because the table stands still."""


@dataclass(frozen=True, slots=True)
class Order:
    """One way to sort."""

    key: Callable[[SandboxInfo, Usage | None, Attention], float | str]
    is_descending: bool = False
    """Which way round it begins."""
    moves_with: str = ""
    """What changes the order beside sandboxes themselves: usage, or attention."""


def _expiry(info: SandboxInfo, _usage: Usage | None, _attention: Attention) -> float:
    return info.expires_at.timestamp() if info.expires_at else float("inf")


def _state(info: SandboxInfo, _usage: Usage | None, _attention: Attention) -> float:
    return _STATES.index(info.state) if info.state in _STATES else len(_STATES)


def _cpu(_info: SandboxInfo, usage: Usage | None, _attention: Attention) -> float:
    return (usage.cpu_percent if usage is not None else None) or 0.0


def _memory(_info: SandboxInfo, usage: Usage | None, _attention: Attention) -> float:
    return usage.memory_pss_bytes if usage is not None else 0


def _waits(_info: SandboxInfo, _usage: Usage | None, attention: Attention) -> float:
    return attention.approvals + len(attention.asks)


ORDERS: Mapping[str, Order] = MappingProxyType(
    {
        "name": Order(lambda info, _usage, _attention: info.name),
        "state": Order(_state),
        "waits": Order(_waits, is_descending=True, moves_with="attention"),
        "cpu": Order(_cpu, is_descending=True, moves_with="usage"),
        "memory": Order(_memory, is_descending=True, moves_with="usage"),
        "age": Order(lambda info, _usage, _attention: -info.created_at.timestamp()),
        "lease": Order(_expiry),
        "accelerator": Order(lambda info, _usage, _attention: info.accelerator or ""),
        "viewers": Order(
            lambda _info, _usage, attention: attention.viewers, is_descending=True, moves_with="attention"
        ),
        "recipe": Order(lambda info, _usage, _attention: f"{info.recipe}/{info.flavor}"),
        "owner": Order(lambda info, _usage, _attention: info.owner),
        "labels": Order(lambda info, _usage, _attention: labels_text(info)),
    }
)
"""By the columns' keys, in the order one asks for the next. What is alike stands in the order of the names."""


def labels_text(info: SandboxInfo) -> str:
    """A sandbox's labels, as they are typed: `team=blue tier=web`."""
    return " ".join(f"{key}={value}" if value else key for key, value in sorted(info.labels.items()))


def fields_of(info: SandboxInfo) -> Fields:
    """What a filter finds in a sandbox."""
    return Fields.of(
        info.id,
        info.accelerator,
        info.end_reason,
        name=info.name,
        sandbox=info.name,
        state=info.state,
        owner=info.owner,
        recipe=info.recipe,
        flavor=info.flavor,
        labels=info.labels,
    )
