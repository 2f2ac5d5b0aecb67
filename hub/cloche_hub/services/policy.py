"""The policy in force: read at the start, and again when somebody says so.

Rule: a policy that is wrong at the start lets nothing pass, and says why to whoever asks for something.
Rule: a policy that is wrong later changes nothing: the one in force stays.
Rule: a policy is in force when the audit has it, and not before.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import structlog

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.policy import Policy, deny_everything
from cloche_hub.domain.policy_text import BUILT_IN, parse_policy
from cloche_hub.errors import BadRequest, CodedError, StoreFailed
from cloche_hub.ports import Store
from cloche_hub.services.clock import Clock
from cloche_hub.services.held import HUB
from cloche_hub.services.records import Change, Records, noting

_log = structlog.get_logger(__name__)

BUILT_IN_SOURCE = "built-in"
"""Where a policy comes from that no file holds."""
_AUDITED_ERROR = 500


@dataclass(frozen=True, slots=True)
class PolicySource:
    """Where the policy is kept."""

    path: Path
    read: Callable[[Path], bytes | None]
    """What is there, or None if nothing is. May block. Raises BadRequest."""
    is_required: bool
    """Whether somebody has named the file: then it is an error that there is none."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A policy in force, and where it is from."""

    policy: Policy
    source: str
    """The file, or `BUILT_IN_SOURCE`."""
    text: str
    loaded_at: datetime
    error: str | None = None
    """What is wrong with the file now; the policy in force is another one."""

    @property
    def digest(self) -> str:
        """sha256 hex of the text in UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def audit_detail(self) -> dict[str, Json]:
        """What `policy.loaded` says."""
        return {"source": self.source, "digest": self.digest, "rules": len(self.policy.rules)}


class Policies:
    """Holds the policy in force.

    Args:
        source: where it is kept.
        store: for the audit: a policy that cannot be recorded does not come into force.
        records: for what is recorded whether or not there is room.
        clock: now.
    """

    def __init__(self, source: PolicySource, store: Store, records: Records, clock: Clock) -> None:
        self._source, self._store, self._records, self._clock = source, store, records, clock
        self._name = _as_text(str(source.path))
        self._asked: asyncio.Queue[tuple[str, asyncio.Future[Loaded]]] = asyncio.Queue()
        self.loaded = self._instead("the hub has not read its policy yet")
        """What is in force, with where it is from."""

    @property
    def current(self) -> Policy:
        """The policy in force."""
        return self.loaded.policy

    async def load(self) -> None:
        """Reads the policy at the hub's start; denies everything if it is wrong. Raises nothing."""
        try:
            self.loaded = await self._read()
        except BadRequest as error:
            self.loaded = self._instead(_as_text(error.message))
            await self._refused(error, actor=HUB)
            return
        await self._records.keep(_noting_loaded(self.loaded, actor=HUB))
        self._tell_loaded()

    async def reload(self, *, actor: str) -> Loaded:
        """Reads the policy again and puts it in force. Cancelling leaves open whether that happens.

        Raises:
            BadRequest: it is wrong; names the file, the rule and the key. The old one stays.
            NoSpace, StoreFailed: it cannot be recorded. The old one stays.
        """
        done: asyncio.Future[Loaded] = asyncio.get_running_loop().create_future()
        self._asked.put_nowait((actor, done))
        return await done

    async def run(self) -> None:
        """Carries out reloads, one after another, until cancelled.

        Not the tasks of those who ask: one that goes away must not part what is in force from what is recorded.
        """
        while True:
            actor, done = await self._asked.get()
            try:
                loaded = await self._reloaded(actor)
            except (CodedError, StoreFailed) as error:
                if not done.done():
                    done.set_exception(error)
            else:
                if not done.done():
                    done.set_result(loaded)

    async def reload_on(self, hangup: asyncio.Event) -> None:
        """Reloads whenever the event is set, until cancelled."""
        while True:
            await hangup.wait()
            hangup.clear()
            try:
                await self.reload(actor=HUB)
            except (CodedError, StoreFailed) as error:
                # Nobody waits for an answer; what is wrong with the file has been logged already.
                if not isinstance(error, BadRequest):
                    _log.error("policy_not_reloaded", reason=str(error))

    async def _reloaded(self, actor: str) -> Loaded:
        try:
            loaded = await self._read()
        except BadRequest as error:
            self.loaded = replace(self.loaded, error=_as_text(error.message))
            await self._refused(error, actor=actor)
            raise
        await self._store.write(_noting_loaded(loaded, actor=actor))
        self.loaded = loaded
        self._tell_loaded()
        return loaded

    async def _read(self) -> Loaded:
        source = self._name
        data = await asyncio.to_thread(self._source.read, self._source.path)
        if data is None:
            if self._source.is_required:
                raise BadRequest(f"{source}: there is no such file")
            source, data = BUILT_IN_SOURCE, BUILT_IN.encode()
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise BadRequest(f"{source}: is no text in UTF-8 (byte {error.start})") from None
        return Loaded(parse_policy(text, source), source, text, self._clock.now())

    def _instead(self, error: str) -> Loaded:
        # SAFETY: guests are told why they are denied. Of the host's folders they need to know nothing.
        told = error.replace(self._name, _as_text(self._source.path.name))
        policy = deny_everything(f"the hub's policy cannot be used: {told}")
        return Loaded(policy, self._name, "", self._clock.now(), error)

    async def _refused(self, error: BadRequest, *, actor: str) -> None:
        _log.error("policy_refused", reason=error.message)
        detail: dict[str, Json] = {
            "source": self._name,
            "error": _as_text(error.message)[:_AUDITED_ERROR],
        }
        await self._records.keep(noting(AuditName.POLICY_REFUSED, actor=actor, detail=detail))

    def _tell_loaded(self) -> None:
        _log.info("policy_loaded", **self.loaded.audit_detail())


def _noting_loaded(loaded: Loaded, *, actor: str) -> Change:
    return noting(AuditName.POLICY_LOADED, actor=actor, detail=loaded.audit_detail())


def _as_text(name: str) -> str:
    """A file's name as text that can be written down, whatever bytes it has."""
    return name.encode(errors="replace").decode()
