"""Requests about approvals: who may see them, and who decides.

Rule: an approval of a sandbox that a token may not see does not exist for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cloche_hub.domain.approval import Approval, ApprovalState, cut
from cloche_hub.domain.callback_json import parse_canonical
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.references import check_reference
from cloche_hub.domain.tokens import Token, visible_owner
from cloche_hub.errors import BadRequest
from cloche_hub.server.handlers.context import Services, close_with_those_that_fit, delivered
from cloche_hub.server.messages import approval_message
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel

MAX_LISTED = 200
"""Approvals in one answer."""
LISTED_BYTES = 256 << 10
"""Of parameters in one list: beyond it, they are cut."""


async def list_(services: Services, token: Token, channel: Channel) -> None:
    """`approval.list`, newest first, with long parameters cut."""
    fields = Fields.of(channel.params, ("states", "sandbox", "limit"))
    states = _parse_states(fields)
    limit = fields.whole("limit", default=50, least=1, most=MAX_LISTED)
    owner = visible_owner(token, channel.kind)
    sandbox = fields.optional_text("sandbox")
    if sandbox is not None:
        found = await services.sandboxes.find_ever(check_reference(sandbox), owner=owner, caller=token.owner)
        sandbox = found.id
    async with while_wanted(channel), services.lists.turn(token.id):
        approvals = await services.store.approvals(states=states, limit=limit, sandbox=sandbox, owner=owner)
        messages = [approval_message(approval) for approval in _of_bounded_size(approvals)]
        close_with_those_that_fit(channel, "approvals", messages)
        await delivered(channel)


async def show(services: Services, token: Token, channel: Channel) -> None:
    """`approval.show`."""
    fields = Fields.of(channel.params, ("approval",))
    channel.close(approval_message(await _find(services, token, channel, fields)))


async def approve(services: Services, token: Token, channel: Channel) -> None:
    """`approval.approve`: as it was asked, or with other parameters."""
    fields = Fields.of(channel.params, ("approval", "params"))
    text = fields.optional_text("params")
    params = None if text is None else parse_canonical(text.encode(), what="params")[1]
    approval = await _find(services, token, channel, fields)
    decided = await services.approvals.approve(approval.id, params=params, by=token.id, by_name=token.name)
    channel.close(approval_message(decided))


async def deny(services: Services, token: Token, channel: Channel) -> None:
    """`approval.deny`."""
    fields = Fields.of(channel.params, ("approval", "reason"))
    approval = await _find(services, token, channel, fields)
    decided = await services.approvals.deny(
        approval.id, reason=fields.text("reason", ""), by=token.id, by_name=token.name
    )
    channel.close(approval_message(decided))


async def _find(services: Services, token: Token, channel: Channel, fields: Fields) -> Approval:
    reference = fields.text("approval")
    if len(reference) > 64:
        raise BadRequest("approval is longer than any id; give the beginning of one")
    return await services.store.find_approval(reference, owner=visible_owner(token, channel.kind))


def _parse_states(fields: Fields) -> Sequence[ApprovalState]:
    names = fields.texts("states", most=len(ApprovalState))
    try:
        return [ApprovalState(name) for name in names] or [ApprovalState.PENDING]
    except ValueError:
        raise BadRequest(f"states must be of: {', '.join(ApprovalState)}") from None


def _of_bounded_size(approvals: Sequence[Approval]) -> Iterator[Approval]:
    # A guest chooses the size of its parameters: with them, it must not push others' approvals out of a list.
    size = 0
    for approval in approvals:
        size += sum(len(text.encode()) for text in (approval.params, approval.approved_params) if text)
        yield approval if size <= LISTED_BYTES else cut(approval, longer_than=0)
