"""Files in sandboxes: content spliced between the client's channel and the guest's, and the small requests.

Rules:
- A file read or written passes through and is held nowhere: a slow reader slows the other end down.
- What a guest says is checked and made anew, field by field, before a client hears it (`file_entries`); so is its
  account of how much there was, against what has passed.
- Every read and every change is in the audit before the client hears that it is done, with what has passed of it where
  it failed (see `recorded`). A look (`stat`, `list`) is not.
- A write that fails leaves the file as it was: only a guest that has seen the end of the bytes puts it in its place.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.file_entries import parse_batch, parse_count, parse_entry, parse_file_entry
from cloche_hub.domain.file_requests import FileRequest, ReadRequest, RemoveRequest, StatRequest, WriteRequest
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.errors import BadRequest, Cancelled, SenselessAnswer
from cloche_hub.services.content import Content
from cloche_hub.services.recorded import Recorded, Recorder
from cloche_hub.services.sandboxes import Sandboxes
from cloche_wire.aio import Channel, splice
from cloche_wire.aio.channel import MESSAGES

_LIST_WINDOW = 64 << 10
_MAX_BATCH_BYTES = 128 << 10
"""Of one message of a listing: a sound agent's are 40 KiB at most."""
_NO_WINDOW = 1
"""For requests that carry no streams: what a guest sends on them all the same is never read."""


