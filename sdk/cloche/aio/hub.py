"""A connection to a hub: sandboxes, images, disk and audit.

async with Hub.connect() as hub, hub.create() as sandbox:
    print((await sandbox.run("echo hi")).stdout)
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from cloche.aio.approvals import Approvals
from cloche.aio.callbacks import AT_ONCE, CallbackHandler, Function, decorating
from cloche.aio.consoles import list_consoles
from cloche.aio.hub_audit import HubAudit
from cloche.aio.pending import Pending
from cloche.aio.policy import Policy
from cloche.aio.recordings import Recordings
from cloche.aio.sandbox import Sandbox
from cloche.aio.tokens import Tokens
from cloche.answers import Answer
from cloche.config import find_address, find_token, reconnect_seconds
from cloche.console_messages import ConsoleInfo
from cloche.errors import Cancelled, HubNotRunning, LinkLost, ShuttingDown
from cloche.event_messages import Event
from cloche.link_news import OnLink
from cloche.messages import DiskUsage, HubStatus, ImageInfo, Progress, SandboxInfo
from cloche.partial import Partial

OnProgress = Callable[[Progress], None]


class Hub(HubAudit):
    """A connection to a hub. A context manager; `Hub.connect` makes one."""

    def __repr__(self) -> str:
        return f"<Hub {self.address}>"

    @classmethod
    def connect(
        cls,
        address: str | None = None,
        token: str | None = None,
        *,
        start: bool = False,
        reconnect_s: float | None = None,
        on_link: OnLink | None = None,
    ) -> Pending[Hub]:
        """Connects to a hub. A connection that is lost later is looked for, and what was underway goes on.

        Args:
            address: unix:///path, ws://host:port or wss://host:port; else CLOCHE_HUB, else this user's own hub.
            token: who we are; else CLOCHE_TOKEN, else (for this user's own hub) the token it keeps in its home.
            start: whether to start this user's hub in the background if it does not run.
            reconnect_s: how long to look for a lost hub; else CLOCHE_RECONNECT_S, else 30.
            on_link: told when the hub is lost, of each attempt to find it, and when it is back; must not block.

        Raises:
            HubNotRunning: nobody listens there.
            Unauthenticated: the hub does not know the token.
            LinkSilent: somebody listens and does not answer.
            Unsupported: client and hub speak different protocols; or `start`, and no hub is installed here.
            Forbidden, BadRequest: the address or the token's file is not to be used.
        """
        return Pending(cls._connected(address, token, start, reconnect_s, on_link))

    @classmethod
    async def _connected(
        cls,
        address: str | None,
        token: str | None,
        start: bool,  # noqa: FBT001 - its caller is the keyword-only one
        reconnect_s: float | None,
        on_link: OnLink | None,
    ) -> Hub:
        # Imported when needed: the driver costs more than everything else in this package together.
        from cloche.link import Link, Patience

        place = find_address(address)
        patience = Patience(reconnect_s=reconnect_seconds() if reconnect_s is None else reconnect_s)

        async def attempt() -> Hub:
            link = Link(place, find_token(token, place), patience=patience, on_link=on_link)
            return cls(await link.__aenter__())

        try:
            return await attempt()
        except HubNotRunning:
            if not (start and place.own):
                raise
        from cloche.background import start_hub

        await start_hub()
        return await attempt()

    @property
    def address(self) -> str:
        """Where the hub listens."""
        return self._link.address.text

    async def close(self) -> None:
        """Ends the connection; commands it has started are ended, sandboxes stay. Idempotent."""
        await self._link.close()

    async def status(self) -> HubStatus:
        """How the hub is."""
        return HubStatus.parse(await self._link.call("hub.status"))

    async def stop(self) -> None:
        """Has the hub end its machines in good order and exit; returns when it has begun to."""
        # It may be faster than its answer.
        with contextlib.suppress(ShuttingDown, LinkLost):
            await self._link.call("hub.stop")

    # Sandboxes.

    def create(
        self,
        recipe: str = "python",
        flavor: str = "small",
        *,
        name: str | None = None,
        env: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        lease_s: float | None = None,
        secrets: Mapping[str, str] | None = None,
        build: bool = True,
        on_progress: OnProgress | None = None,
    ) -> Pending[Sandbox]:
        """A new sandbox. Cancelling leaves none behind.

        Args:
            recipe: what is in it.
            flavor: its size: small, medium or large.
            name: up to 63 of a-z, 0-9 and '-'; made up if not given.
            env: what every command in it starts with.
            labels: for finding it again.
            lease_s: how long it lives after its last use; the hub's default if not given.
            secrets: variables like those of `env`, of at least 4 bytes each, 64 at most. The hub writes them nowhere,
                and recordings have `*` in their places.
            build: whether to build the recipe's image first if there is none, which takes minutes.
            on_progress: told of each step; must not block.

        Raises:
            RecipeNotBuilt: `build` is not set and there is no image.
            NotFound, BadRequest, Conflict: no such recipe or flavor, or the name is taken.
            BuildFailed, MachineFailed, NoSpace: the message says what to do.
        """
        params: dict[str, Any] = {
            "recipe": recipe,
            "flavor": flavor,
            "env": dict(env or {}),
            "labels": dict(labels or {}),
            "build": build,
        }
        if name is not None:
            params["name"] = name
        if lease_s is not None:
            params["lease_s"] = float(lease_s)
        if secrets:
            params["secrets"] = dict(secrets)

        async def coming() -> Sandbox:
            made = await self._work("sandbox.create", params, on_progress)
            return Sandbox(self._link, SandboxInfo.parse(made))

        return Pending(coming())

    async def sandboxes(self, *, all: bool = False) -> list[Sandbox]:  # noqa: A002 - as the command line calls it
        """The sandboxes this token may see.

        Args:
            all: also those that have been removed.
        """
        answer = Answer("list", await self._link.call("sandbox.list", {"all": all}))
        return [Sandbox(self._link, info) for info in answer.each("sandboxes", SandboxInfo.parse)]

    async def sandbox(self, reference: str) -> Sandbox:
        """The sandbox of an id, a name, or the beginning of one.

        Raises:
            NotFound: there is none.
            BadRequest: it could be several.
        """
        return Sandbox(
            self._link, SandboxInfo.parse(await self._link.call("sandbox.show", {"sandbox": reference}))
        )

    # Consoles and recordings.

    async def consoles(self, *, sandbox: str | None = None, ended: bool = False) -> Partial[ConsoleInfo]:
        """The consoles this token may see; `Sandbox.attach` looks into one.

        Args:
            sandbox: only those of this one: an id, a name, or the beginning of one.
            ended: also those that have ended; of each sandbox that is there, the newest are kept.
        """
        return await list_consoles(self._link, sandbox=sandbox, ended=ended)

    @property
    def recordings(self) -> Recordings:
        """What consoles and commands have shown."""
        return Recordings(self._link)

    # Images and disk.

    async def build_image(
        self, recipe: str, *, rebuild: bool = False, on_progress: OnProgress | None = None
    ) -> ImageInfo:
        """Builds the image of a recipe, or returns the current one.

        Args:
            recipe: its name.
            rebuild: whether to build even if there is a current image.
            on_progress: told of each step; must not block.

        Raises:
            NotFound, BadRequest: no such recipe, or an error in it.
            BuildFailed, NoSpace: the message says what to do.
        """
        return ImageInfo.parse(
            await self._work("image.build", {"recipe": recipe, "rebuild": rebuild}, on_progress)
        )

    async def images(self) -> list[ImageInfo]:
        """Every image, newest first."""
        return Answer("list", await self._link.call("image.list")).each("images", ImageInfo.parse)

    async def remove_image(self, digest: str) -> None:
        """Deletes an image and its templates.

        Raises:
            NotFound: no such image.
            WrongState: a machine still runs from it.
        """
        await self._link.call("image.remove", {"digest": digest})

    async def disk_usage(self) -> DiskUsage:
        """What the hub keeps on disk."""
        return DiskUsage.parse(await self._link.call("disk.usage"))

    async def prune(self) -> int:
        """Deletes what nothing uses; returns the bytes freed."""
        return Answer("prune", await self._link.call("disk.prune")).whole("freed_bytes")

    # Callbacks and who decides about them.

    def callback(
        self, *methods: str, sandbox: str | None = None, at_once: int = AT_ONCE
    ) -> Callable[[Function], CallbackHandler]:
        """A decorator: the function answers these callbacks of every sandbox this token may see.

        It gets a `CallbackCall` and returns anything JSON has. What it raises reaches the caller as `callback_failed`;
        errors of `cloche.errors` such as NotFound keep their code. A handler for one sandbox comes before one for all.

        Args:
            methods: names, or patterns: `*` is any text, `?` any one character.
            sandbox: only those of this one: an id, a name, or the beginning of one.
            at_once: how many calls it answers at once; others wait.

        Raises:
            BadRequest, NotFound: a method or the sandbox is none. In asynchronous code `ready` raises them.
        """
        return decorating(self._link, methods, sandbox=sandbox, at_once=at_once)

    @property
    def approvals(self) -> Approvals:
        """Calls that wait for a person."""
        return Approvals(self._link)

    # Policy.

    @property
    def policy(self) -> Policy:
        """What may leave sandboxes."""
        return Policy(self._link)

    # Tokens.

    @property
    def tokens(self) -> Tokens:
        """Who may use the hub."""
        return Tokens(self._link)

    # Events.

    async def events(
        self,
        *,
        topics: Sequence[str] = (),
        sandbox: str | None = None,
        owner: str | None = None,
        labels: Mapping[str, str] | None = None,
        states: Sequence[str] = (),
    ) -> AsyncGenerator[Event, None]:
        """What there is, then an event `current_end`, then what changes, without end.

        Who is slow gets the newest state of each thing, and not each step on the way.

        Args:
            topics: sandbox, console, approval, usage; all if none is given.
            sandbox: only what is about this one.
            owner: only what belongs to this one.
            labels: only sandboxes whose labels match these patterns (`*` is any text), and what is about them.
            states: only things in these states; a thing that leaves them is told as gone.

        Raises:
            NotFound, BadRequest: no such sandbox, or a filter will not do.
            LinkLost: the hub was lost for good, or has forgotten what it told: begin anew.
            TooLarge: more has changed than is kept for who does not read: begin anew.
        """
        params: dict[str, Any] = {
            "topics": list(topics),
            "labels": dict(labels or {}),
            "states": list(states),
        }
        params |= {
            name: value for name, value in (("sandbox", sandbox), ("owner", owner)) if value is not None
        }
        channel = self._link.open("events", params)
        try:
            async for message in channel.messages():
                yield Event.parse(message)
            await channel.result()
        finally:
            channel.reset(Cancelled("the caller has seen enough"))

    async def _work(
        self, kind: str, params: dict[str, Any], on_progress: OnProgress | None
    ) -> dict[str, Any]:
        """A request that tells its steps on the way."""
        channel = self._link.open(kind, params)
        try:
            async for message in channel.messages():
                if on_progress is not None:
                    on_progress(Progress.parse(message))
            return await channel.result()
        finally:
            # Does nothing once there is an answer.
            channel.reset(Cancelled("the caller has given up"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
