"""Calls that wait for a person: seen, and decided."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any

from cloche.answers import Answer
from cloche.approval_messages import ApprovalInfo
from cloche.errors import BadRequest, Cancelled
from cloche.partial import Partial

if TYPE_CHECKING:
    from cloche.link import Link


class Approvals:
    """The hub's approvals; `Hub.approvals` has them.

    An owner's token sees those of its own sandboxes; deciding needs one of scope operator or admin.
    """

    def __init__(self, link: Link) -> None:
        self._link = link

    @property
    def waiting(self) -> int:
        """How many waited when the connection was made; 0 for whoever cannot decide them."""
        count = self._link.hub_info.get("waiting")
        return count if isinstance(count, int) else 0

    async def list(
        self, *, states: Sequence[str] = ("pending",), sandbox: str | None = None, limit: int = 50
    ) -> Partial[ApprovalInfo]:
        """Approvals, the newest first.

        Args:
            states: of pending, approved, edited, denied, expired and abandoned.
            sandbox: only those of this one: an id, a name, or the beginning of one.
            limit: how many, 200 at most; fewer where they have no room in an answer (`omitted` counts them).

        Raises:
            NotFound, BadRequest: there is no such sandbox, or no such state.
        """
        asked: dict[str, Any] = {"states": [*states], "limit": limit}
        if sandbox is not None:
            asked["sandbox"] = sandbox
        answer = Answer("list", await self._link.call("approval.list", asked))
        return Partial(answer.each("approvals", ApprovalInfo.parse), omitted=answer.whole("omitted"))

    async def get(self, approval: str) -> ApprovalInfo:
        """The approval of an id, or of the beginning of one.

        Raises:
            NotFound: there is none.
            BadRequest: it could be several.
        """
        return ApprovalInfo.parse(await self._link.call("approval.show", {"approval": approval}))

    async def approve(self, approval: str, *, params: Any = None) -> ApprovalInfo:
        """Lets a call pass, as it was asked or with other parameters; returns the approval as it is then.

        Args:
            approval: its id, or the beginning of it.
            params: to call with instead, anything JSON has; None: as it was asked.

        Raises:
            Conflict: it has been decided already, and the message says by whom; or nobody waits for it any more.
            NotFound, BadRequest: there is none, or the parameters are impossible.
            Forbidden: this token does not decide.
        """
        asked = {"approval": approval}
        if params is not None:
            asked["params"] = _as_text(params)
        return ApprovalInfo.parse(await self._link.call("approval.approve", asked))

    async def deny(self, approval: str, reason: str) -> ApprovalInfo:
        """Refuses a call; returns the approval as it is then.

        Args:
            approval: its id, or the beginning of it.
            reason: why; the program in the sandbox and the audit get it.

        Raises:
            Conflict: it has been decided already, and the message says by whom; or nobody waits for it any more.
            NotFound, BadRequest: there is none, or no reason.
            Forbidden: this token does not decide.
        """
        denied = await self._link.call("approval.deny", {"approval": approval, "reason": reason})
        return ApprovalInfo.parse(denied)

    async def watch(self, *, sandbox: str | None = None) -> AsyncGenerator[ApprovalInfo, None]:
        """Each approval that waits now, then each one as it begins to wait and as it is decided, without end.

        Who reads slowly gets the newest state of each, once.

        Args:
            sandbox: only those of this one.

        Raises:
            CodedError: the connection is lost, and what happened meanwhile is not known.
        """
        asked: dict[str, Any] = {"topics": ["approval"]}
        if sandbox is not None:
            asked["sandbox"] = sandbox
        channel = self._link.open("events", asked)
        try:
            async for message in channel.messages():
                read = Answer("event", message)
                if read.text("topic") != "approval" or read.text("change") == "gone":
                    continue
                yield ApprovalInfo.parse(read.of_type("value", dict))
            await channel.result()
        finally:
            channel.reset(Cancelled("the caller has seen enough"))


def _as_text(params: Any) -> str:
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        return json.dumps(params, ensure_ascii=False, allow_nan=False)
    raise BadRequest("params must be something JSON has")
