"""What the services ask of the world outside: machines, images, guests, and what outlives the hub.

Rule: services and everything above never touch a path, a pid or a socket of a machine. What crosses a port
is a value that could cross a network (a link to a guest is the one exception: it *is* the network).
Rule: each port has one contract suite (tests/contract) that every implementation passes.
"""

from __future__ import annotations

from cloche_hub.ports.consoles import Entry, ScreenLog, Screens, Size, StoredScreen
from cloche_hub.ports.guests import ConnectGuest, Guest
from cloche_hub.ports.images import CacheUse, Image, Images, OnProgress, Progress
from cloche_hub.ports.machines import (
    AwaitAgent,
    BootOutput,
    Hypervisor,
    HypervisorStatus,
    Machine,
    MachineExit,
    MachineSpec,
    MachineUse,
    StrayMachine,
)
from cloche_hub.ports.recordings import (
    Found,
    Header,
    Hit,
    Recording,
    RecordingKind,
    RecordingRow,
    Recordings,
    Removed,
)
from cloche_hub.ports.store import AuditLog, Store, Transaction

__all__ = [
    "AuditLog",
    "AwaitAgent",
    "BootOutput",
    "CacheUse",
    "ConnectGuest",
    "Entry",
    "Found",
    "Guest",
    "Header",
    "Hit",
    "Hypervisor",
    "HypervisorStatus",
    "Image",
    "Images",
    "Machine",
    "MachineExit",
    "MachineSpec",
    "MachineUse",
    "OnProgress",
    "Progress",
    "Recording",
    "RecordingKind",
    "RecordingRow",
    "Recordings",
    "Removed",
    "ScreenLog",
    "Screens",
    "Size",
    "Store",
    "StoredScreen",
    "StrayMachine",
    "Transaction",
]
