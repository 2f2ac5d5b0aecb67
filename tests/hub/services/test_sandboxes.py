"""Sandboxes as clients ask for them, through a whole hub on fakes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import (
    BadRequest,
    BuildFailed,
    Cancelled,
    Conflict,
    NotFound,
    RecipeNotBuilt,
    TooLarge,
    WrongState,
)
from cloche_wire.errors import CodedError
from tests.support.fake_images import FakeImages
from tests.support.hub import Time, running_hub, until, within

# Creation.


async def test_a_created_sandbox_runs_and_its_answer_says_all_there_is_to_say(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a", labels={"team": "x"}, env={"KEY": "secret"}, lease_s=60)
        assert (made["name"], made["state"], made["recipe"], made["flavor"]) == (
            "a",
            "running",
            "python",
            "small",
        )
        assert (made["image"], made["accelerator"], made["lease_s"]) == ("python-digest", "tcg", 60)
        assert (made["labels"], made["env_names"]) == ({"team": "x"}, ["KEY"])
        assert set(made["timings"]) == {"image", "template", "clone", "link", "identity"}
        assert await client.call("sandbox.show", sandbox="a") == made


async def test_the_guest_is_told_who_it_is_before_anybody_can_use_it(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a", env={"KEY": "secret"})
        identity = hub.machine.agent.identity
        assert identity is not None
        assert (identity["sandbox"], identity["hostname"], identity["env"]) == (
            made["id"],
            "a",
            {"KEY": "secret"},
        )
        assert len(identity["entropy"]) == 64


async def test_two_sandboxes_are_given_different_entropy(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create()
        await client.create()
        entropies = {machine.agent.identity["entropy"] for machine in hub.hypervisor.machines.values()}  # type: ignore[index]
        assert len(entropies) == 2


async def test_the_audit_names_variables_but_never_holds_their_values(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(env={"KEY": "hunter2"})
        (created,) = await hub.events(AuditName.SANDBOX_CREATED)
        assert created.detail["env_names"] == ["KEY"]
        assert "hunter2" not in str(await hub.events())


async def test_an_image_that_is_not_built_is_built_on_request_with_progress(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", images=FakeImages(built=())) as hub, hub.client() as client:
        hub.images.build_gate.clear()
        channel = client.open("sandbox.create", build=True)
        steps = channel.messages()
        assert (await within(anext(steps)))["step"] == "packages"
        hub.images.build_gate.set()
        assert [step["step"] async for step in steps][-1] == "template"
        assert (await within(channel.result()))["state"] == "running"
        assert await hub.names() == [
            *("token.created", "hub.started", "policy.loaded"),
            *("sandbox.created", "image.built", "sandbox.started"),
        ]


async def test_without_an_image_and_without_leave_to_build_nothing_is_recorded(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", images=FakeImages(built=())) as hub, hub.client() as client:
        with pytest.raises(RecipeNotBuilt):
            await client.create(name="a")
        assert hub.images.builds == 0
        assert (await client.call("sandbox.list", all=True))["sandboxes"] == []
        assert "sandbox.created" not in await hub.names()


@pytest.mark.parametrize(
    ("params", "error"),
    [({"recipe": "plan9"}, NotFound), ({"flavor": "huge"}, BadRequest), ({"name": "A b"}, BadRequest)],
)
async def test_what_does_not_exist_is_refused_before_anything_is_recorded(
    tmp_path: Path, params: dict[str, str], error: type[CodedError]
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        with pytest.raises(error):
            await client.create(**params, build=True)
        assert "sandbox.created" not in await hub.names()


async def test_a_build_that_fails_fails_its_sandbox_with_the_builders_words(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", images=FakeImages(built=())) as hub, hub.client() as client:
        hub.images.refuse_build = BuildFailed("mmdebstrap: no route to host")
        with pytest.raises(BuildFailed, match="no route to host") as raised:
            await client.create(build=True)
        failed = await client.call("sandbox.show", sandbox=raised.value.details["sandbox"])
        assert (failed["state"], failed["end_reason"]) == ("failed", "mmdebstrap: no route to host")


async def test_a_name_is_its_owners_once(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        first = await client.create(name="a")
        with pytest.raises(Conflict, match=first["id"]):
            await client.create(name="a")
        async with hub.client(await hub.mint("somebody")) as other:
            assert (await other.create(name="a"))["name"] == "a"


async def test_of_two_who_want_one_name_at_once_one_gets_it(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        both = await asyncio.gather(*[client.create(name="a") for _ in range(2)], return_exceptions=True)
        assert sorted(type(one).__name__ for one in both) == ["Conflict", "dict"]
        assert len(hub.hypervisor.alive) == 1
        assert len((await client.call("sandbox.list", all=True))["sandboxes"]) == 1


async def test_a_made_up_name_that_is_taken_is_made_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloche_hub.domain.names.ADJECTIVES", ["only"])
    monkeypatch.setattr("cloche_hub.domain.names.NOUNS", ["one"])
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        assert (await client.create())["name"] == "only-one"
        second = await client.create()
        assert second["name"].startswith("only-one-")
        assert hub.machine.agent.identity is not None
        assert hub.machine.agent.identity["hostname"] == second["name"]


async def test_the_hub_holds_as_many_as_it_may_and_says_so_to_the_next(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", max_sandboxes=2) as hub, hub.client() as client:
        # All at once: those that are only being created count too.
        made = await asyncio.gather(*[client.create() for _ in range(4)], return_exceptions=True)
        assert [type(one) for one in made].count(TooLarge) == 2
        assert len(hub.hypervisor.machines) == 2
        name = (await client.call("sandbox.list"))["sandboxes"][0]["name"]
        await client.call("sandbox.remove", sandbox=name)
        assert (await client.create())["state"] == "running"


async def test_a_creation_whose_request_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        hub.hypervisor.start_gate.clear()
        channel = client.open("sandbox.create", name="a")
        await until(lambda: hub.hypervisor.starting)
        channel.reset(Cancelled("enough"))
        await until(lambda: not hub.hypervisor.starting)
        hub.hypervisor.start_gate.set()
        removed = await hub.happened(AuditName.SANDBOX_REMOVED)
        assert "gave up" in str(removed.detail["reason"])
        assert (await client.create(name="a"))["state"] == "running"
        assert len(hub.hypervisor.machines) == 1


async def test_a_creation_whose_client_vanishes_leaves_nothing(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", resume_grace_s=0.05) as hub:
        hub.hypervisor.start_gate.clear()
        async with hub.client() as client:
            client.open("sandbox.create", name="a")
            await until(lambda: hub.hypervisor.starting)
            await client.cut()
            await until(lambda: not hub.hypervisor.starting)
        assert hub.hypervisor.machines == {}
        async with hub.client() as client:
            await until(lambda: hub.hypervisor.starting == 0)
            assert (await client.call("sandbox.list"))["sandboxes"] == []


async def test_a_creation_given_up_while_its_row_is_written_leaves_nothing(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        channel = client.open("sandbox.create", name="a")
        # In the same moment in which the row goes to the disk.
        hub.store.on_write = lambda: channel.reset(Cancelled("enough"))
        await until(lambda: not channel.is_live)
        hub.store.on_write = lambda: None
        await hub.happened(AuditName.SANDBOX_REMOVED)
        assert hub.hypervisor.alive == []
        assert (await client.create(name="a"))["state"] == "running"


async def test_a_build_nobody_waits_for_any_more_is_called_off(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", images=FakeImages(built=())) as hub, hub.client() as client:
        hub.images.build_gate.clear()
        channel = client.open("sandbox.create", build=True)
        await until(lambda: hub.images.building)
        channel.reset(Cancelled("enough"))
        await until(lambda: not hub.images.building)


# Finding and listing.


async def test_a_reference_is_an_id_a_name_or_the_beginning_of_one(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        one = await client.create(name="alpha")
        await client.create(name="alps")
        for reference in (one["id"], one["id"][:9], "alpha", "alph"):
            assert (await client.call("sandbox.show", sandbox=reference))["id"] == one["id"]
        with pytest.raises(BadRequest, match=r"alpha.*alps"):
            await client.call("sandbox.show", sandbox="al")
        with pytest.raises(NotFound):
            await client.call("sandbox.show", sandbox="beta")


async def test_listing_shows_the_living_and_all_also_the_removed_newest_first(tmp_path: Path) -> None:
    time = Time()
    async with running_hub(tmp_path / "home", clock=time.clock) as hub, hub.client() as client:
        for name in ("a", "b", "c"):
            time.passes(1)
            await client.create(name=name)
        await client.call("sandbox.remove", sandbox="b")
        live = await client.call("sandbox.list")
        every = await client.call("sandbox.list", all=True)
        assert [sandbox["name"] for sandbox in live["sandboxes"]] == ["c", "a"]
        assert [(sandbox["name"], sandbox["state"]) for sandbox in every["sandboxes"]] == [
            ("c", "running"),
            ("b", "removed"),
            ("a", "running"),
        ]


async def test_what_is_removed_while_the_list_is_read_is_not_listed_as_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        stale, gate = asyncio.Event(), asyncio.Event()

        def late(read: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            async def reading(*args: Any, **options: Any) -> Any:
                rows = await read(*args, **options)
                stale.set()
                await gate.wait()
                return rows

            return reading

        monkeypatch.setattr(hub.store, "sandboxes", late(hub.store.sandboxes))
        monkeypatch.setattr(hub.store, "find_sandbox", late(hub.store.find_sandbox))
        listing, showing = (
            client.open("sandbox.list", all=True),
            client.open("sandbox.show", sandbox=made["id"]),
        )
        await within(stale.wait())
        await client.call("sandbox.remove", sandbox="a")
        gate.set()
        assert [one["state"] for one in (await within(listing.result()))["sandboxes"]] == ["removed"]
        assert (await within(showing.result()))["state"] == "removed"


async def test_a_removed_sandbox_is_shown_by_its_id(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        removed = await client.call("sandbox.remove", sandbox="a")
        assert (removed["state"], await client.call("sandbox.show", sandbox=made["id"])) == (
            "removed",
            removed,
        )
        with pytest.raises(NotFound):
            await client.call("sandbox.show", sandbox="a")


async def test_a_sandbox_cannot_be_seen_before_the_store_has_it(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        hub.store.gate.clear()
        creating = client.open("sandbox.create", name="a")
        await until(lambda: hub.store.waiting)
        for every in (False, True):
            assert (await client.call("sandbox.list", all=every))["sandboxes"] == []
        with pytest.raises(NotFound):
            await client.run("a", "true")
        hub.store.gate.set()
        await within(creating.result())
        assert len((await client.call("sandbox.list"))["sandboxes"]) == 1


# Removal.


async def test_removal_powers_the_guest_off_ends_the_machine_and_frees_the_name(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        made = await client.create(name="a")
        machine = hub.machine
        removed = await client.call("sandbox.remove", sandbox="a")
        assert (removed["id"], removed["state"], machine.is_running) == (made["id"], "removed", False)
        assert machine.stops == [5.0]
        assert (await client.create(name="a"))["id"] != made["id"]
        (event,) = await hub.events(AuditName.SANDBOX_REMOVED)
        assert (event.sandbox, event.actor.startswith("tok_")) == (made["id"], True)


async def test_removing_twice_at_once_is_once(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        first, second = await asyncio.gather(*[client.call("sandbox.remove", sandbox="a") for _ in range(2)])
        assert first == second
        assert len(await hub.events(AuditName.SANDBOX_REMOVED)) == 1


async def test_a_removal_goes_on_when_who_asked_for_it_gives_up(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        client.open("sandbox.remove", sandbox="a")
        await client.call("sandbox.list")
        await client.cut()
        await until(lambda: not hub.hypervisor.alive)


async def test_a_sandbox_removed_during_its_creation_ends_it_for_its_maker(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        hub.hypervisor.start_gate.clear()
        creating = client.open("sandbox.create", name="a")
        await until(lambda: hub.hypervisor.starting)
        removed = await client.call("sandbox.remove", sandbox="a")
        with pytest.raises(Cancelled, match="while it was being created: removed by tok_"):
            await within(creating.result())
        assert (removed["state"], hub.hypervisor.starting, hub.hypervisor.machines) == ("removed", 0, {})


async def test_a_failed_sandbox_can_be_removed_and_keeps_its_reason(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create(name="a")
        hub.machine.crash()
        await hub.happened(AuditName.SANDBOX_FAILED)
        removed = await client.call("sandbox.remove", sandbox="a")
        assert removed["end_reason"] == "its machine ended by itself (crashed): qemu died of signal 9"


async def test_nothing_runs_in_a_sandbox_that_is_not_running(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        hub.hypervisor.start_gate.clear()
        creating = client.open("sandbox.create", name="a")
        await until(lambda: hub.hypervisor.starting)
        with pytest.raises(WrongState, match="creating"):
            await client.run("a", "true")
        hub.hypervisor.start_gate.set()
        await within(creating.result())
        assert (await client.run("a", "true")).result["exit_code"] == 0
