"""What is recorded of work, and when, whatever becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.masking import Secrets
from cloche_hub.errors import Cancelled, NoSpace, NotFound
from cloche_hub.services.recorded import Recorded, Recorder
from cloche_hub.services.records import Records
from cloche_hub.store.store import open_store
from tests.support.hub import FlakyStore, until

FULL = NoSpace("the disk is full")


class Desk:
    """A recorder over a store that may fail, and what the store has."""

    def __init__(self, store: FlakyStore) -> None:
        self.store, self.records = store, Records(store)
        self.secrets = {"sb_1": Secrets({"TOKEN": "hunter2"})}
        self.recorder = Recorder(store, self.records, lambda sandbox_id: self.secrets[sandbox_id])

    def work(self, **options: Any) -> Recorded:
        return self.recorder.work(
            "sb_1", actor="tok_1", about={"exec": "ex_1"}, failed=AuditName.EXEC_FAILED, **options
        )

    async def events(self) -> list[tuple[str, dict[str, Json]]]:
        return [(event.event, dict(event.detail)) for event in await self.store.audit.tail(limit=100)]


@asynccontextmanager
async def desk(folder: Path) -> AsyncIterator[Desk]:
    async with open_store(folder / "home") as store:
        yield Desk(FlakyStore(store))


async def end(work: Recorded) -> None:
    await work.end(AuditName.EXEC_EXITED, {"exit_code": 0}, what="it has ended", told={"exit_code": 0})


async def test_a_start_and_an_end_are_recorded_with_what_all_events_say(tmp_path: Path) -> None:
    async with desk(tmp_path) as it:
        work = it.work()
        await work.start(AuditName.EXEC_STARTED, {"argv": ["true"]})
        async with work.watched():
            await end(work)
        assert await it.events() == [
            ("exec.started", {"exec": "ex_1", "argv": ["true"]}),
            ("exec.exited", {"exec": "ex_1", "exit_code": 0}),
        ]
        (event, _) = await it.store.audit.tail(limit=100)
        assert (event.actor, event.sandbox) == ("tok_1", "sb_1")


async def test_a_sandboxs_secrets_are_in_no_record_of_it_even_when_it_is_gone(tmp_path: Path) -> None:
    async with desk(tmp_path) as it:
        work = it.work(so_far=lambda: {"path": "/hunter2"})
        del it.secrets["sb_1"]
        await work.start(AuditName.EXEC_STARTED, {"argv": ["echo", "hunter2"]})
        with pytest.raises(NotFound):
            async with work.watched():
                raise NotFound("no such file: hunter2")
        assert [detail for _, detail in await it.events()] == [
            {"exec": "ex_1", "argv": ["echo", "*******"]},
            {"exec": "ex_1", "path": "/*******", "code": "not_found", "reason": "no such file: *******"},
        ]


async def test_a_failure_is_recorded_when_it_is_raised_and_only_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as it:
        work = it.work(so_far=lambda: {"size_bytes": 5})
        for error in (NotFound("x" * 600), ZeroDivisionError()):
            with pytest.raises(type(error)):
                async with work.watched():
                    raise error
        failed = {"exec": "ex_1", "size_bytes": 5, "code": "not_found", "reason": "x" * 500}
        assert await it.events() == [("exec.failed", failed)]


async def test_a_defect_is_recorded_without_its_words(tmp_path: Path) -> None:
    async with desk(tmp_path) as it:
        with pytest.raises(ZeroDivisionError):
            async with it.work().watched():
                raise ZeroDivisionError("hunter2")
        ((name, detail),) = await it.events()
        assert (name, detail["code"], detail["reason"]) == ("exec.failed", "internal", "the hub failed")


@pytest.mark.parametrize("called_off", [None, AuditName.CONSOLE_CLOSED])
async def test_work_that_is_called_off_is_a_failure_unless_it_has_a_name_for_it(
    tmp_path: Path, called_off: AuditName | None
) -> None:
    async with desk(tmp_path) as it:
        with pytest.raises(Cancelled):
            async with it.work(called_off=called_off).watched():
                raise Cancelled("enough")
        assert [name for name, _ in await it.events()] == [called_off or AuditName.EXEC_FAILED]


async def test_cancelling_records_that_the_client_has_gone(tmp_path: Path) -> None:
    async with desk(tmp_path) as it, asyncio.TaskGroup() as tasks:
        begun = asyncio.Event()

        async def run() -> None:
            async with it.work().watched():
                begun.set()
                await asyncio.Event().wait()

        running = tasks.create_task(run())
        await begun.wait()
        running.cancel()
        await asyncio.wait({running})
        assert running.cancelled()
        ((name, detail),) = await it.events()
        assert (name, detail["code"]) == ("exec.failed", "cancelled")


async def test_cancelling_a_start_records_an_end_since_it_may_be_recorded(tmp_path: Path) -> None:
    async with desk(tmp_path) as it, asyncio.TaskGroup() as tasks:
        it.store.gate.clear()
        starting = tasks.create_task(it.work().start(AuditName.EXEC_STARTED, {}))
        await until(lambda: it.store.waiting)
        starting.cancel()
        it.store.gate.set()
        await asyncio.wait({starting})
        assert starting.cancelled()
        assert [name for name, _ in await it.events()] == ["exec.failed"]


async def test_a_start_that_cannot_be_recorded_is_refused(tmp_path: Path) -> None:
    async with desk(tmp_path) as it:
        it.store.refuses = FULL
        with pytest.raises(NoSpace, match="disk is full"):
            await it.work().start(AuditName.EXEC_STARTED, {})
        assert not it.records.are_waiting


async def test_an_end_that_cannot_be_recorded_now_is_told_as_that_and_recorded_later(tmp_path: Path) -> None:
    async with desk(tmp_path) as it:
        it.store.refuses = FULL
        work = it.work()
        with pytest.raises(NoSpace, match="it has ended, but the hub cannot record it now") as raised:
            async with work.watched():
                await end(work)
        assert raised.value.details == {"exit_code": 0}
        # Nothing begins whose end could only wait as well.
        with pytest.raises(NoSpace, match="not begun"):
            it.work().require_recordable()
        it.store.refuses = None
        await it.records.catch_up()
        it.work().require_recordable()
        assert [name for name, _ in await it.events()] == ["exec.exited"]
