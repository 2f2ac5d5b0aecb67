"""A hostile client and a hostile guest, each beside an honest one, at a real hub: nobody else notices anything."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from cloche_wire.errors import CodedError
from cloche_wire.frames import Accept, Bye, Close, Data, Decoder, Frame, Open, Ping, Pong, encode
from cloche_wire.limits import Limits
from tests.fuzz import hostile
from tests.fuzz.borders import BORDERS
from tests.fuzz.mutations import change_params
from tests.support.hub import Client, RunningHub, open_socket, running_hub, within
from tests.support.strangers import hello

MESSAGES = 2_000
"""Hostile messages of each test."""
A_TURN = 20
"""Of them between two looks at whether the honest neighbour is served."""

KINDS = (
    *(
        "exec",
        "console.create",
        "console.attach",
        "file.read",
        "file.list",
        "file.write",
        "callback.serve",
        "callback",
    ),
    *("sandbox.list", "sandbox.show", "policy.check", "approval.list", "audit.tail", "no such kind"),
)


def _said(rng: random.Random, first: int) -> bytes:
    """A message of a peer that opens channels as an honest one does, or almost."""
    frames: list[Frame] = []
    for index in range(rng.randint(1, 3)):
        kind = rng.choice(KINDS)
        border = BORDERS.get(f"hub: {kind}")
        params: dict[str, Any] = dict(rng.choice(border.honest)) if border else {}
        if rng.random() < 0.7:
            params = change_params(rng, params)
        number = first + 2 * index
        frames += [Open(number, kind, params, rng.choice([0, 64, 1 << 20]))]
        if rng.random() < 0.1:
            frames += [Data(number, rng.randrange(4), 0, rng.randbytes(9))]
    if rng.random() < 0.2:
        # Words about channels of the hub's own, which it may or may not have.
        own = rng.randrange(9)
        frames += [Accept(own, {}, 9) if rng.random() < 0.5 else Close(own, {"exit_code": 0})]
    limits = Limits()
    try:
        message = b"".join(encode(frame, limits) for frame in frames)
    except ValueError:
        return b"\xc1"  # nested deeper than can be packed
    way = rng.random()
    if way < 0.15:
        return hostile.change_bytes(rng, message) or b"\xc1"
    if way < 0.25:
        return hostile.lie(rng, message)
    if way < 0.3:
        return hostile.bomb(rng)
    return message


async def _is_served(client: Client, turn: int) -> None:
    ran = await client.run("honest", "echo", str(turn))
    assert (ran.stdout, ran.stderr) == (f"{turn}\n".encode(), b"")
    assert ran.result["exit_code"] == 0


def _was_bothered_but_has_no_defect(hub: RunningHub, how: str) -> None:
    logged = {entry["event"] for entry in hub.logs}
    assert how in logged
    assert [name for name in logged if "defect" in name] == []


async def test_a_hostile_client_spoils_nothing_for_another(tmp_path: Path) -> None:
    rng = random.Random(1)
    said = 0
    # A hostile link leaves a session that waits for its client: none of them may keep the next one from being heard.
    async with running_hub(tmp_path, max_token_connections=240) as hub, hub.client() as honest:
        await honest.create(name="honest")
        token = await hub.mint("mallory")
        for turn in range(MESSAGES // A_TURN):
            until = said + A_TURN
            while said < until:
                said += await _one_link(hub, token, rng, most=until - said)
            await _is_served(honest, turn)
        _was_bothered_but_has_no_defect(hub, "client_link_ended")
    assert said >= MESSAGES


async def _one_link(hub: RunningHub, token: str, rng: random.Random, *, most: int) -> int:
    """A hostile session, until the hub has enough of it; returns how much was said."""
    socket = await within(open_socket(hub.address))
    decoder = Decoder(Limits())
    said = 0
    try:
        await socket.send(encode(hello(token, session=rng.randbytes(16)), Limits()))
        for _ in range(rng.randint(1, most)):
            await within(socket.send(_said(rng, 1 + 6 * said)))
            said += 1
            if rng.random() < 0.5 and not await within(_goes_on(socket, decoder, said)):
                break
    except ConnectionClosed:
        pass
    finally:
        socket.transport.abort()
    return max(said, 1)


async def _goes_on(socket: ClientConnection, decoder: Decoder, token: int) -> bool:
    """Waits until the hub has heard everything so far; returns whether it hears more."""
    await socket.send(encode(Ping(0, token), Limits()))
    while True:
        message = await socket.recv()
        assert isinstance(message, bytes)
        for frame in decoder.frames(message):
            if isinstance(frame, Bye) or frame == Pong(0, token):
                return not isinstance(frame, Bye)


async def test_a_hostile_guest_spoils_nothing_for_another(tmp_path: Path) -> None:
    rng = random.Random(2)
    said = 0
    async with running_hub(tmp_path) as hub, hub.client() as client:
        await client.create(name="honest")
        for turn in range(MESSAGES // A_TURN):
            await client.create(name="hostile")
            agent = hub.machine.agent
            for index in range(A_TURN):
                try:
                    await within(agent.babble(_said(rng, 2 + 6 * index)))
                except CodedError:
                    break  # the hub has ended the link
                finally:
                    said += 1
            await _is_served(client, turn)
            await client.call("sandbox.remove", sandbox="hostile")
        _was_bothered_but_has_no_defect(hub, "guest_out_of_step")
    assert said >= MESSAGES // 2
