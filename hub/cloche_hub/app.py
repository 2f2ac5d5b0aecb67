"""The hub put together: which implementation stands behind each port, in which order they begin and end.

Order: the store first, for it holds the home; then images and machines; then terminals and sandboxes; clients last. The
end is the same backwards, so that clients are told, machines end, and every ending is in the audit before the store closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import shutil
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import structlog

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.tokens import Token
from cloche_hub.errors import SettingsError
from cloche_hub.guestlink.bounds import link_bounds
from cloche_hub.guestlink.link import await_agent, guest_link
from cloche_hub.images.housekeeping import CacheLimits
from cloche_hub.images.images import ImageCache
from cloche_hub.ports import ConnectGuest, Guest, Hypervisor, Images, Machine, Recordings, Screens
from cloche_hub.server.handlers import greet
from cloche_hub.server.handlers import serve as serve_request
from cloche_hub.server.handlers.context import Services
from cloche_hub.server.listener import Listener, ListenerOptions
from cloche_hub.services.approvals import Approvals
from cloche_hub.services.callback_handlers import CallbackHandlers
from cloche_hub.services.callback_rates import CallbackRates
from cloche_hub.services.callbacks import Callbacks
from cloche_hub.services.changes import Changes
from cloche_hub.services.clock import Clock
from cloche_hub.services.consoles.consoles import Consoles
from cloche_hub.services.consoles.looks import ConsoleLooks
from cloche_hub.services.exec_recording import ExecRecordings
from cloche_hub.services.execs import Execs
from cloche_hub.services.files import Files
from cloche_hub.services.held import HUB
from cloche_hub.services.images import ImageService
from cloche_hub.services.keeping import keep_recordings
from cloche_hub.services.life import Lives
from cloche_hub.services.on_waiting import WaitingCommand
from cloche_hub.services.policy import Policies, PolicySource
from cloche_hub.services.reaper import reap_for_ever
from cloche_hub.services.recorded import Recorder
from cloche_hub.services.records import Records, noting
from cloche_hub.services.sandboxes import Sandboxes
from cloche_hub.services.tokens import Tokens
from cloche_hub.services.usage import UsageSampler
from cloche_hub.settings import Settings
from cloche_hub.store.policy_file import read_policy_file
from cloche_hub.store.recordings.recordings import open_recordings
from cloche_hub.store.screens import open_screens
from cloche_hub.store.store import Store as SqliteStore
from cloche_hub.store.store import open_store
from cloche_hub.store.token_file import read_token_file, write_token_file
from cloche_hub.vm.hypervisor import HypervisorOptions, QemuHypervisor
from cloche_hub.vm.uids import UserIds
from cloche_term.apart.terminals import Terminals, open_terminals
from cloche_wire.aio import Channel, Heartbeat
from cloche_wire.aio import Handler as ChannelHandler
from cloche_wire.limits import Limits
from cloche_wire.rendezvous import Locations

_log = structlog.get_logger(__name__)

VERSION = version("cloche")
# All hubs of a host share these, whatever their homes: two machines must never run as the same user.
_UID_LOCKS = Path("/run/cloche-uids")
SOFTWARE = f"cloche-hub/{VERSION}"


@dataclass(frozen=True, slots=True)
class Kept:
    """What outlives the hub."""

    store: SqliteStore
    screens: Screens
    recordings: Recordings


async def run_hub(
    settings: Settings,
    *,
    ready: Callable[[list[str]], None],
    stop: asyncio.Event,
    hangup: asyncio.Event | None = None,
) -> None:
    """Serves until `stop` is set, then ends in good order.

    Args:
        settings: the hub's.
        ready: told the addresses once clients can come.
        stop: set by a signal handler, or by the request `hub.stop`.
        hangup: set by a signal handler to have the policy read again.

    Raises:
        HomeInUse, StoreFailed, HubError: it cannot serve here; one line says why.
    """
    places = settings.locations
    async with (
        open_store(places.home) as store,
        open_screens(places.home) as screens,
        open_recordings(store, places.home, max_bytes=settings.max_recording_bytes) as recordings,
        ports(settings, places) as (images, hypervisor),
        open_terminals(on_trouble=_tell_trouble) as terminals,
    ):
        kept = Kept(store, screens, recordings)
        await serve(settings, kept, terminals, images, hypervisor, ready=ready, stop=stop, hangup=hangup)


@contextlib.asynccontextmanager
async def ports(settings: Settings, places: Locations) -> AsyncIterator[tuple[Images, Hypervisor]]:
    """The real images and the real hypervisor of this host."""
    limits = CacheLimits(max_bytes=settings.max_cache_bytes)
    async with (
        ImageCache(places.cache, limits=limits) as images,
        QemuHypervisor(
            places.home, places.cache, images.hold, await_agent, options=_hypervisor_options(settings)
        ) as hypervisor,
    ):
        yield images, hypervisor


async def serve(
    settings: Settings,
    kept: Kept,
    terminals: Terminals,
    images: Images,
    hypervisor: Hypervisor,
    *,
    ready: Callable[[list[str]], None],
    stop: asyncio.Event,
    hangup: asyncio.Event | None = None,
    clock: Clock | None = None,
) -> None:
    """Serves on given ports; see `run_hub`."""
    clock = clock or Clock()
    # What can be wrong with the settings is said before anything begins.
    options = _listener_options(settings)
    command = _waiting_command(settings)
    store = kept.store
    records = Records(store)
    tokens = Tokens(store, clock)
    await _provide_admin_token(tokens, settings.locations.admin_token)
    policies = Policies(_policy_source(settings), store, records, clock)
    approvals = Approvals(
        store, records, clock, Changes(), policy=lambda: policies.current, on_waiting=command.tell
    )
    sandboxes, services = _assemble(
        settings, kept, terminals, records, tokens, images, hypervisor, policies, approvals, clock, stop
    )

    async def serve_channel(channel: Channel, token: Token) -> None:
        await serve_request(services, channel, token)

    listener = Listener(options, tokens.authenticate, serve_channel, partial(greet, services))
    tokens.on_revoked(listener.expel)
    detail: dict[str, Json] = {"version": VERSION, "pid": os.getpid()}
    await records.keep(noting(AuditName.HUB_STARTED, actor=HUB, detail=detail))
    try:
        await policies.load()
        await services.consoles.forget_left()
        async with (
            command.running(),
            approvals.running(),
            # Consoles end with their sandboxes, so they are waited for after these.
            services.consoles.running(),
            sandboxes.running(),
            asyncio.TaskGroup() as tasks,
        ):
            loops = [
                tasks.create_task(reap_for_ever(sandboxes, records)),
                tasks.create_task(policies.run()),
                tasks.create_task(_keep_recordings(settings, kept.recordings, clock)),
                tasks.create_task(services.execs.recordings.finish_for_ever()),
                tasks.create_task(services.usage.run_for_ever()),
                tasks.create_task(policies.reload_on(hangup or asyncio.Event())),
            ]
            async with listener.listening() as addresses:
                _log.info("hub_ready", addresses=addresses, home=str(settings.locations.home))
                ready(addresses)
                await stop.wait()
                _log.info("hub_stopping", machines=sandboxes.machines)
            for loop in loops:
                loop.cancel()
    finally:
        # Also after an error: by now every machine has been ended.
        await records.keep(noting(AuditName.HUB_STOPPED, actor=HUB))
    _log.info("hub_stopped")


def _assemble(
    settings: Settings,
    kept: Kept,
    terminals: Terminals,
    records: Records,
    tokens: Tokens,
    images: Images,
    hypervisor: Hypervisor,
    policies: Policies,
    approvals: Approvals,
    clock: Clock,
    stop: asyncio.Event,
) -> tuple[Sandboxes, Services]:
    store = kept.store
    image_service = ImageService(images, records)
    handlers = CallbackHandlers()
    rates = CallbackRates(store, burst=settings.callback_burst, per_s=settings.callbacks_per_s)
    callbacks = Callbacks(store, records, approvals, handlers, lambda: policies.current, rates, clock)
    lives = Lives(store, records, image_service, hypervisor, _connector(settings), callbacks.serve, clock)
    sandboxes = Sandboxes(
        lives,
        store,
        records,
        image_service,
        hypervisor,
        max_sandboxes=settings.max_sandboxes,
        clock=clock,
        changes=approvals.changes,
    )
    cache, recorder = settings.locations.cache, Recorder(store, records, sandboxes.secrets)
    usage = UsageSampler(
        sandboxes.powered, approvals.changes, interval_s=settings.usage_interval_s, clock=clock
    )
    consoles = Consoles(
        sandboxes, recorder, terminals, kept.screens, kept.recordings, approvals.changes, clock
    )
    callbacks.on_event = approvals.on_event = consoles.mark
    services = Services(
        version=VERSION,
        address=f"unix://{settings.locations.socket}",
        started_at=clock.now(),
        default_lease_s=settings.default_lease_s,
        max_lease_s=settings.max_lease_s,
        tokens=tokens,
        usage=usage,
        sandboxes=sandboxes,
        execs=Execs(sandboxes, recorder, ExecRecordings(kept.recordings), clock),
        consoles=consoles,
        console_looks=ConsoleLooks(consoles, consoles.boot),
        files=Files(sandboxes, recorder),
        image_service=image_service,
        callback_handlers=handlers,
        approvals=approvals,
        changes=approvals.changes,
        store=store,
        recordings=kept.recordings,
        policies=policies,
        images=images,
        hypervisor=hypervisor,
        audit=store.audit,
        cache=str(cache),
        free_bytes=lambda: shutil.disk_usage(cache).free,
        stop=stop.set,
    )
    return sandboxes, services


def _tell_trouble(trouble: str) -> None:
    _log.warning("terminals_in_trouble", reason=trouble)


async def _keep_recordings(settings: Settings, recordings: Recordings, clock: Clock) -> None:
    await keep_recordings(
        recordings,
        days=settings.record_days,
        max_total_bytes=settings.max_recordings_bytes,
        clock=clock,
    )


def _policy_source(settings: Settings) -> PolicySource:
    return PolicySource(settings.policy_file, read_policy_file, is_required=settings.policy is not None)


def _waiting_command(settings: Settings) -> WaitingCommand:
    command = settings.on_waiting
    if command and shutil.which(command[0]) is None:
        raise SettingsError(
            f"on_waiting: no such program as {command[0]!r} can be run here; give its absolute path, or one word a "
            "part of the command"
        )
    return WaitingCommand(command)


def _connector(settings: Settings) -> ConnectGuest:
    def connect(
        machine: Machine, serve_guest: ChannelHandler
    ) -> contextlib.AbstractAsyncContextManager[Guest]:
        bounds = link_bounds(
            interval_s=settings.heartbeat_interval_s,
            silent_after_s=settings.silent_after_s,
            scale=settings.scale_for(machine.accelerator),
        )
        return guest_link(machine, bounds, software=SOFTWARE, on_open=serve_guest)

    return connect


def _hypervisor_options(settings: Settings) -> HypervisorOptions:
    uids = settings.machine_uids
    return HypervisorOptions(
        # Only root can give machines users of their own.
        uids=UserIds(uids.first, uids.last, _UID_LOCKS) if os.geteuid() == 0 else None,
        tcg_scale=settings.tcg_scale,
    )


def _listener_options(settings: Settings) -> ListenerOptions:
    return ListenerOptions(
        socket=settings.locations.socket,
        tcp=settings.listen,
        tls=_tls_context(settings),
        origins=settings.allowed_origins,
        limits=Limits(max_frame=settings.max_frame_bytes, max_message=settings.max_message_bytes),
        heartbeat=Heartbeat(settings.heartbeat_interval_s, settings.silent_after_s),
        max_links=settings.max_connections,
        max_token_links=settings.max_token_connections,
        grace_s=settings.resume_grace_s,
        software=SOFTWARE,
    )


def _tls_context(settings: Settings) -> ssl.SSLContext | None:
    if settings.tls_cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # A key that needs a password is an error like another one: nobody is there to be asked for it.
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password=lambda: "")
    except OSError as error:
        raise SettingsError(f"cannot use tls_cert {settings.tls_cert} with its tls_key: {error}") from None
    return context


async def _provide_admin_token(tokens: Tokens, path: Path) -> None:
    """Makes the first admin token, or another one where the file is lost: whoever owns the home is the admin."""
    text = read_token_file(path)
    if text is None or not await tokens.is_good(text):
        write_token_file(path, await tokens.mint_admin(owner=_user_name()))


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run us as a number that no user has.
        return f"uid-{os.geteuid()}"
