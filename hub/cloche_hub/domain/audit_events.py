"""Everything the audit records: one table of `noun.past-verb` names and what each means."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple, Self


class AuditName(StrEnum):
    """The name of an audit event; `meaning` is one sentence for a person."""

    meaning: str

    def __new__(cls, name: str, meaning: str) -> Self:
        member = str.__new__(cls, name)
        member._value_ = name
        member.meaning = meaning
        return member

    HUB_STARTED = "hub.started", "The hub began to serve."
    HUB_STOPPED = "hub.stopped", "The hub ended in good order."
    SANDBOX_CREATED = "sandbox.created", "Somebody asked for a sandbox and it has an id, a name and an owner."
    SANDBOX_STARTED = "sandbox.started", "The sandbox's machine runs and has become itself."
    SANDBOX_FAILED = "sandbox.failed", "The sandbox did not start, or its machine ended by itself."
    SANDBOX_REMOVED = "sandbox.removed", "The sandbox's machine and disk are gone."
    SANDBOX_EXPIRED = "sandbox.expired", "The sandbox's lease ran out: its machine and disk are gone."
    EXEC_STARTED = "exec.started", "A command was started in a sandbox."
    EXEC_EXITED = "exec.exited", "A command ended: by itself, by a signal or at its deadline."
    EXEC_FAILED = "exec.failed", "A command could not be started, or nobody can know how it ended."
    CONSOLE_OPENED = "console.opened", "A terminal was opened in a sandbox."
    CONSOLE_CLOSED = "console.closed", "A terminal's program ended, or somebody closed the terminal."
    CONSOLE_FAILED = "console.failed", "A terminal could not be opened, or nobody can know how it ended."
    RECORDING_FINISHED = (
        "recording.finished",
        "What a console or a command showed has been recorded to its end.",
    )
    RECORDING_REMOVED = (
        "recording.removed",
        "A recording was deleted: it was too old, or there were too many.",
    )
    CONSOLE_ATTACHED = "console.attached", "Somebody began to look at a terminal."
    CONSOLE_DETACHED = "console.detached", "Somebody looks at a terminal no more."
    CONSOLE_DRIVEN = (
        "console.driven",
        "Somebody else drives a terminal: nobody did, it was given, or it was taken.",
    )
    FILE_READ = "file.read", "A file of a sandbox was read."
    FILE_WRITTEN = "file.written", "A file in a sandbox was written."
    FILE_CHANGED = "file.changed", "A file was made, removed, renamed, linked or given other permissions."
    FILE_FAILED = "file.failed", "A file could not be read or changed, or nobody can know whether it was."
    CALLBACK_REQUESTED = "callback.requested", "A program in a sandbox asked something of the outside."
    CALLBACK_REFUSED = (
        "callback.refused",
        "A callback reached no handler: policy or a person forbade it, there is none, or its sandbox asks too often.",
    )
    CALLBACK_ANSWERED = "callback.answered", "A callback was answered by its handler."
    CALLBACK_FAILED = "callback.failed", "A callback's handler failed, or nobody waited for it any more."
    APPROVAL_REQUESTED = "approval.requested", "A callback began to wait for a person's decision."
    APPROVAL_APPROVED = "approval.approved", "A person let a callback pass as it was asked."
    APPROVAL_EDITED = "approval.edited", "A person let a callback pass with other parameters."
    APPROVAL_DENIED = "approval.denied", "A person refused a callback."
    APPROVAL_EXPIRED = "approval.expired", "Nobody decided about a callback in time."
    APPROVAL_ABANDONED = "approval.abandoned", "Nobody waited for a decision any more."
    IMAGE_BUILT = "image.built", "An image was built from a recipe."
    IMAGE_REMOVED = "image.removed", "An image and its templates were deleted."
    CACHE_PRUNED = "cache.pruned", "Templates and left-over files that nothing used were deleted."
    MACHINE_STRAY_ENDED = "machine.stray_ended", "A machine that a killed hub had left running was ended."
    TOKEN_CREATED = "token.created", "A token was made."
    TOKEN_REVOKED = "token.revoked", "A token was revoked."
    POLICY_LOADED = "policy.loaded", "A policy came into force; the digest is its text's."
    POLICY_REFUSED = "policy.refused", "A policy is wrong and did not come into force."


class Work(NamedTuple):
    """What begins with one event and ends with another one about the same thing."""

    begun: AuditName
    ended: tuple[AuditName, ...]
    failed: AuditName
    key: str
    """What in the details names it."""

    @property
    def ends(self) -> tuple[AuditName, ...]:
        """Each of them is an end."""
        return (*self.ended, self.failed)


WORKS: Final = (
    Work(AuditName.EXEC_STARTED, (AuditName.EXEC_EXITED,), AuditName.EXEC_FAILED, "exec"),
    Work(AuditName.CONSOLE_OPENED, (AuditName.CONSOLE_CLOSED,), AuditName.CONSOLE_FAILED, "console"),
    Work(AuditName.CONSOLE_ATTACHED, (), AuditName.CONSOLE_DETACHED, "attachment"),
    Work(
        AuditName.CALLBACK_REQUESTED,
        (AuditName.CALLBACK_ANSWERED, AuditName.CALLBACK_REFUSED),
        AuditName.CALLBACK_FAILED,
        "callback",
    ),
)
"""All work whose beginning is recorded."""
