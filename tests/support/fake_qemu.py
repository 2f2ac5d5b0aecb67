"""A program that behaves like QEMU towards the hub: the monitor, the saved state, the agent's port, but no guest.

With it everything around a machine is tested in milliseconds, and what a real QEMU seldom does: dying at a given step,
keeping silent, a state that does not load. `write_fake_qemu` makes the program; `greet` stands for the agent.

Its guest answers lines on the agent's port:
    ping → pong    say TEXT → to the console    poweroff, panic, reboot, crash → what they say
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from cloche_hub.errors import LinkLost

STATE = b"devices of a fake machine"


def write_fake_qemu(folder: Path, *faults: str) -> str:
    """Writes the program and returns its path.

    Args:
        folder: where.
        faults: what goes wrong: `arguments` (it refuses them), `silent` (no greeting), `state` (a state does not load),
            `stuck` (a restored machine never runs), `deaf` (the agent never answers), `stubborn-clone` (a clone ignores quit),
            `unsaved` (the migration fails), or `boot-panic`.
    """
    name = "-".join(("fake-qemu", *faults))
    path = folder / name
    # -I -S: nothing of the environment, no site: it starts in a few milliseconds.
    code = Path(__file__).with_name("fake_qemu_program.py").read_text()
    program = f"#!{sys.executable} -IS\nFAULTS = {faults!r}\n{code}"
    # The same file stays the same build of QEMU.
    if not path.exists():
        path.write_text(program)
        path.chmod(0o755)
    return str(path)


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Returns when the agent has answered; for `ports.AwaitAgent`."""
    writer.write(b"ping\n")
    if await reader.readline() != b"pong\n":
        raise LinkLost("the fake agent is gone")
