"""A program that fills its disk with changes, frees it, and says what became of them; run on a tiny file system.

    python -m tests.hub.store.fill_disk HOME

Prints one JSON object. The disk must be smaller than what it tries to write.
"""

from __future__ import annotations

import asyncio
import collections
import json
import sys
from pathlib import Path

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import NoSpace, StoreFailed
from cloche_hub.store.store import Store, open_store
from cloche_hub.store.transaction import Transaction

BALLAST = 256 << 10
CHANGES = 400


def append(tx: Transaction) -> int:
    return tx.append_audit(AuditName.EXEC_EXITED, actor="hub", detail={"x": "x" * 4000}).seq


async def attempt(store: Store) -> str:
    try:
        await store.write(append)
    except (NoSpace, StoreFailed) as error:
        return type(error).__name__
    return "kept"


async def main(home: Path) -> None:
    ballast = home.parent / "ballast"
    ballast.write_bytes(b"x" * BALLAST)
    async with open_store(home) as store:
        async with asyncio.TaskGroup() as tasks:
            attempts = [tasks.create_task(attempt(store)) for _ in range(CHANGES)]
        outcomes = collections.Counter(task.result() for task in attempts)
        verified = await store.audit.verify()
        ballast.unlink()
        again = await attempt(store)
        after = await store.audit.verify()
    async with open_store(home) as store:
        reopened = await store.audit.verify()
    told = {"outcomes": outcomes, "events": verified.events, "again": again, "after": after.events}
    sys.stdout.write(json.dumps({**told, "reopened": reopened.events}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
