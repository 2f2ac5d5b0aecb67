"""Requests about sandboxes: what is special in asking. What sandboxes do is proven with the services."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import BadRequest, NotFound, TooLarge
from cloche_wire.limits import Limits
from tests.support.hub import running_hub

SMALL_FRAMES: dict[str, Any] = {"max_frame_bytes": 4096, "max_message_bytes": 8192}


async def test_a_list_too_long_for_a_frame_has_the_newest_and_counts_the_others(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", **SMALL_FRAMES) as hub, hub.client() as client:
        made = [(await client.create())["id"] for _ in range(12)]
        for every in (False, True):
            listed = await client.call("sandbox.list", all=every)
            shown = [one["id"] for one in listed["sandboxes"]]
            assert shown == made[::-1][: len(shown)]
            assert 0 < len(shown) < 12
            assert listed["omitted"] == 12 - len(shown)


async def test_a_whole_list_omits_nothing(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        assert await client.call("sandbox.list") == {"sandboxes": [], "omitted": 0}


async def test_a_sandbox_whose_maker_cannot_be_told_of_it_is_ended(tmp_path: Path) -> None:
    async with (
        running_hub(tmp_path / "home", **SMALL_FRAMES) as hub,
        hub.client(limits=Limits()) as client,
    ):
        # The answer has the labels, and more: it does not fit where the request did.
        labels = {f"label-{number}": "x" * 250 for number in range(15)}
        with pytest.raises(TooLarge):
            await client.create(labels=labels)
        removed = await hub.happened(AuditName.SANDBOX_REMOVED)
        assert "its maker was gone" in str(removed.detail["reason"])
        assert hub.hypervisor.alive == []


@pytest.mark.parametrize("max_bytes", [0, -1, 1 << 20, "all", True])
async def test_a_boot_log_has_bounds(tmp_path: Path, max_bytes: object) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        with pytest.raises(BadRequest, match="max_bytes"):
            await client.call("sandbox.boot_log", sandbox="a", max_bytes=max_bytes)


async def test_the_lease_asked_for_is_bounded_by_the_hubs(tmp_path: Path) -> None:
    async with (
        running_hub(tmp_path / "home", default_lease_s=60, max_lease_s=100) as hub,
        hub.client() as client,
    ):
        assert (await client.create())["lease_s"] == 60
        assert (await client.create(lease_s=100))["lease_s"] == 100
        with pytest.raises(BadRequest, match="lease_s"):
            await client.create(lease_s=101)
        with pytest.raises(BadRequest, match=r"lease_s must be at least 1 second, not 0\.99"):
            await client.create(lease_s=0.99)


async def test_a_sandbox_that_is_gone_is_said_to_be_so_when_it_is_asked_for_by_its_name(
    tmp_path: Path,
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        for kind in ("exec", "sandbox.show", "sandbox.remove", "callback.serve", "events"):
            made = await client.create(name="m2")
            await client.call("sandbox.remove", sandbox="m2")
            params = {"exec": {"argv": ["true"]}, "callback.serve": {"methods": ["*"]}}.get(kind, {})
            with pytest.raises(NotFound) as raised:
                await client.call(kind, sandbox="m2", **params)
            assert raised.value.details["sandbox"] == "m2"
            message = raised.value.message
            assert message.startswith(f"m2 ({made['id']}) is gone: removed by tok_")
            assert message.endswith(f"; `cloche show {made['id']}` has what is left of it")
        with pytest.raises(NotFound, match="is gone: removed by"):
            await client.call("sandbox.remove", sandbox=made["id"])


async def test_nobody_is_told_of_another_owners_sandbox_that_is_gone(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="m2")
        await client.call("sandbox.remove", sandbox="m2")
        async with hub.client(await hub.mint("bob")) as bob:
            for kind in ("sandbox.remove", "sandbox.show"):
                with pytest.raises(NotFound, match="no sandbox 'm2'; `cloche ls` lists them"):
                    await bob.call(kind, sandbox="m2")
