"""A program that writes as fast as it can and says what was acknowledged; made to be killed in the middle.

    python -m tests.hub.store.write_storm HOME ROUND

Each line on stdout is the number of an event whose change has been acknowledged, and the sandbox it inserted.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.store.store import Store, open_store
from cloche_hub.store.transaction import Transaction
from tests.hub.domain.examples import sandbox

WRITERS = 20


async def storm(store: Store, round_: str, writer: int) -> None:
    for number in range(1_000_000):
        name = f"s{round_}-{writer}-{number}"

        def change(tx: Transaction, name: str = name) -> int:
            tx.insert_sandbox(sandbox(id=f"sb_{name}", name=name))
            return tx.append_audit(AuditName.SANDBOX_CREATED, actor="hub", sandbox=f"sb_{name}").seq

        seq = await store.write(change)
        # One write, so that a line is there whole or not at all when the kill comes.
        os.write(1, f"{seq} sb_{name}\n".encode())


async def main(home: Path, round_: str) -> None:
    async with open_store(home) as store, asyncio.TaskGroup() as tasks:
        for writer in range(WRITERS):
            tasks.create_task(storm(store, round_, writer))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
