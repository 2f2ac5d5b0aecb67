"""What the shell is offered."""

from __future__ import annotations

import asyncio
from pathlib import Path

from cloche.cli.complete import (
    complete_consoles,
    complete_flavors,
    complete_images,
    complete_places,
    complete_recipes,
    complete_recordings,
    complete_sandboxes,
    complete_scopes,
    complete_tokens,
    complete_topics,
)
from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import THEN, LocalHub
from tests.support.scripted_hub import answer, refuse


def test_flavors_are_offered_with_what_they_are() -> None:
    assert [name for name, _ in complete_flavors("")] == ["small", "medium", "large"]
    assert complete_flavors("m") == [("medium", "2 CPUs, 2 GiB")]


async def test_sandboxes_are_offered_by_name_and_ids_to_those_who_type_one(
    cloche: Cloche, hub: LocalHub
) -> None:
    await cloche("create", "--name", "box")
    await cloche("create", "--name", "other")
    assert await asyncio.to_thread(complete_sandboxes, "") == [
        ("box", "python, running"),
        ("other", "python, running"),
    ]
    assert await asyncio.to_thread(complete_sandboxes, "b") == [("box", "python, running")]
    assert await asyncio.to_thread(complete_sandboxes, "sb_") == [("sb_0001", "box"), ("sb_0002", "other")]


async def test_places_are_sandboxes_before_the_colon(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    assert await asyncio.to_thread(complete_places, "b") == [("box:", "python, running")]
    assert complete_places("box:a") == []
    assert complete_places("./b") == []


async def test_recipes_are_those_built_and_those_that_come_with_cloche(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("image", "build", "minimal")
    assert [name for name, _ in await asyncio.to_thread(complete_recipes, "")] == ["minimal", "python"]
    assert [name for name, _ in await asyncio.to_thread(complete_recipes, "p")] == ["python"]


async def test_images_are_offered_by_recipe_and_digest(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("image", "build", "minimal")
    assert await asyncio.to_thread(complete_images, "") == [
        ("minimal", "its image"),
        ("ab" * 6, "minimal"),
    ]


async def test_tokens_are_offered_by_name_while_they_are_good(hub: LocalHub) -> None:
    token = {
        "id": "tok_1",
        "name": "ci",
        "owner": "ann",
        "scope": "owner",
        "created_at": THEN,
        "revoked_at": None,
    }
    old = {**token, "id": "tok_2", "name": "old", "revoked_at": THEN}
    hub.handlers["token.list"] = answer({"tokens": [token, old]})
    assert await asyncio.to_thread(complete_tokens, "") == [("ci", "owner of ann")]
    assert await asyncio.to_thread(complete_tokens, "tok_") == [("tok_1", "ci")]


async def test_consoles_are_offered_behind_their_sandbox(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("create", "--name", "box")
    assert await asyncio.to_thread(complete_consoles, "b") == [("box", "python, running")]
    assert await asyncio.to_thread(complete_consoles, "box/") == [("box/boot", "what the machine says, open")]
    assert await asyncio.to_thread(complete_consoles, "box/con_") == [("box/con_boot_sb_0001", "boot")]
    assert await asyncio.to_thread(complete_consoles, "nothing/") == []


async def test_recordings_are_offered_with_what_they_are_of(hub: LocalHub) -> None:
    hub.recordings.add(of="con_1", sandbox="sb_1", command=["make\x1b", "-j4"])
    assert await asyncio.to_thread(complete_recordings, "rec_") == [("rec_0001", "make\\x1b in box")]


def test_topics_are_offered() -> None:
    assert [name for name, _ in complete_topics("")] == ["sandbox", "console", "approval", "usage"]


def test_scopes_are_offered_with_their_reach() -> None:
    assert complete_scopes("o") == [("owner", "its owner's sandboxes"), ("operator", "everybody's sandboxes")]


def test_without_a_hub_there_is_nothing_to_offer_and_none_is_started(home: Path) -> None:
    assert complete_sandboxes("") == []
    assert [name for name, _ in complete_recipes("")] == ["python", "minimal"]
    assert list(home.iterdir()) == []


async def test_a_hub_that_refuses_offers_nothing(hub: LocalHub) -> None:
    hub.handlers["sandbox.list"] = refuse(LookupError("a defect"))  # type: ignore[arg-type]
    assert await asyncio.to_thread(complete_sandboxes, "") == []


async def test_a_hub_that_does_not_answer_is_not_waited_for(hub: LocalHub) -> None:
    hub.handlers["sandbox.list"] = lambda _channel: asyncio.Event().wait()  # type: ignore[assignment,return-value]
    async with asyncio.timeout(10):
        assert await asyncio.to_thread(complete_sandboxes, "") == []
