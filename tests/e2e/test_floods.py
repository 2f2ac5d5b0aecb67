"""Output that nobody reads: it waits in the guest, and neither the hub's memory nor anybody else pays for it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import Iterator

import pytest

from cloche import aio
from cloche_term.terminal import MOST_SCROLLBACK_BYTES
from tests.e2e.guarded import BOUND_S, connected, own_memory, still_serves, within
from tests.support.real_hub import RealHub

pytestmark = pytest.mark.machine

_MIB = 1 << 20


async def test_floods_that_nobody_reads_cost_nobody_anything(guarded_hub: RealHub) -> None:
    assert guarded_hub.process is not None
    async with (
        connected(guarded_hub.address, guarded_hub.token) as hub,
        hub.create() as other,
        hub.create() as sandbox,
        connected(guarded_hub.address, guarded_hub.token) as flooded,
    ):
        await within(sandbox.run("truncate -s 1G big", check=True))
        # The hub loads its emulator with the first console.
        async with sandbox.console(["true"]) as first:
            await within(first.wait())
        await still_serves(other)
        before = own_memory(guarded_hub.process.pid)
        source = await flooded.sandbox(sandbox.id)
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(4):
                process = await stack.enter_async_context(source.exec(["cat", "/dev/zero"]))
                assert await within(process.stdout.read())
            console = await stack.enter_async_context(source.console(["yes"]))
            assert await within(console.read())
            pieces = await stack.enter_async_context(contextlib.aclosing(source.files.stream("big")))
            assert await within(anext(pieces))
            stack.enter_context(_stopped_client(guarded_hub, sandbox))
            async with asyncio.timeout(BOUND_S):
                for _ in range(10):
                    await still_serves(other)
            # The same sandbox still serves others, too.
            await still_serves(sandbox)
            # A window a stream, one terminal's scrollback, and nothing that grows with what the floods would send.
            assert own_memory(guarded_hub.process.pid) - before < 8 * _MIB + MOST_SCROLLBACK_BYTES
            # What waited is whole and in order, and of a terminal there is the screen.
            assert set(await within(process.stdout.read())) == {0}
            assert set((await within(console.look())).lines) <= {"y", ""}
        await still_serves(sandbox)


@contextlib.contextmanager
def _stopped_client(hub: RealHub, sandbox: aio.Sandbox) -> Iterator[None]:
    """A client that has asked for a flood and has stopped altogether: it does not even read its socket."""
    words = hub.command("exec", sandbox.id, "--", "cat", "/dev/zero")
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=hub.env) as client:
        assert client.stdout is not None
        try:
            assert client.stdout.read(1)
            client.send_signal(signal.SIGSTOP)
            yield
        finally:
            client.kill()
