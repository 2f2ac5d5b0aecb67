"""What the shell is offered when somebody presses Tab: fast, and silent when there is nothing to offer.

Rule: completing never starts a hub and never waits for one longer than a moment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from cloche.cli.output import SHORT_DIGEST, clean_line

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.console_messages import ConsoleInfo

_MOMENT_S = 1.0
_FLAVORS = (("small", "1 CPU, 512 MiB"), ("medium", "2 CPUs, 2 GiB"), ("large", "4 CPUs, 4 GiB"))
_TOPICS = (
    ("sandbox", "their states"),
    ("console", "who looks and drives, titles"),
    ("approval", "what waits, decisions"),
    ("usage", "processor, memory, disk"),
)
_SCOPES = (("owner", "its owner's sandboxes"), ("operator", "everybody's sandboxes"), ("admin", "everything"))
_RECIPES = (("python", "Python with pip"), ("minimal", "what the agent needs, and no more"))

Offer = list[tuple[str, str]]


def complete_flavors(incomplete: str) -> Offer:
    """Sizes of machines."""
    return _beginning(incomplete, _FLAVORS)


def complete_topics(incomplete: str) -> Offer:
    """What events are about."""
    return _beginning(incomplete, _TOPICS)


def complete_scopes(incomplete: str) -> Offer:
    """How far a token reaches."""
    return _beginning(incomplete, _SCOPES)


def complete_recipes(incomplete: str) -> Offer:
    """Recipes that come with Cloche, and those images have been built from."""

    async def ask(hub: Hub) -> Offer:
        return [(image.recipe, "built") for image in await hub.images()]

    return _beginning(incomplete, dict([*_ask(ask), *_RECIPES]).items())


def complete_sandboxes(incomplete: str) -> Offer:
    """Names and ids of sandboxes."""

    async def ask(hub: Hub) -> Offer:
        infos = [sandbox.info for sandbox in await hub.sandboxes()]
        names = [(info.name, f"{info.recipe}, {info.state}") for info in infos]
        # Ids only for somebody who is typing one.
        return names + [(info.id, info.name) for info in infos if incomplete.startswith("sb_")]

    return _beginning(incomplete, _ask(ask))


def complete_consoles(incomplete: str) -> Offer:
    """Sandboxes, and behind the slash the consoles of one."""
    sandbox, slash, _ = incomplete.partition("/")
    if not slash:
        return complete_sandboxes(incomplete)

    async def ask(hub: Hub) -> Offer:
        infos = await hub.consoles(sandbox=sandbox)
        names = [(f"{sandbox}/{info.name}", f"{_console(info)}, {info.state}") for info in infos]
        return names + [(f"{sandbox}/{info.id}", info.name) for info in infos if "/con_" in incomplete]

    return _beginning(incomplete, _ask(ask))


def complete_recordings(incomplete: str) -> Offer:
    """Ids of the newest recordings."""

    async def ask(hub: Hub) -> Offer:
        infos = await hub.recordings.list()
        return [(info.id, f"{_program(info.command)} in {info.sandbox_name}") for info in infos]

    return _beginning(incomplete, _ask(ask))


def _console(info: ConsoleInfo) -> str:
    return "what the machine says" if info.kind == "boot" else _program(info.command)


def _program(command: tuple[str, ...] | None) -> str:
    return clean_line(command[0]) if command else "a shell"


def complete_approvals(incomplete: str) -> Offer:
    """Ids of approvals that wait."""

    async def ask(hub: Hub) -> Offer:
        return [(one.id, f"{one.method} of {one.sandbox_name}") for one in await hub.approvals.list()]

    return _beginning(incomplete, _ask(ask))


def complete_tokens(incomplete: str) -> Offer:
    """Names of tokens that are good, and their ids."""

    async def ask(hub: Hub) -> Offer:
        good = [one for one in await hub.tokens.list() if one.revoked_at is None]
        names = [(one.name, f"{one.scope} of {one.owner}") for one in good]
        return names + [(one.id, one.name) for one in good if incomplete.startswith("tok_")]

    return _beginning(incomplete, _ask(ask))


def complete_images(incomplete: str) -> Offer:
    """Digests of images, as far as lists show them, and recipes."""

    async def ask(hub: Hub) -> Offer:
        images = await hub.images()
        recipes = [(image.recipe, "its image") for image in images]
        digests = [(image.digest[:SHORT_DIGEST], image.recipe) for image in images]
        return [*dict(recipes).items(), *digests]

    return _beginning(incomplete, _ask(ask))


def complete_places(incomplete: str) -> Offer:
    """Sandboxes as `cloche cp` names them; what else there is, the shell knows."""
    if ":" in incomplete or "/" in incomplete:
        return []
    return [(f"{word}:", about) for word, about in complete_sandboxes(incomplete)]


def _ask(question: Callable[[Hub], Awaitable[Offer]]) -> Offer:
    import asyncio

    async def asked() -> Offer:
        from cloche.aio import Hub
        from cloche_wire.aio.bounds import within

        async with within(_MOMENT_S), Hub.connect(reconnect_s=0) as hub:
            return await question(hub)

    try:
        return asyncio.run(asked())
    except Exception:
        # Whatever it is: a traceback in the middle of somebody's command line helps nobody.
        return []


def _beginning(incomplete: str, offers: Iterable[tuple[str, str]]) -> Offer:
    return [(word, about) for word, about in offers if word.startswith(incomplete)]
