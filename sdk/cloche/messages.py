"""What the hub answers, as typed values: parsed here, at the border, and trusted everywhere else.

Pure. The fields are those of ARCHITECTURE.md's tables. Fields a newer hub adds are ignored; one that is missing or
has another type is an error that names it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, Self

from cloche.answers import Answer
from cloche.signals import told_signal


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a long work of the hub, such as building an image."""

    step: str
    """A short stable word for programs, such as `packages` or `template`."""
    message: str
    """One line for a person."""
    fraction: float | None
    """How much of the whole work is done, 0 to 1, where that is known."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("progress", value)
        return cls(
            step=read.text("step"),
            message=read.text("message"),
            fraction=read.optional("fraction", read.number),
        )


@dataclass(frozen=True, slots=True)
class SandboxInfo:
    """What the hub knows of a sandbox."""

    id: str
    name: str
    owner: str
    recipe: str
    image: str | None
    """Digest of the image it runs from; None until it is known."""
    flavor: str
    labels: Mapping[str, str]
    env_names: Sequence[str]
    """Names of the variables every command in it starts with; their values stay on the hub."""
    state: str
    """creating, running, removing, removed or failed."""
    accelerator: str | None
    """kvm or tcg; None until its machine runs."""
    created_at: datetime
    lease_s: float
    """How long it lives after its last use."""
    expires_at: datetime | None
    ended_at: datetime | None
    end_reason: str | None
    timings: Mapping[str, float]
    """Seconds each step of its creation took."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("sandbox", value)
        return cls(
            id=read.text("id"),
            name=read.text("name"),
            owner=read.text("owner"),
            recipe=read.text("recipe"),
            image=read.optional("image", read.text),
            flavor=read.text("flavor"),
            labels=read.mapping("labels", str),
            env_names=read.texts("env_names"),
            state=read.text("state"),
            accelerator=read.optional("accelerator", read.text),
            created_at=read.moment("created_at"),
            lease_s=read.number("lease_s"),
            expires_at=read.optional("expires_at", read.moment),
            ended_at=read.optional("ended_at", read.moment),
            end_reason=read.optional("end_reason", read.text),
            timings=read.mapping("timings", float, int),
        )


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """An image on the hub's host."""

    digest: str
    recipe: str
    arch: str
    agent_hash: str
    """sha256 of the agent inside."""
    size_bytes: int
    """What it takes on disk."""
    built_at: datetime
    current: bool
    """Whether new sandboxes of its recipe start from it; the others are there for what still runs from them."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("image", value)
        return cls(
            digest=read.text("digest"),
            recipe=read.text("recipe"),
            arch=read.text("arch"),
            agent_hash=read.text("agent_hash"),
            size_bytes=read.whole("size_bytes"),
            built_at=read.moment("built_at"),
            current=read.flag("current"),
        )


@dataclass(frozen=True, slots=True)
class HubStatus:
    """How the hub is."""

    version: str
    pid: int
    address: str
    accelerator: str
    """kvm, tcg, or unproven: /dev/kvm looks usable, but no image exists yet to prove it with."""
    accelerator_reason: str
    """One sentence: why not kvm, or what proved it."""
    machines: int
    """How many run."""
    started_at: datetime

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("status", value)
        return cls(
            version=read.text("version"),
            pid=read.whole("pid"),
            address=read.text("address"),
            accelerator=read.text("accelerator"),
            accelerator_reason=read.text("accelerator_reason"),
            machines=read.whole("machines"),
            started_at=read.moment("started_at"),
        )


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """Something the hub keeps on disk."""

    kind: str
    """image, rootfs, template or machine."""
    name: str
    """A digest, a template's image and flavor, or a sandbox's id."""
    title: str
    """What a person knows it by, such as `python`, `python/small` or a sandbox's name."""
    recipe: str | None
    """None if it is of no recipe that is known."""
    size_bytes: int
    used_at: datetime
    in_use: bool
    prunable: bool
    """Whether pruning would delete it now."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("cache entry", value)
        return cls(
            kind=read.text("kind"),
            name=read.text("name"),
            title=read.text("title"),
            recipe=read.optional("recipe", read.text),
            size_bytes=read.whole("size_bytes"),
            used_at=read.moment("used_at"),
            in_use=read.flag("in_use"),
            prunable=read.flag("prunable"),
        )


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """What the hub keeps on disk."""

    entries: Sequence[CacheEntry]
    cache: str | None
    """The folder, on the hub's host; None if the hub does not say."""
    free_bytes: int | None
    """Free space on its disk; None if the hub does not say."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("disk usage", value)
        return cls(
            entries=tuple(read.each("entries", CacheEntry.parse)),
            cache=read.optional("cache", read.text),
            free_bytes=read.optional("free_bytes", read.whole),
        )


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One event of the audit chain."""

    seq: int
    at: datetime
    event: str
    """noun.past-verb, such as `sandbox.created`."""
    actor: str
    """Who caused it: `hub`, or a token's id."""
    sandbox: str | None
    detail: Mapping[str, Any]
    prev_hash: str
    hash: str

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("audit event", value)
        return cls(
            seq=read.whole("seq"),
            at=read.moment("at"),
            event=read.text("event"),
            actor=read.text("actor"),
            sandbox=read.optional("sandbox", read.text),
            detail=read.of_type("detail", dict),
            prev_hash=read.text("prev_hash"),
            hash=read.text("hash"),
        )