class Files:
    """Reads, writes and changes files.

    Args:
        sandboxes: where they are.
        recorder: for the audit.
    """

    def __init__(self, sandboxes: Sandboxes, recorder: Recorder) -> None:
        self._sandboxes, self._recorder = sandboxes, recorder

    async def read(self, channel: Channel, request: ReadRequest, sandbox: Sandbox, *, actor: str) -> None:
        """Sends a file's bytes on a client's channel, which tells its entry at the start and its sha256 at the end.

        Raises:
            WrongState: the sandbox is not running.
            NoSpace: it cannot be recorded.
            CodedError: the guest refused or failed, or the client went away.
        """
        content = Content(_senseless, most=request.length)
        work = self._work("file.read", request, sandbox, actor, content)

        async def end(result: dict[str, Any]) -> dict[str, Any]:
            if parse_count(result, "size_bytes") != content.size_bytes:
                raise _senseless("another size than it has sent")
            passed = _passed(content)
            detail = {**request.audit_detail(), **passed}
            await work.end(AuditName.FILE_READ, detail, what="the file has been read", told=passed)
            return dict(passed)

        async with self._sandboxes.in_use(sandbox.id) as guest, _recorded(work):
            back = await guest.open_work("file.read", request.guest_params(), window=channel.window)
            await splice(
                channel,
                back,
                check_info=parse_file_entry,
                before_close=end,
                front_tap=Content(BadRequest, most=0),
                back_tap=content,
            )

    async def write(self, channel: Channel, request: WriteRequest, sandbox: Sandbox, *, actor: str) -> None:
        """Writes what comes on a client's channel to a file, which is there when all of it has come.

        Raises:
            WrongState: the sandbox is not running.
            NoSpace: the machine's disk is full; or it cannot be recorded, then `details` says that it is written.
            CodedError: the guest refused or failed, or the client went away.
        """
        content = Content(BadRequest)
        work = self._work("file.write", request, sandbox, actor, content)

        async def end(result: dict[str, Any]) -> dict[str, Any]:
            entry = parse_file_entry(result)
            if not content.is_complete:
                raise _senseless("it is written before all of it has come")
            if entry["size_bytes"] != content.size_bytes:
                raise _senseless("another size than has been sent")
            passed = _passed(content)
            detail = {**request.audit_detail(), **passed}
            await work.end(AuditName.FILE_WRITTEN, detail, what="the file has been written", told=passed)
            return {**entry, "sha256": content.sha256}

        async with self._sandboxes.in_use(sandbox.id) as guest, _recorded(work):
            back = await guest.open_work("file.write", request.guest_params(), window=channel.window)
            await splice(
                channel,
                back,
                check_info=_nothing,
                before_close=end,
                front_tap=content,
                back_tap=Content(_senseless, most=0),
            )

    async def stat(self, request: StatRequest, sandbox: Sandbox) -> dict[str, Any]:
        """What is at a path: its entry.

        Raises:
            WrongState: the sandbox is not running.
            CodedError: the guest refused or failed.
        """
        async with self._opened("file.stat", request, sandbox) as back:
            return parse_entry(await back.result())

    async def list(self, channel: Channel, request: FileRequest, sandbox: Sandbox) -> dict[str, Any]:
        """Sends the entries of a folder as messages, in batches and no faster than they are read; returns their count.

        Raises:
            WrongState: the sandbox is not running.
            CodedError: the guest refused or failed, or the client went away.
        """
        count = 0
        async with self._opened("file.list", request, sandbox, window=_LIST_WINDOW) as back:
            await back.wait_accepted()
            channel.accept()
            try:
                async for message in back.messages(max_bytes=_MAX_BATCH_BYTES):
                    batch = parse_batch(message)
                    count += len(batch)
                    await channel.send_message({"entries": batch})
            except BadRequest as error:
                # Not the client's fault.
                raise SenselessAnswer(f"the guest sent no list of files: {error.message}") from None
            if parse_count(await back.result(), "entries") != count:
                raise _senseless("another number of entries than it has sent")
        channel.end(MESSAGES)
        return {"entries": count}

    async def change(
        self, kind: str, request: FileRequest, sandbox: Sandbox, *, actor: str
    ) -> dict[str, Any]:
        """Makes, removes, renames or links a file, or sets its permissions; returns what the client is told.

        Cancelling it stops a removal where it is.

        Args:
            kind: of the request, which is the guest's too.
            request: one of `file_requests`.
            sandbox: where.
            actor: who asks.

        Raises:
            WrongState: the sandbox is not running.
            NoSpace: it cannot be recorded; `details` says whether it is done.
            CodedError: the guest refused or failed.
        """
        work = self._work(kind, request, sandbox, actor)
        parse: Callable[[dict[str, Any]], dict[str, Any]] = parse_entry
        if isinstance(request, RemoveRequest):
            parse = _parse_removed
        async with _recorded(work), self._opened(kind, request, sandbox) as back:
            answer = parse(await back.result())
            detail = {**request.audit_detail(), "change": kind.removeprefix("file.")}
            if isinstance(request, RemoveRequest):
                detail["removed"] = answer["removed"]
            await work.end(
                AuditName.FILE_CHANGED, detail, what=f"{kind} has been done", told={"is_done": True}
            )
            return answer

    def _work(
        self, kind: str, request: FileRequest, sandbox: Sandbox, actor: str, content: Content | None = None
    ) -> Recorded:
        def so_far() -> dict[str, Json]:
            begun = {} if content is None or not content.size_bytes else _passed(content)
            return {**request.audit_detail(), "request": kind, **begun}

        return self._recorder.work(
            sandbox.id, actor=actor, about={}, failed=AuditName.FILE_FAILED, so_far=so_far
        )

    @contextlib.asynccontextmanager
    async def _opened(
        self, kind: str, request: FileRequest, sandbox: Sandbox, *, window: int = _NO_WINDOW
    ) -> AsyncIterator[Channel]:
        """The guest's channel for a request; the guest hears at once if it is left early."""
        async with self._sandboxes.in_use(sandbox.id) as guest:
            back = await guest.open_work(kind, request.guest_params(), window=window)
            try:
                yield back
            finally:
                back.reset(Cancelled("nobody waits for it any more"))


@contextlib.asynccontextmanager
async def _recorded(work: Recorded) -> AsyncIterator[None]:
    work.require_recordable()
    async with work.watched():
        yield


def _parse_removed(result: dict[str, Any]) -> dict[str, Any]:
    return {"removed": parse_count(result, "removed")}


def _passed(content: Content) -> dict[str, Json]:
    return {"size_bytes": content.size_bytes, "sha256": content.sha256}


def _nothing(_info: dict[str, Any]) -> dict[str, Any]:
    return {}


def _senseless(what: str) -> SenselessAnswer:
    return SenselessAnswer(f"the guest's account of a file makes no sense: {what}")
