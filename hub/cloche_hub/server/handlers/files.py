"""Requests about files: `file.read`, `file.write` and the rest."""

from __future__ import annotations

from collections.abc import Callable

from cloche_hub.domain import file_requests
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.file_requests import FileRequest
from cloche_hub.domain.tokens import Token
from cloche_hub.server.handlers.context import Handler, Services, find_sandbox
from cloche_hub.services.wanted import while_wanted
from cloche_wire.aio import Channel


async def read(services: Services, token: Token, channel: Channel) -> None:
    """`file.read`: the channel is spliced to the guest's and carries the bytes."""
    request = file_requests.parse_read(channel.params)
    sandbox = await find_sandbox(services, token, channel.kind, Fields(channel.params))
    await services.files.read(channel, request, sandbox, actor=token.id)


async def write(services: Services, token: Token, channel: Channel) -> None:
    """`file.write`: the channel is spliced to the guest's and carries the bytes."""
    request = file_requests.parse_write(channel.params)
    sandbox = await find_sandbox(services, token, channel.kind, Fields(channel.params))
    await services.files.write(channel, request, sandbox, actor=token.id)


async def stat(services: Services, token: Token, channel: Channel) -> None:
    """`file.stat`."""
    request = file_requests.parse_stat(channel.params)
    sandbox = await find_sandbox(services, token, channel.kind, Fields(channel.params))
    async with while_wanted(channel):
        entry = await services.files.stat(request, sandbox)
    channel.close(entry)


async def list_(services: Services, token: Token, channel: Channel) -> None:
    """`file.list`, with the entries as messages on stream 0."""
    request = file_requests.parse_list(channel.params)
    sandbox = await find_sandbox(services, token, channel.kind, Fields(channel.params))
    async with while_wanted(channel):
        count = await services.files.list(channel, request, sandbox)
    channel.close(count)


def _change(parse: Callable[[object], FileRequest]) -> Handler:
    async def change(services: Services, token: Token, channel: Channel) -> None:
        request = parse(channel.params)
        sandbox = await find_sandbox(services, token, channel.kind, Fields(channel.params))
        async with while_wanted(channel):
            answer = await services.files.change(channel.kind, request, sandbox, actor=token.id)
        channel.close(answer)

    return change


make_dir = _change(file_requests.parse_make_dir)
remove = _change(file_requests.parse_remove)
rename = _change(file_requests.parse_rename)
set_mode = _change(file_requests.parse_set_mode)
link = _change(file_requests.parse_link)
