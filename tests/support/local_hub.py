"""A hub without machines: sandboxes are names, commands run right here. For everything a client does with a real one.

    async with local_hub(folder) as hub:
        ...                              # environment: CLOCHE_HOME=folder, or hub.address and TOKEN

`python -m tests.support.local_hub serve --ready-fd N` is the same as a program, under `CLOCHE_HOME`.
It keeps the contract of ARCHITECTURE.md's tables, and no more; only the real hub proves that the real hub does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

from cloche_wire.aio import Channel
from cloche_wire.errors import (
    BadRequest,
    CommandNotStarted,
    Conflict,
    NotFound,
    WireError,
    ungrouped,
)
from cloche_wire.rendezvous import locations
from tests.support.local_audit import LocalAudit
from tests.support.local_callbacks import LocalApprovals, LocalCallbacks
from tests.support.local_consoles import BOOT_LOG, LocalConsoles
from tests.support.local_files import KINDS as FILE_KINDS
from tests.support.local_files import serve_file
from tests.support.local_recordings import LocalRecordings
from tests.support.processes import end_process
from tests.support.scripted_hub import TOKEN, ScriptedHub

THEN = "2026-01-02T03:04:05.678901Z"
_FIELDS = {"recipe", "flavor", "name", "env", "labels", "lease_s", "secrets", "build"}
_KINDS = ("create", "list", "show", "remove", "boot_log")


class LocalHub(ScriptedHub):
    """A scripted hub with sandboxes, images and an audit of its own."""

    def __init__(self, socket: Path, *, token: str = TOKEN) -> None:
        super().__init__(socket, token=token)
        self.sandboxes: dict[str, dict[str, Any]] = {}
        self.environs: dict[str, dict[str, str]] = {}
        self.images: list[dict[str, Any]] = []
        self.stopped = asyncio.Event()
        self.callbacks, self.approvals = LocalCallbacks(), LocalApprovals()
        self.handlers |= self.callbacks.handlers | self.approvals.handlers
        self.recordings = LocalRecordings()
        self.consoles = LocalConsoles(self._find, lambda sandbox: self.environs[sandbox], self.recordings)
        self.handlers |= self.consoles.handlers | self.recordings.handlers
        self.audit = LocalAudit()
        self.events = self.audit.events
        self.handlers |= self.audit.handlers
        self.handlers |= {f"sandbox.{kind}": getattr(self, f"_sandbox_{kind}") for kind in _KINDS}
        self.handlers |= dict.fromkeys(FILE_KINDS, self._file)
        self.handlers |= {
            "hub.status": self._status,
            "hub.stop": self._stop,
            "exec": self._exec,
            "image.build": self._image_build,
            "image.list": self._image_list,
            "image.remove": self._image_remove,
            "disk.usage": self._disk_usage,
            "disk.prune": self._disk_prune,
        }

    async def __aenter__(self) -> Self:
        await self.consoles.__aenter__()
        return await super().__aenter__()

    async def __aexit__(self, *error: object) -> None:
        await self.consoles.__aexit__(*error)
        await super().__aexit__(*error)
        self.consoles.close()

    # The hub.

    async def _status(self, channel: Channel) -> None:
        channel.close(
            {
                "version": "0.1.0",
                "pid": os.getpid(),
                "address": self.address,
                "accelerator": "tcg",
                "accelerator_reason": "this hub has no machines",
                "machines": len(self.sandboxes),
                "started_at": THEN,
            }
        )

    async def _stop(self, channel: Channel) -> None:
        channel.close({})
        await channel.wait_confirmed()
        self.stopped.set()

    # Sandboxes.

    def _find(self, reference: str) -> dict[str, Any]:
        for sandbox in self.sandboxes.values():
            if reference in (sandbox["id"], sandbox["name"]) or sandbox["id"].startswith(reference):
                return sandbox
        raise NotFound(f"no sandbox {reference!r}; `cloche ls` lists them", sandbox=reference)

    async def _sandbox_create(self, channel: Channel) -> None:
        params = channel.params
        if unknown := params.keys() - _FIELDS:
            raise BadRequest(f"unknown fields {unknown}")
        channel.accept()
        for step, fraction in (("packages", 0.25), ("template", None)):
            await channel.send_message({"step": step, "message": f"making {step}", "fraction": fraction})
        number = len(self.sandboxes) + 1
        name = params.get("name") or f"mossy-acorn-{number}"
        if any(sandbox["name"] == name for sandbox in self.sandboxes.values()):
            raise Conflict(f"there is a sandbox {name!r} already; choose another name")
        sandbox = {
            "id": f"sb_{number:04}",
            "name": name,
            "owner": "admin",
            "recipe": params["recipe"],
            "image": "ab" * 32,
            "flavor": params["flavor"],
            "labels": params["labels"],
            "env_names": sorted(params["env"]),
            "state": "running",
            "accelerator": "tcg",
            "created_at": THEN,
            "lease_s": params.get("lease_s", 3600.0),
            "expires_at": THEN,
            "ended_at": None,
            "end_reason": None,
            "timings": {"clone": 0.09},
        }
        self.sandboxes[sandbox["id"]] = sandbox
        self.environs[sandbox["id"]] = {**params["env"], **params.get("secrets", {})}
        self.consoles.boot(sandbox)
        await self.note("sandbox.created", sandbox["id"], {"name": name})
        channel.close(sandbox)

    async def _sandbox_list(self, channel: Channel) -> None:
        channel.close({"sandboxes": list(self.sandboxes.values())})

    async def _sandbox_show(self, channel: Channel) -> None:
        channel.close(self._find(channel.params["sandbox"]))

    async def _sandbox_remove(self, channel: Channel) -> None:
        sandbox = self._find(channel.params["sandbox"])
        del self.sandboxes[sandbox["id"]]
        self.consoles.end(sandbox["id"])
        await self.note("sandbox.removed", sandbox["id"], {})
        channel.close({**sandbox, "state": "removed", "ended_at": THEN, "end_reason": "removed"})

    async def _sandbox_boot_log(self, channel: Channel) -> None:
        self._find(channel.params["sandbox"])
        channel.close({"log": BOOT_LOG.replace(b"\r", b"")[: channel.params["max_bytes"]]})

    # Commands.

    async def _exec(self, channel: Channel) -> None:
        params = channel.params
        sandbox = self._find(params["sandbox"])
        environ = {"PATH": os.environ["PATH"], **self.environs[sandbox["id"]], **params.get("env", {})}
        stdin = asyncio.subprocess.PIPE if params.get("stdin") else asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *params["argv"], stdin=stdin, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                env=environ, cwd=params.get("cwd"), start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            reason = "permission" if isinstance(error, PermissionError) else "not_found"
            raise CommandNotStarted(
                f"cannot run {params['argv'][0]!r}: {error.strerror}", reason=reason
            ) from None
        exec_id = f"ex_{process.pid}"
        told = {"exec": exec_id, "pid": process.pid}
        if params.get("record"):
            made = self.recordings.add(kind="exec", of=exec_id, sandbox=sandbox["id"], command=params["argv"])
            told["recording"] = made.fields["id"]
        try:
            channel.accept(told)
            result = await self._attend(channel, process, params.get("timeout_s"))
        finally:
            await end_process(process)
        channel.close(result)

    async def _attend(
        self, channel: Channel, process: asyncio.subprocess.Process, timeout_s: float | None
    ) -> dict[str, Any]:
        """Carries a command's streams until it has ended; returns its result."""
        began, timed_out = time.monotonic(), False
        assert process.stdout is not None
        assert process.stderr is not None
        with ungrouped():
            async with asyncio.TaskGroup() as tasks:
                inputs = [tasks.create_task(_take_signals(channel, process))]
                if process.stdin is not None:
                    inputs.append(tasks.create_task(_take_input(channel, process.stdin)))
                outputs = [
                    tasks.create_task(_give_output(channel, 1, process.stdout)),
                    tasks.create_task(_give_output(channel, 2, process.stderr)),
                ]
                try:
                    async with asyncio.timeout(timeout_s):
                        await process.wait()
                except TimeoutError:
                    timed_out = True
                    _signal(process, "KILL")
                    await process.wait()
                for task in inputs:
                    task.cancel()
                # What it left behind may hold its outputs open. What it wrote is read, however slowly.
                _signal(process, "KILL")
                await asyncio.wait(outputs)
        code = process.returncode
        assert code is not None
        ending = (
            {"exit_code": code} if code >= 0 else {"signal": signal.Signals(-code).name.removeprefix("SIG")}
        )
        return {**ending, "timed_out": timed_out, "duration_s": time.monotonic() - began}

    # Files.

    def tree(self, reference: str) -> Path:
        """The folder that stands for a sandbox's file system."""
        return self.socket.parent.parent / "trees" / str(self._find(reference)["id"])

    async def _file(self, channel: Channel) -> None:
        await serve_file(channel, self.tree(channel.params["sandbox"]))

    # Images and disk.

    async def _image_build(self, channel: Channel) -> None:
        if channel.params["recipe"] not in ("python", "minimal"):
            raise NotFound("no such recipe; there are: minimal, python")
        channel.accept()
        await channel.send_message({"step": "packages", "message": "fetching packages", "fraction": 0.5})
        image = {
            "digest": "ab" * 32,
            "recipe": channel.params["recipe"],
            "arch": "x86_64",
            "agent_hash": "cd" * 32,
            "size_bytes": 300 << 20,
            "built_at": THEN,
            "current": True,
        }
        self.images.append(image)
        channel.close(image)

    async def _image_list(self, channel: Channel) -> None:
        channel.close({"images": self.images})

    async def _image_remove(self, channel: Channel) -> None:
        if channel.params["digest"] not in [image["digest"] for image in self.images]:
            raise NotFound(f"no image {channel.params['digest']!r}; see: cloche image ls")
        self.images.clear()
        channel.close({})

    async def _disk_usage(self, channel: Channel) -> None:
        entries = [
            {
                "kind": "image",
                "name": image["digest"],
                "title": image["recipe"],
                "recipe": image["recipe"],
                "size_bytes": image["size_bytes"],
                "used_at": THEN,
                "in_use": False,
                "prunable": False,
            }
            for image in self.images
        ]
        channel.close({"cache": "/var/cache/cloche", "entries": entries, "free_bytes": 5 << 30})

    async def _disk_prune(self, channel: Channel) -> None:
        channel.close({"freed_bytes": 3 << 20})

    async def note(self, event: str, sandbox: str | None, detail: dict[str, Any]) -> None:
        """Adds an event to the audit."""
        await self.audit.note(event, sandbox, detail)


