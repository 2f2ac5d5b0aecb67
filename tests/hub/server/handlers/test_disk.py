"""Requests about what the hub holds on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import NoSpace
from cloche_hub.ports import CacheUse
from tests.support.fake_images import LONG_AGO
from tests.support.hub import running_hub


async def test_the_usage_lists_images_and_machines_and_what_is_free(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create()
        hub.hypervisor.templates = [
            CacheUse("template", f"{digest} small", 7, LONG_AGO, in_use=False, prunable=True)
            for digest in ("python-dig", "forgotten")
        ]
        usage = await client.call("disk.usage")
        keys = ("kind", "name", "title", "recipe", "in_use", "prunable")
        assert [tuple(entry[key] for key in keys) for entry in usage["entries"]] == [
            ("image", "python-digest", "python", "python", False, False),
            ("template", "python-dig small", "python/small", "python", False, True),
            ("template", "forgotten small", "forgotten small", None, False, True),
            ("machine", made["id"], made["name"], "python", True, False),
        ]
        assert usage["cache"] == str(tmp_path)
        assert usage["free_bytes"] > 0


async def test_a_cache_that_is_not_there_yet_has_no_free_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_path: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        monkeypatch.setattr("shutil.disk_usage", gone)
        assert (await client.call("disk.usage"))["free_bytes"] is None


async def test_pruning_says_what_it_freed_and_the_audit_knows_who_asked(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        assert await client.call("disk.prune") == {"freed_bytes": 15}
        (event,) = await hub.events(AuditName.CACHE_PRUNED)
        assert (event.actor.startswith("tok_"), event.detail) == (True, {"freed_bytes": 15})


async def test_pruning_works_on_a_full_disk_and_is_recorded_when_there_is_room(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        hub.store.refuses = NoSpace("the disk is full")
        assert await client.call("disk.prune") == {"freed_bytes": 15}
        hub.store.refuses = None
        await hub.happened(AuditName.CACHE_PRUNED)
