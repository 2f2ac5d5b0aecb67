"""Requests about recordings: what there is, its text, and where something was shown.

Rule: a recording of a sandbox that a token may not see does not exist for it. Recordings outlive their sandboxes.
"""

from __future__ import annotations

import contextlib
import hashlib

from cloche_hub.domain.fields import Fields
from cloche_hub.domain.references import check_reference
from cloche_hub.domain.tokens import Token, visible_owner
from cloche_hub.errors import BadRequest, InternalError
from cloche_hub.ports import RecordingRow
from cloche_hub.server.handlers.context import Services, close_with_those_that_fit
from cloche_hub.server.recording_messages import hit_message, recording_message
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel

MAX_LISTED = 1000
"""Recordings in one answer."""
MAX_HITS = 1000
"""Lines that one search finds."""
SEARCH_S = 20.0
"""How long one search may take."""
TEXT = 1
"""The stream that carries a recording's text."""
_MOST_REFERENCE = 64
_MOST_WANTED = 1000


async def list_(services: Services, token: Token, channel: Channel) -> None:
    """`recording.list`, newest first."""
    fields = Fields.of(channel.params, ("sandbox", "limit"))
    limit = fields.whole("limit", default=100, least=1, most=MAX_LISTED)
    sandbox = await _sandbox_id(services, token, channel, fields)
    async with while_wanted(channel):
        found = await services.recordings.list(
            sandbox=sandbox, owner=visible_owner(token, channel.kind), limit=limit
        )
    close_with_those_that_fit(channel, "recordings", [recording_message(row) for row in found])


async def show(services: Services, token: Token, channel: Channel) -> None:
    """`recording.show`."""
    fields = Fields.of(channel.params, ("recording",))
    channel.close(recording_message(await _find(services, token, channel, fields)))


async def read(services: Services, token: Token, channel: Channel) -> None:
    """`recording.read`: its asciicast text on stream 1; of one that is under way, what there is now.

    What is sent of a finished one is what was recorded, by its digest, or the request fails.
    """
    fields = Fields.of(channel.params, ("recording",))
    row = await _find(services, token, channel, fields)
    digest, size = hashlib.sha256(), 0
    channel.accept()
    async with while_wanted(channel), contextlib.aclosing(services.recordings.read(row.id)) as pieces:
        # A piece at a time, and no faster than the client reads.
        async for piece in pieces:
            digest.update(piece)
            size += len(piece)
            await channel.write(TEXT, piece)
    if row.sha256 not in (None, digest.hexdigest()):
        raise InternalError(
            f"recording {row.id} is not what was recorded: its text has another digest than the audit"
        )
    channel.end(TEXT)
    channel.close({"sha256": digest.hexdigest(), "size_bytes": size, "is_cut": row.is_cut})


async def search(services: Services, token: Token, channel: Channel) -> None:
    """`recording.search`: lines that have a text. Of each token one search is made at a time."""
    fields = Fields.of(channel.params, ("text", "sandbox", "limit"))
    text = fields.text("text")
    if not text.strip() or len(text) > _MOST_WANTED or len(text.splitlines()) > 1:
        raise BadRequest(f"text must be one line of up to {_MOST_WANTED} characters, and not empty")
    limit = fields.whole("limit", default=100, least=1, most=MAX_HITS)
    sandbox = await _sandbox_id(services, token, channel, fields)
    owner = visible_owner(token, channel.kind)
    async with while_wanted(channel), services.searches.turn(token.id):
        found = await services.recordings.search(
            text, sandbox=sandbox, owner=owner, limit=limit, within_s=SEARCH_S
        )
    close_with_those_that_fit(
        channel, "hits", [hit_message(hit) for hit in found.hits], omitted=found.omitted
    )


async def _find(services: Services, token: Token, channel: Channel, fields: Fields) -> RecordingRow:
    reference = fields.text("recording")
    if len(reference) > _MOST_REFERENCE:
        raise BadRequest("recording is longer than any id; give the beginning of one")
    return await services.recordings.find(reference, owner=visible_owner(token, channel.kind))


async def _sandbox_id(services: Services, token: Token, channel: Channel, fields: Fields) -> str | None:
    reference = fields.optional_text("sandbox")
    if reference is None:
        return None
    owner = visible_owner(token, channel.kind)
    # Recordings are mostly looked at when their sandbox is gone.
    found = await services.sandboxes.find_left(check_reference(reference), owner=owner, caller=token.owner)
    return found.id