@dataclass(frozen=True, slots=True)
class Verified:
    """An audit chain that holds."""

    events: int
    head: str
    """The hash of its last event; note it elsewhere to prove later that nothing was rewritten."""

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("verdict", value)
        return cls(events=read.whole("events"), head=read.text("head"))


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How a command ended."""

    exit_code: int | None
    """None if a signal ended it."""
    signal: str | None
    """The signal that ended it, such as `KILL`."""
    timed_out: bool
    """Whether it was ended because its time was up."""
    duration_s: float

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with 0."""
        return self.exit_code == 0 and not self.timed_out

    @classmethod
    def parse(cls, value: Any) -> Self:
        """From a message of the hub."""
        read = Answer("exit", value)
        signal = read.optional("signal", lambda key: read.of_type(key, str, int))
        return cls(
            exit_code=read.optional("exit_code", read.whole),
            signal=None if signal is None else told_signal(signal),
            timed_out=read.flag("timed_out"),
            duration_s=read.number("duration_s"),
        )


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that has ended, with everything it wrote."""

    exit_code: int | None
    """None if a signal ended it."""
    signal: str | None
    """The signal that ended it, such as `KILL`."""
    timed_out: bool
    """Whether it was ended because its time was up."""
    duration_s: float
    stdout_bytes: bytes
    stderr_bytes: bytes
    recording: str | None = None
    """The id of what the hub has recorded of it; None: nothing. See `Hub.recordings`."""

    @classmethod
    def of(cls, ended: ExitStatus, stdout: bytes, stderr: bytes, recording: str | None) -> Self:
        """A command's end, with all that it wrote."""
        how = (ended.exit_code, ended.signal, ended.timed_out, ended.duration_s)
        return cls(*how, stdout, stderr, recording)

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with 0."""
        return self.exit_code == 0 and not self.timed_out

    @property
    def stdout(self) -> str:
        """What it wrote to its standard output, as UTF-8; bytes that are none become U+FFFD."""
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """What it wrote to its standard error, as UTF-8; bytes that are none become U+FFFD."""
        return self.stderr_bytes.decode(errors="replace")


def as_json(value: Any) -> Any:
    """A value of this module in what JSON has: times in ISO 8601, UTC, with six digits."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
        case bytes():
            return value.decode(errors="replace")
        case Mapping():
            return {str(key): as_json(element) for key, element in value.items()}
        case list() | tuple():
            return [as_json(element) for element in value]
    if is_dataclass(value):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    return value


def export_line(value: Any) -> str:
    """A value as one line of JSON in the form the audit's exports have: sorted, without spaces, UTF-8 as it is."""
    return json.dumps(as_json(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
