"""Cloche: run code nobody trusts in real virtual machines, and look in while it runs.

    from cloche import Sandbox

    with Sandbox.create() as sandbox:
        print(sandbox.run("echo hi").stdout)

`Hub` and `Sandbox` here block; `cloche.aio` has the same for asyncio; `cloche.errors` has what they raise.
What is named here is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cloche.version import VERSION

if TYPE_CHECKING:
    from cloche import aio, errors
    from cloche.approval_messages import ApprovalInfo
    from cloche.callback_messages import CallbackCall
    from cloche.console_messages import ConsoleInfo
    from cloche.errors import CodedError, CommandFailed, HubNotRunning
    from cloche.event_messages import Event, Usage
    from cloche.file_messages import FileEntry
    from cloche.link_news import LinkNews
    from cloche.messages import (
        AuditEvent,
        Completed,
        DiskUsage,
        ExitStatus,
        HubStatus,
        ImageInfo,
        Progress,
        SandboxInfo,
        Verified,
    )
    from cloche.policy_messages import PolicyChecked, PolicyInfo
    from cloche.recording_messages import RecordingHit, RecordingInfo
    from cloche.screens import Screen
    from cloche.sync import (
        Approvals,
        CallbackHandler,
        Console,
        Files,
        Hub,
        Output,
        Process,
        Recordings,
        Sandbox,
    )
    from cloche.token_messages import TokenInfo
    from cloche.transfer import Copied

__version__ = VERSION

__all__ = [
    "ApprovalInfo",
    "Approvals",
    "AuditEvent",
    "CallbackCall",
    "CallbackHandler",
    "CodedError",
    "CommandFailed",
    "Completed",
    "Console",
    "ConsoleInfo",
    "Copied",
    "DiskUsage",
    "Event",
    "ExitStatus",
    "FileEntry",
    "Files",
    "Hub",
    "HubNotRunning",
    "HubStatus",
    "ImageInfo",
    "LinkNews",
    "Output",
    "PolicyChecked",
    "PolicyInfo",
    "Process",
    "Progress",
    "RecordingHit",
    "RecordingInfo",
    "Recordings",
    "Sandbox",
    "SandboxInfo",
    "Screen",
    "TokenInfo",
    "Usage",
    "Verified",
    "__version__",
    "aio",
    "errors",
]

_HOMES = {
    "cloche.approval_messages": ("ApprovalInfo",),
    "cloche.callback_messages": ("CallbackCall",),
    "cloche.console_messages": ("ConsoleInfo",),
    "cloche.errors": ("CodedError", "CommandFailed", "HubNotRunning"),
    "cloche.messages": (
        "AuditEvent", "Completed", "DiskUsage", "ExitStatus", "HubStatus", "ImageInfo", "Progress", "SandboxInfo",
        "Verified",
    ),
    "cloche.file_messages": ("FileEntry",),
    "cloche.link_news": ("LinkNews",),
    "cloche.policy_messages": ("PolicyChecked", "PolicyInfo"),
    "cloche.recording_messages": ("RecordingHit", "RecordingInfo"),
    "cloche.screens": ("Screen",),
    "cloche.sync": (
        "Approvals", "CallbackHandler", "Console", "Files", "Hub", "Output", "Process", "Recordings", "Sandbox",
    ),
    "cloche.transfer": ("Copied",),
    "cloche.token_messages": ("TokenInfo",),
    "cloche.event_messages": ("Event", "Usage"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in ("aio", "errors"):
        return importlib.import_module(f"cloche.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'cloche' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