async def _give_output(channel: Channel, stream: int, reader: asyncio.StreamReader) -> None:
    while data := await reader.read(64 << 10):
        await channel.write(stream, data)
    channel.end(stream)


async def _take_input(channel: Channel, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while data := await channel.read(1):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _take_signals(channel: Channel, process: asyncio.subprocess.Process) -> None:
    async for message in channel.messages():
        _signal(process, message["signal"])


def _signal(process: asyncio.subprocess.Process, name: str) -> None:
    """Sends a signal to all that a command has started, if any of it is there yet."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.Signals[f"SIG{name}"])


async def out_of_time(channel: Channel) -> None:
    """A command that says `begun` and then takes too long; a real one may be too slow to say anything."""
    channel.accept({"exec": "ex_1", "pid": 1})
    await channel.write(1, b"begun\n")
    channel.end(1)
    channel.end(2)
    channel.close({"signal": "KILL", "timed_out": True, "duration_s": channel.params["timeout_s"]})


@contextlib.asynccontextmanager
async def local_hub(home: Path) -> AsyncIterator[LocalHub]:
    """A hub that clients with `CLOCHE_HOME=home` find, token and all."""
    places = locations({"CLOCHE_HOME": str(home)})
    places.runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    places.admin_token.write_text(f"{TOKEN}\n")
    places.admin_token.chmod(0o600)
    async with LocalHub(places.socket) as hub:
        yield hub


async def _serve(ready_fd: int) -> None:
    async with local_hub(locations().home) as hub:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, hub.stopped.set)
        os.write(ready_fd, json.dumps({"address": hub.address, "pid": os.getpid()}).encode() + b"\n")
        os.close(ready_fd)
        await hub.stopped.wait()


def main() -> None:
    """The hub as a program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["serve"])
    parser.add_argument("--ready-fd", type=int, required=True)
    with contextlib.suppress(WireError):
        asyncio.run(_serve(parser.parse_args().ready_fd))


if __name__ == "__main__":
    main()
