"""A running machine: its link, its console, what it costs, and its end.

Not here: how it was started (`clone`).
Rules:
- One task watches each machine (`watch`); it alone decides how the machine ended.
- A guest that has ended leaves QEMU waiting, so that the console's last words can be read; then QEMU is told to quit.
- Closing the hub does not end a machine: who wants it ended asks for it (`stop`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

from cloche_hub.errors import MachineFailed
from cloche_hub.ports import BootOutput, MachineExit, MachineUse
from cloche_hub.vm.exits import Asked, Ending, classify
from cloche_hub.vm.process import cpu_seconds, pss_bytes
from cloche_hub.vm.qemu import Qemu

_LOG_TAIL = 4096
_KILL_S = 10.0
# Between two looks at the console for those who follow it: at first and while it prints, and when it has long been quiet.
# The longer one is a person's patience; the shorter one bounds what a flood costs.
_LOOK_S, _QUIET_LOOK_S = 0.1, 0.5


class QemuMachine:
    """Implements ports.Machine.

    Args:
        qemu: runs; owned by this object from now on.
        accelerator: kvm or tcg.
        on_removed: called once when it has ended and nothing of it is left.
    """

    def __init__(self, qemu: Qemu, accelerator: str, on_removed: Callable[[], None]) -> None:
        self._qemu, self._accelerator, self._on_removed = qemu, accelerator, on_removed
        self._exit: asyncio.Future[MachineExit] = asyncio.get_running_loop().create_future()
        self._let_go: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked = Asked.NOT
        self._link: asyncio.StreamWriter | None = None
        self._is_removed = False

    @property
    def machine_id(self) -> str:
        return self._qemu.folder.machine_id

    @property
    def accelerator(self) -> str:
        return self._accelerator

    async def watch(self) -> None:
        """Waits for the machine's end and finds out how it ended; or until `let_go`. One task for each machine."""
        qemu = self._qemu
        # Fails if QEMU ends without a word.
        ended = qemu.expect("SHUTDOWN")
        try:
            await asyncio.wait(_futures(ended, self._let_go), return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                return
            await self._hear_last_words()
            await qemu.process.ended_within(_KILL_S)
            self._close_link()
            await qemu.detach()
            words, log = qemu.process.words(), qemu.log.tail(_LOG_TAIL)
            self._exit.set_result(
                classify(Ending(self._asked, qemu.shutdown, qemu.process.status, words, log))
            )
        finally:
            if not self._exit.done():
                self._exit.set_exception(MachineFailed(f"the hub has let go of {self.machine_id}"))
                self._exit.exception()  # maybe nobody asks
                self._close_link()
                await qemu.detach()

    def let_go(self) -> None:
        """Has `watch` end soon; the machine runs on if it still does."""
        if not self._let_go.done():
            self._let_go.set_result(None)

    async def _hear_last_words(self) -> None:
        """Ends a QEMU whose guest has ended."""
        if str(self._qemu.shutdown).startswith("guest"):
            with contextlib.suppress(MachineFailed):
                await self._qemu.read_console()
            if not await self._qemu.quit():
                self._qemu.process.kill()

    async def open_link(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """See ports.Machine."""
        self._close_link()
        if self._exit.done():
            raise MachineFailed(f"the machine has ended: {self._exit.result().detail}")
        reader, self._link = await self._qemu.open_link()
        return reader, self._link

    async def wait_exit(self) -> MachineExit:
        """See ports.Machine."""
        return await asyncio.shield(self._exit)

    async def stop(self, *, grace_s: float) -> MachineExit:
        """See ports.Machine. The guest is told to power itself off by whoever has its link; here is what if it does not.

        Cancelling it does not undo what was done; call it again.
        """
        self._asked = max(self._asked, Asked.QUIT)
        if not await self._exit_within(grace_s) and not await self._qemu.quit():
            self._asked = Asked.KILL
            self._qemu.process.kill()
        if not await self._exit_within(_KILL_S):
            return MachineExit("killed", "killed, but the host's kernel does not let go of it")
        how = self._exit.result()
        if not self._is_removed:
            self._is_removed = True
            self._qemu.folder.remove()
            self._on_removed()
        return how

    async def use(self) -> MachineUse:
        """See ports.Machine."""
        pid = self._qemu.process.pid
        try:
            if self._qemu.process.has_ended:
                raise ProcessLookupError
            return MachineUse(cpu_seconds(pid), pss_bytes(pid), self._qemu.folder.disk_bytes())
        except ProcessLookupError:
            raise MachineFailed(f"the machine {self.machine_id} has ended") from None

    async def boot_log(self, *, max_bytes: int) -> bytes:
        """See ports.Machine."""
        if not self._exit.done():
            # A machine that is just ending has been read by its watcher.
            with contextlib.suppress(MachineFailed):
                await self._qemu.read_console()
        return self._qemu.log.tail(max_bytes)

    async def follow_boot_log(self) -> AsyncGenerator[BootOutput]:
        """See ports.Machine."""
        seen, pause_s, is_first = 0, _LOOK_S, True
        while True:
            # Asked first: what it says with its last breath is read below.
            has_ended = self._exit.done()
            if not has_ended:
                with contextlib.suppress(MachineFailed):
                    await self._qemu.read_console()
            output, seen = self._qemu.log.since(seen), self._qemu.log.end
            if output.data or is_first:
                # Who begins to follow has not missed what nobody keeps.
                yield BootOutput(output.data) if is_first else output
                pause_s, is_first = _LOOK_S, False
            if has_ended:
                return
            await self._exit_within(pause_s)
            pause_s = min(2 * pause_s, _QUIET_LOOK_S)

    async def _exit_within(self, seconds: float) -> bool:
        if not self._exit.done():
            await asyncio.wait([self._exit], timeout=seconds)
        return self._exit.done()

    def _close_link(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


def _futures(*futures: asyncio.Future[Any]) -> list[asyncio.Future[Any]]:
    return list(futures)
