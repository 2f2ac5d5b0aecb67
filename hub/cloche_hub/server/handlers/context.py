"""What handlers work with: the services in one value, and what several of them do alike."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cloche_hub.domain.fields import Fields
from cloche_hub.domain.references import check_reference
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.domain.tokens import Token, visible_owner
from cloche_hub.errors import CodedError, TimedOut, TooLarge
from cloche_hub.ports import AuditLog, Hypervisor, Images, OnProgress, Progress, Recordings, Store
from cloche_hub.server.messages import progress_message
from cloche_hub.services.approvals import Approvals
from cloche_hub.services.callback_handlers import CallbackHandlers
from cloche_hub.services.changes import Changes
from cloche_hub.services.consoles.consoles import Consoles
from cloche_hub.services.consoles.looks import ConsoleLooks
from cloche_hub.services.execs import Execs
from cloche_hub.services.fair import Turns
from cloche_hub.services.files import Files
from cloche_hub.services.images import ImageService
from cloche_hub.services.places import Places
from cloche_hub.services.policy import Policies
from cloche_hub.services.sandboxes import Sandboxes
from cloche_hub.services.tokens import Tokens
from cloche_hub.services.usage import UsageSampler
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel
from cloche_wire.aio.bounds import within

MOST_FOLLOWERS = 32
"""Searches of the audit that a token follows at once."""
DELIVERY_S = 30.0
"""How long a long answer is kept for a client that does not read."""


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a request may need of the hub."""

    version: str
    address: str
    """Where clients of this user find the hub."""
    started_at: datetime
    default_lease_s: float
    max_lease_s: float
    tokens: Tokens
    usage: UsageSampler
    sandboxes: Sandboxes
    execs: Execs
    consoles: Consoles
    console_looks: ConsoleLooks
    files: Files
    callback_handlers: CallbackHandlers
    approvals: Approvals
    changes: Changes
    """Where whoever follows learns what has changed."""
    store: Store
    recordings: Recordings
    image_service: ImageService
    policies: Policies
    images: Images
    hypervisor: Hypervisor
    audit: AuditLog
    cache: str
    """The folder of images and templates, for people to read."""
    free_bytes: Callable[[], int]
    """Free space on the cache's disk. Raises OSError."""
    stop: Callable[[], None]
    """Has the hub end in good order."""
    lists: Turns = field(default_factory=Turns)
    """Of each token, one long list is made and held at a time."""
    searches: Turns = field(default_factory=Turns)
    """Of each token, one search of recordings is made at a time."""
    audit_searches: Turns = field(default_factory=Turns)
    """Of each token, one part of the audit is searched at a time."""
    audit_followers: Places = field(default_factory=lambda: Places("follows the audit", most=MOST_FOLLOWERS))
    """Of each token, so many searches go on with what comes."""


Handler = Callable[[Services, Token, Channel], Awaitable[None]]


async def find_sandbox(services: Services, token: Token, kind: str, fields: Fields) -> Sandbox:
    """The sandbox a request is about, if this token may touch it.

    Raises:
        NotFound, BadRequest: none is meant that it may see, or several.
    """
    reference = check_reference(fields.text("sandbox"))
    owner = visible_owner(token, kind)
    return await services.sandboxes.find(reference, owner=owner, caller=token.owner)


def no_fields(channel: Channel) -> None:
    """Refuses parameters where there are none.

    Raises:
        BadRequest: there are some.
    """
    Fields.of(channel.params, ())


def close_with_those_that_fit(
    channel: Channel, name: str, messages: Sequence[dict[str, Any]], *, omitted: int = 0
) -> None:
    """Answers with a list under a name, cut to what a frame can hold; `omitted` counts the others.

    Args:
        channel: to be closed.
        name: of the list in the answer.
        messages: the list, the most wanted first.
        omitted: how many are left out already.
    """
    fitting = messages
    while True:
        try:
            channel.close({name: fitting, "omitted": omitted + len(messages) - len(fitting)})
        except TooLarge:
            fitting = fitting[: len(fitting) * 3 // 4]
        else:
            return


async def delivered(channel: Channel) -> None:
    """Waits until the client has a long answer; one that does not take it is not kept for it for ever.

    Raises:
        CodedError: the client is gone, or gave up.
    """
    try:
        async with within(DELIVERY_S):
            await channel.wait_confirmed()
    except TimeoutError:
        channel.reset(TimedOut(f"the answer was not taken within {DELIVERY_S:g} s; ask again"))


@contextlib.asynccontextmanager
async def with_progress(channel: Channel) -> AsyncIterator[OnProgress]:
    """Accepts the channel and sends the steps of the work inside, which is cancelled when the client gives up."""
    channel.accept()
    steps = _Steps(channel)
    async with while_wanted(channel), asyncio.TaskGroup() as tasks:
        sender = tasks.create_task(steps.send_for_ever())
        yield steps.report
        sender.cancel()


class _Steps:
    """Sends the newest step of a long work on a channel; steps that come faster than the client reads are dropped."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._newest: Progress | None = None
        self._news = asyncio.Event()

    def report(self, progress: Progress) -> None:
        """Takes a step; never waits."""
        self._newest = progress
        self._news.set()

    async def send_for_ever(self) -> None:
        """Sends steps until cancelled; ends by itself when the client is gone."""
        # The work itself learns of that from `while_wanted`.
        with contextlib.suppress(CodedError):
            while True:
                await self._news.wait()
                self._news.clear()
                if self._newest is not None:
                    await self._channel.send_message(progress_message(self._newest))
