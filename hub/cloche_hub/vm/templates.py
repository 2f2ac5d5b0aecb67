"""Templates ready to clone from: found, made, loaded, kept and let go.

Rules:
- Whoever asks for the same template shares one making of it, also with other hubs on the same cache.
- A template that machines of this hub run from stays loaded; of the others only the last few used do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from cloche_hub.domain.flavors import Flavor
from cloche_hub.errors import Unsupported
from cloche_hub.locks import Lock
from cloche_hub.ports import AwaitAgent, OnProgress, Progress
from cloche_hub.shared_work import SharedWork
from cloche_hub.vm.argv import KVM
from cloche_hub.vm.boot import HeldImage, Users
from cloche_hub.vm.bounds import Bounds
from cloche_hub.vm.clone import LoadedTemplate, load_template
from cloche_hub.vm.facts import Host
from cloche_hub.vm.probe import Verdict, Verdicts, choose_accelerator, proof_key, prove_kvm
from cloche_hub.vm.template import Shape, TemplateCache
from cloche_hub.vm.template_build import build_template

HoldImage = Callable[[str], AbstractContextManager[HeldImage]]
"""Keeps an image from being removed while the context is open; raises NotFound."""

_TRIES = 3


@dataclass(frozen=True, slots=True)
class Workshop:
    """What making templates needs."""

    host: Host
    users: Users
    hold_image: HoldImage
    await_agent: AwaitAgent
    cache: TemplateCache
    verdicts: Verdicts
    machines: Path
    """Where machines that are only booted to be saved, or as a proof, have their folders."""
    bounds: Bounds
    tcg_scale: float
    max_bytes: int
    """How much all templates may use on disk."""
    most_idle: int
    """How many templates without machines stay loaded."""


class Templates:
    """The templates of one hub. Use it while its task group is open; then `close` it."""

    def __init__(self, shop: Workshop, group: asyncio.TaskGroup) -> None:
        self._shop = shop
        self._making: SharedWork[LoadedTemplate] = SharedWork(group)
        # In the order of their last use.
        self._loaded: dict[str, LoadedTemplate] = {}
        self._proving = asyncio.Lock()

    async def ready(self, image: str, flavor: Flavor, *, progress: OnProgress) -> LoadedTemplate:
        """A template of image and flavor with its memory loaded; made first if there is none.

        Raises:
            NotFound: no such image.
            NoSpace, BuildFailed, MachineFailed: it can not be made.
            Unsupported: this host can not run machines.
        """
        shape = await self._shape(image, flavor, progress)
        key = shape.key()
        loaded = self._loaded.get(key)
        if loaded is None or self._shop.cache.find(key) is None:
            return await self._making.join(key, lambda report: self._make(shape, report), progress=progress)
        # Used last, so it stays longest.
        self._loaded[key] = self._loaded.pop(key)
        return loaded

    def take(self, template: LoadedTemplate) -> Lock | None:
        """Counts a machine to a template; `give_back` ends that.

        Returns:
            What keeps the template's files, for the machine to inherit; None if the template is gone meanwhile.
        """
        key = template.stored.key
        if self._loaded.get(key) is not template:
            return None
        lock = Lock.share(self._shop.cache.use_lock(key))
        if self._shop.cache.find(key) is None:
            lock.close()
            return None
        template.stored.mark_used()
        template.machines += 1
        return lock

    def give_back(self, template: LoadedTemplate) -> None:
        """A machine of it is gone."""
        template.machines -= 1
        if self._loaded.get(template.stored.key) is template:
            self.trim()
        elif template.machines == 0:
            template.close()

    def trim(self) -> None:
        """Lets go of the memory of templates that have no machine and were not used for longest."""
        idle = [key for key, loaded in self._loaded.items() if loaded.machines == 0]
        for key in idle[: max(0, len(idle) - self._shop.most_idle)]:
            self._loaded.pop(key).close()

    def cancel_all(self) -> None:
        """Calls off what is being made."""
        self._making.cancel_all()

    def close(self) -> None:
        """Lets go of all memory."""
        for loaded in self._loaded.values():
            loaded.close()
        self._loaded.clear()

    async def _shape(self, image: str, flavor: Flavor, progress: OnProgress) -> Shape:
        host = self._shop.host
        build = await host.qemu()
        shape = Shape(build, host.arch, KVM, image, flavor, host.identity_for_kvm())
        return replace(shape, accelerator=(await self._verdict(shape, progress)).accelerator)

    async def _verdict(self, shape: Shape, progress: OnProgress) -> Verdict:
        shop = self._shop
        why_not = shop.host.why_no_kvm(shop.users.example())
        # One proof at a time: the second one finds the first one's verdict.
        async with self._proving:
            with shop.hold_image(shape.image) as image:
                if image.files.arch != shape.arch:
                    raise Unsupported(f"image {shape.image[:12]} is for {image.files.arch}, not {shape.arch}")

                async def prove() -> Verdict:
                    return await prove_kvm(
                        shape,
                        image,
                        machines=shop.machines,
                        users=shop.users,
                        await_agent=shop.await_agent,
                        bounds=shop.bounds,
                        progress=progress,
                    )

                return await choose_accelerator(
                    shop.verdicts, lambda: proof_key(shape, image.files.kernel), why_not, prove
                )

    async def _make(self, shape: Shape, progress: OnProgress) -> LoadedTemplate:
        shop, key = self._shop, shape.key()
        for _ in range(_TRIES):
            if shop.cache.find(key) is None:
                await self._build(shape, progress)
            with Lock.share(shop.cache.use_lock(key)), shop.hold_image(shape.image) as image:
                # Only now can nobody delete it any more.
                stored = shop.cache.find(key)
                if stored is not None:
                    loaded = await load_template(shape, stored, image.files.kernel)
                    # Here, not by who waits for it: nobody may be waiting any more.
                    self._forget(key)
                    self._loaded[key] = loaded
                    return loaded
        raise Unsupported("templates disappear from the cache as fast as they are made; who deletes them?")

    async def _build(self, shape: Shape, progress: OnProgress) -> None:
        shop = self._shop

        def waiting() -> None:
            progress(Progress("template", "another hub is making this template; waiting for it", 0.0))

        shop.cache.prepare()
        with await Lock.take(shop.cache.build_lock(shape.key()), while_waiting=waiting):
            if shop.cache.find(shape.key()) is not None:
                return
            await asyncio.to_thread(shop.cache.make_room, shop.max_bytes)
            with shop.hold_image(shape.image) as image:
                await build_template(
                    shape,
                    image,
                    shop.cache,
                    machines=shop.machines,
                    users=shop.users,
                    await_agent=shop.await_agent,
                    bounds=shop.bounds.scaled(shape.accelerator, shop.tcg_scale),
                    progress=progress,
                )

    def _forget(self, key: str) -> None:
        loaded = self._loaded.pop(key, None)
        if loaded is not None and loaded.machines == 0:
            loaded.close()
