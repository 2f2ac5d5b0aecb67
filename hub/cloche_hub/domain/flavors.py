"""The sizes a machine comes in. Pure values."""

from __future__ import annotations

from dataclasses import dataclass

from cloche_hub.errors import BadRequest


@dataclass(frozen=True, slots=True)
class Flavor:
    """The resources of a machine."""

    name: str
    vcpus: int
    memory_mib: int
    disk_gib: int
    """The most a sandbox's disk can grow to; unwritten space costs nothing."""


FLAVORS = {
    flavor.name: flavor
    for flavor in (
        Flavor("small", vcpus=1, memory_mib=512, disk_gib=4),
        Flavor("medium", vcpus=2, memory_mib=2048, disk_gib=4),
        Flavor("large", vcpus=4, memory_mib=4096, disk_gib=4),
    )
}
DEFAULT_FLAVOR = "small"


def flavor_named(name: str) -> Flavor:
    """The flavor of that name.

    Raises:
        BadRequest: there is none; the message lists those there are.
    """
    try:
        return FLAVORS[name]
    except KeyError:
        raise BadRequest(f"no flavor {name!r}; there are: {', '.join(FLAVORS)}") from None
