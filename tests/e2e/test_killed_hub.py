"""What the next hub knows of what a killed one had under way."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from cloche import aio
from cloche.callback_messages import CallbackCall
from cloche.errors import Conflict, LinkLost
from tests.e2e.guarded import POLICY, connected, happened, held, story, until, within
from tests.support.real_hub import RealHub

pytestmark = pytest.mark.machine


async def test_what_waited_in_a_killed_hub_can_not_be_approved_in_the_next(own_hub: RealHub) -> None:
    (own_hub.home / "policy.toml").write_text(POLICY)
    own_hub.start()
    answering = asyncio.Event()
    async with aio.Hub.connect(own_hub.address, own_hub.token, reconnect_s=0.1) as hub:
        sandbox = await hub.create(name="box")

        @sandbox.callback("pay.*", "free.*")
        async def answer(_call: CallbackCall) -> None:
            answering.set()
            await asyncio.Event().wait()

        async with (
            sandbox.exec(["cloche-callback", "free.work"]) as works,
            sandbox.exec(["cloche-callback", "pay.send", "1"]) as waits,
        ):
            waiting = await held(hub, sandbox)
            await within(answering.wait())
            own_hub.kill()
            for program in (works, waits):
                with pytest.raises(LinkLost):
                    await within(program.wait())

    own_hub.start()
    async with connected(own_hub.address, own_hub.token) as hub:
        abandoned = await hub.approvals.get(waiting.id)
        assert (abandoned.state, abandoned.decided_by) == ("abandoned", "hub")
        with pytest.raises(Conflict):
            await hub.approvals.approve(waiting.id)
        assert await hub.approvals.list() == []
        assert (await hub.sandbox(sandbox.id)).info.state == "failed"
        # Nobody can know how either call ended, and the audit says so.
        assert sorted(await story(hub, sandbox.id)) == [
            "approval.abandoned", "approval.requested",
            "callback.failed", "callback.failed", "callback.requested", "callback.requested",
        ]  # fmt: skip
        assert (await hub.verify_audit()).events > 8
        await (await hub.sandbox("box")).remove()


async def test_what_a_killed_hub_had_recorded_is_finished_by_the_next_and_in_the_audit(
    own_hub: RealHub,
) -> None:
    own_hub.start()
    async with aio.Hub.connect(own_hub.address, own_hub.token, reconnect_s=0.1) as hub:
        sandbox = await hub.create(name="box", secrets={"KEY": "sesame-open"})
        async with sandbox.console(["sh"], name="work", keep=True) as console:
            await within(console.until("$ "))
            await console.write("echo marked-$((40+2)) $KEY\n")
            await within(console.until("marked-42 sesame-open"))
            recording = console.info.recording
            assert recording is not None
            # A screen shows what is still on its way to the disk.
            await until(lambda: _has(hub, recording, b"marked-42 ***********"))
            own_hub.kill()
            with pytest.raises(LinkLost):
                await within(console.wait())

    own_hub.start()
    async with connected(own_hub.address, own_hub.token) as hub:
        finished = await happened(hub, sandbox.id, "recording.finished", recording=recording)
        await happened(hub, sandbox.id, "console.failed", console=console.id)
        (kept,) = await hub.recordings.list(sandbox="box")
        assert (kept.id, kept.is_cut, kept.sha256) == (recording, True, finished.detail["sha256"])
        text = await _text(hub, recording)
        assert b"marked-42 ***********" in text
        assert b"sesame-open" not in text
        assert hashlib.sha256(text).hexdigest() == kept.sha256
        await hub.verify_audit()
        await (await hub.sandbox("box")).remove()


async def _text(hub: aio.Hub, recording: str) -> bytes:
    return b"".join([piece async for piece in hub.recordings.read(recording)])


async def _has(hub: aio.Hub, recording: str, text: bytes) -> bool:
    return text in await _text(hub, recording)
