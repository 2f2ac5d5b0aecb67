"""After a killed hub: its machines are ended, what was under way in them has its end recorded, its sandboxes are told
why they failed. Adopting machines comes later.
"""

from __future__ import annotations

import asyncio

import structlog

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import WORKS, AuditName
from cloche_hub.errors import AuditBroken, MachineFailed
from cloche_hub.ports import Hypervisor, Store, StrayMachine
from cloche_hub.services.held import HUB
from cloche_hub.services.records import Records, noting

_log = structlog.get_logger(__name__)

_WHY = "the hub was killed"
_FAILED: dict[str, AuditName] = {work.begun: work.failed for work in WORKS}
# What an end says again of its beginning, where that said it.
_ABOUT = ("exec", "console", "viewer", "attachment", "callback", "method", "approval")


async def end_strays(hypervisor: Hypervisor, records: Records) -> set[str]:
    """Ends the machines a killed hub has left running, and records each; returns the ids of those that are gone.

    One that cannot be ended is logged and left: it must not keep the hub from serving.
    """
    ended: set[str] = set()

    async def end(stray: StrayMachine) -> None:
        try:
            await hypervisor.end_stray(stray.machine_id)
        except Exception:
            # The edge of the port.
            _log.exception("stray_not_ended", sandbox=stray.machine_id, pid=stray.pid)
            return
        ended.add(stray.machine_id)
        detail: dict[str, Json] = {"pid": stray.pid, "accelerator": stray.accelerator}
        await records.keep(
            noting(AuditName.MACHINE_STRAY_ENDED, actor=HUB, sandbox=stray.machine_id, detail=detail)
        )

    async with asyncio.TaskGroup() as tasks:
        for stray in await hypervisor.find_strays():
            tasks.create_task(end(stray))
    return ended


async def end_work(store: Store, records: Records, sandbox_id: str) -> None:
    """Records that what was under way in a sandbox as the hub was killed has failed: nobody can know how it ended.

    An audit that cannot be read is logged and left: it must not keep the hub from serving.
    """
    try:
        begun = await store.unended_work(sandbox_id)
    except AuditBroken as error:
        _log.error("work_not_ended", sandbox=sandbox_id, reason=error.message)
        return
    for event in begun:
        about = {name: event.detail[name] for name in _ABOUT if name in event.detail}
        detail: dict[str, Json] = {**about, "code": MachineFailed.code, "reason": _WHY}
        failed = _FAILED[event.event]
        await records.keep(noting(failed, actor=HUB, sandbox=sandbox_id, detail=detail))


def why_failed(sandbox_id: str, ended: set[str]) -> str:
    """Why a sandbox failed that lived when the hub was killed."""
    what = "its machine was ended" if sandbox_id in ended else "its machine is gone"
    return f"{_WHY}; {what}"
