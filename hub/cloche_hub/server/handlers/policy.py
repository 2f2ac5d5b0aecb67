"""Requests about the policy: what is in force, what another one would say, and a file read again."""

from __future__ import annotations

import asyncio
from typing import Any

from cloche_hub.domain.callback_json import parse_params
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.policy import Call, Verdict, decide
from cloche_hub.domain.policy_text import read_policy
from cloche_hub.domain.requests import parse_labels
from cloche_hub.domain.times import to_text
from cloche_hub.domain.tokens import Token
from cloche_hub.server.handlers.context import Services, no_fields
from cloche_hub.services.policy import Loaded
from cloche_wire.aio import Channel


async def show(services: Services, _token: Token, channel: Channel) -> None:
    """`policy.show`."""
    no_fields(channel)
    channel.close(_loaded_message(services.policies.loaded))


async def check(_services: Services, token: Token, channel: Channel) -> None:
    """`policy.check`: changes nothing."""
    fields = Fields.of(channel.params, ("text", "call"))
    text = fields.text("text")
    # A wrong call is told also where the policy is wrong, too.
    call = _parse_call(fields.values.get("call"), token)
    # In a thread: a long text takes tens of milliseconds, and everybody else would wait for them.
    policy, problems = await asyncio.to_thread(read_policy, text)
    answer: dict[str, Any] = {"rules": len(policy.rules) if policy else 0, "problems": problems}
    if policy is not None and call is not None:
        decision = decide(policy, call)
        answer |= {"verdict": str(decision.verdict), "rule": decision.rule, "reason": decision.reason}
        if decision.verdict is Verdict.ASK:
            answer |= {"deadline_s": decision.deadline_s, "on_deadline": str(decision.on_deadline)}
    channel.close(answer)


async def reload(services: Services, token: Token, channel: Channel) -> None:
    """`policy.reload`."""
    no_fields(channel)
    channel.close(_loaded_message(await services.policies.reload(actor=token.id)))


def _parse_call(value: object, token: Token) -> Call | None:
    if value is None:
        return None
    fields = Fields.of(value, ("method", "params", "owner", "labels"))
    return Call(
        method=fields.text("method"),
        params=parse_params(fields.text("params", "null").encode()),
        owner=fields.text("owner", token.owner),
        labels=parse_labels(fields),
    )


def _loaded_message(loaded: Loaded) -> dict[str, Any]:
    return {
        "source": loaded.source,
        "text": loaded.text,
        "digest": loaded.digest,
        "loaded_at": to_text(loaded.loaded_at),
        "rules": len(loaded.policy.rules),
        "error": loaded.error,
    }
