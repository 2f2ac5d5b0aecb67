"""What may leave sandboxes: the policy in force, and what another one would say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cloche.errors import BadRequest
from cloche.policy_messages import PolicyChecked, PolicyInfo

if TYPE_CHECKING:
    from cloche.link import Link


class Policy:
    """The hub's policy; `Hub.policy` has it. Needs a token of scope operator, to reload one of scope admin."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def show(self) -> PolicyInfo:
        """The policy in force."""
        return PolicyInfo.parse(await self._link.call("policy.show"))

    async def check(
        self,
        text: str,
        *,
        method: str | None = None,
        params: Any = None,
        owner: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> PolicyChecked:
        """What is wrong with a policy, and what it says of a call. Changes nothing.

        Args:
            text: the policy, in TOML.
            method: of the call; without one only the text is checked.
            params: of the call, anything JSON has.
            owner: whose sandbox calls; this token's owner if not given.
            labels: of the sandbox.

        Raises:
            BadRequest: the call is impossible. A policy that is wrong is an answer.
            TooLarge: the call's parameters are.
        """
        asked: dict[str, Any] = {"text": text}
        if method is not None:
            asked["call"] = {
                "method": method,
                "params": _as_text(params),
                "owner": owner,
                "labels": dict(labels or {}),
            }
        return PolicyChecked.parse(await self._link.call("policy.check", asked))

    async def reload(self) -> PolicyInfo:
        """Has the hub read its policy's file again; returns what is in force then.

        Raises:
            BadRequest: the file is wrong; the message names the rule and the key. The old policy stays.
            NoSpace: it cannot be recorded. The old policy stays.
        """
        return PolicyInfo.parse(await self._link.call("policy.reload"))


def _as_text(params: Any) -> str:
    try:
        return json.dumps(params, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRequest(f"params must be something JSON has: {error}") from None
