"""The dashboard in a browser on this machine: a page, and a process of the dashboard's own for each tab.

    async with serving(["cloche", "tui"]) as address:
        print(address)                       # http://127.0.0.1:41877/<token>/

Rules, since whoever reaches a tab is who started this:
- It listens on the loopback alone. Whoever knows the address may come in, and its path is a random token.
- Every request is checked for the token, for the host it asked (a foreign name may lead here) and for where it comes
  from (another site's page may ask); the websocket is refused without a word about where it comes from.
- A tab's process has ended before its handler has: asked first, then told, then killed.
- A tab whose page says what none of ours does is ended, with a line about it and nothing more.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import textual_serve
from aiohttp import WebSocketError, WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager
from textual_serve.server import Server

from cloche.errors import BadRequest
from cloche_tui.serve.envelopes import (
    LARGEST_SIDE,
    Envelope,
    Focused,
    Pinged,
    Resized,
    SenselessEnvelope,
    Typed,
    parse_envelope,
)
from cloche_tui.serve.tab import DRIVER, SIZE
from cloche_wire.aio.bounds import within

if TYPE_CHECKING:
    from cloche_tui.start import Start

MOST_TABS = 8
_LEAVE_S = 3.0
_TERMINATE_S = 1.0
_LONGEST_MESSAGE = 1 << 20
_STATIC = Path(textual_serve.__file__).parent / "static"
_PAGE = Path(__file__).with_name("page.html")
_SIZES = ("COLUMNS", "LINES", "ROWS")
"""Variables that a program would believe more than its terminal."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
    "img-src 'self' data:; connect-src 'self' ws://{host}; frame-ancestors 'none'; form-action 'none'; base-uri 'none'"
)
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Tab(AppService):
    """The process behind one tab.

    Args:
        command: what it runs.
        websocket: the tab.
    """

    def __init__(self, command: Sequence[str], websocket: web.WebSocketResponse) -> None:
        super().__init__(
            " ".join(command),
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=self._close_websocket,
            download_manager=DownloadManager(),
        )
        self._argv, self._websocket = tuple(command), websocket

    async def run(self) -> None:
        """Carries what the dashboard shows to the tab, and closes the tab when there is nothing more."""
        await super().run()
        await self._close_websocket()

    async def take(self, envelope: Envelope) -> None:
        """Does what the page says."""
        match envelope:
            case Typed():
                await self.send_bytes(envelope.data)
            case Resized():
                await self.set_terminal_size(envelope.columns, envelope.rows)
            case Focused():
                await (self.focus() if envelope.has_focus else self.blur())
            case Pinged():
                await self._websocket.send_json(["pong", envelope.what])

    async def stop(self) -> None:
        """Ends the process. Idempotent; bounded, also while it is being cancelled."""
        process, self._process = self._process, None
        task, self._task = self._task, None
        if process is None or task is None:
            return
        with contextlib.suppress(TimeoutError):
            async with within(_LEAVE_S):
                await self.send_meta({"type": "quit"})
                self.stdin.close()
                await process.wait()
        for number, seconds in ((signal.SIGTERM, _TERMINATE_S), (signal.SIGKILL, None)):
            if process.returncode is not None:
                break
            # SAFETY: a child that has not been waited for yet, and leads a group of its own: no other process has its id.
            with contextlib.suppress(ProcessLookupError, TimeoutError):
                os.killpg(process.pid, number)
                async with within(seconds):
                    await process.wait()
        task.cancel()
        await asyncio.wait({task})

    async def _close_websocket(self) -> None:
        await self._websocket.close()

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        environment = self._build_environment(width, height)
        for name in _SIZES:
            environment.pop(name, None)
        # SAFETY: an argument list without a shell; nothing in it comes from the tab. Its size is two whole numbers.
        self._process = await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**environment, "TEXTUAL_DRIVER": DRIVER, SIZE: f"{width:d}x{height:d}"},
            start_new_session=True,
        )
        assert self._process.stdin is not None
        self._stdin = self._process.stdin
        return self._process


class TabServer(Server):
    """The page and its tabs, as an aiohttp application.

    Args:
        command: what runs in each tab.
        token: the first part of every path.
        most_tabs: how many there are at once.
    """

    def __init__(self, command: Sequence[str], token: str, *, most_tabs: int = MOST_TABS) -> None:
        super().__init__(" ".join(command), title="Cloche")
        self._argv, self._token, self._most_tabs = tuple(command), token, most_tabs
        self._websockets: set[web.WebSocketResponse] = set()

    def application(self) -> web.Application:
        """What answers requests."""
        inside = web.Application()
        inside.router.add_get("/", self._answer_page)
        inside.router.add_get("/ws", self.handle_websocket)
        inside.router.add_static("/static", _STATIC)
        outside = web.Application(middlewares=[self._admit])
        outside.add_subapp(f"/{self._token}", inside)
        outside.on_response_prepare.append(self._add_headers)
        outside.on_shutdown.append(self._close_tabs)
        return outside

    @web.middleware
    async def _admit(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        # SAFETY: the requester is any program of this machine, or any site that somebody's browser here has open. Only
        # who was given the address knows the token. The comparison takes equally long for every wrong one.
        told = request.path.split("/", 2)[1]
        if not secrets.compare_digest(told.encode(errors="replace"), self._token.encode()):
            raise web.HTTPNotFound(text="There is nothing here; open the whole address that was shown.\n")
        # A name of somebody else's that leads to this machine would make their page one of ours.
        if request.host.rpartition(":")[0] not in ("127.0.0.1", "localhost"):
            raise web.HTTPForbidden(text="This is served to this machine alone, as 127.0.0.1.\n")
        origin = request.headers.get("Origin")
        is_websocket = request.headers.get("Upgrade", "").lower() == "websocket"
        if origin != f"http://{request.host}" and (is_websocket or origin is not None):
            raise web.HTTPForbidden(text="This is for its own page alone.\n")
        return await handler(request)

    async def _add_headers(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        response.headers.update(_HEADERS)
        response.headers["Content-Security-Policy"] = _POLICY.format(host=request.host)

    async def _answer_page(self, request: web.Request) -> web.Response:
        # SAFETY: the host is one of two names and a port, and the token is ours: nothing to escape in the page.
        page = _PAGE.read_text().replace("{{websocket}}", f"ws://{request.host}/{self._token}/ws")
        return web.Response(text=page, content_type="text/html")

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Runs a tab to its end."""
        if len(self._websockets) >= self._most_tabs:
            raise web.HTTPServiceUnavailable(text="There are too many tabs already; close one.\n")
        columns, rows = (
            _size(request.query.get(name), usual) for name, usual in (("width", 80), ("height", 24))
        )
        websocket = web.WebSocketResponse(heartbeat=15, max_msg_size=_LONGEST_MESSAGE)
        self._websockets.add(websocket)
        try:
            await websocket.prepare(request)
            tab = Tab(self._argv, websocket)
            try:
                await tab.start(columns, rows)
                await _carry(websocket, tab)
            except SenselessEnvelope as error:
                _say(f"a tab was ended: {error}")
            finally:
                await tab.stop()
        finally:
            self._websockets.discard(websocket)
        return websocket

    async def _close_tabs(self, _application: web.Application) -> None:
        for websocket in list(self._websockets):
            await websocket.close()


@contextlib.asynccontextmanager
async def serving(command: Sequence[str], *, port: int = 0, most_tabs: int = MOST_TABS) -> AsyncIterator[str]:
    """Serves tabs; gives the address to open.

    Args:
        command: what runs in each tab: a program and its arguments.
        port: on the loopback; 0 takes a free one.
        most_tabs: how many there are at once.

    Raises:
        OSError: the port is taken.
    """
    token = secrets.token_urlsafe(24)
    server = TabServer(command, token, most_tabs=most_tabs)
    runner = web.AppRunner(
        server.application(), access_log=None, shutdown_timeout=_LEAVE_S + 2 * _TERMINATE_S
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        host, bound = runner.addresses[0][:2]
        yield f"http://{host}:{bound}/{token}/"
    finally:
        await runner.cleanup()


def serve_dashboard(start: Start, *, port: int = 0) -> int:
    """Serves the dashboard to browsers on this machine until SIGINT or SIGTERM; returns the exit status.

    Args:
        start: how each tab's dashboard is started.
        port: on the loopback; 0 takes a free one.

    Raises:
        BadRequest: the port cannot be used.
    """
    try:
        asyncio.run(_serve(command_of(start), port, _tell))
    except OSError as error:
        reason = error.strerror or error
        raise BadRequest(f"port {port} cannot be used ({reason}); give another one, or --port 0") from None
    return 0


def command_of(start: Start) -> list[str]:
    """What runs in a tab of a dashboard that is started like this."""
    return [sys.executable, "-m", "cloche_tui.serve", json.dumps(asdict(start))]


async def _serve(command: Sequence[str], port: int, tell: Callable[[str], object]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(command, port=port) as address:
        tell(address)
        await stop.wait()


async def _carry(websocket: web.WebSocketResponse, tab: Tab) -> None:
    """Has the tab do what its page says, until that has gone.

    Raises:
        SenselessEnvelope: it is no page of ours.
    """
    async for message in websocket:
        if message.type is WSMsgType.ERROR:
            if isinstance(message.data, WebSocketError):
                raise SenselessEnvelope("a message is too long, or none of a websocket's")
            return  # the browser has been cut off
        if message.type is not WSMsgType.TEXT:
            raise SenselessEnvelope("a message is no text")
        envelope = parse_envelope(message.data)
        if envelope is not None:
            # A page that goes while it is answered has gone.
            with contextlib.suppress(ConnectionError):
                await tab.take(envelope)


def _tell(address: str) -> None:
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    _say("open this address in a browser on this machine; who has it can do all that you can. Ctrl+C ends it")


def _say(line: str) -> None:
    sys.stderr.write(f"cloche: {line}\n")


def _size(text: str | None, usual: int) -> int:
    # Of a number with more digits than that nothing is to be known but that it is too large.
    return max(1, min(int(text[:5]), LARGEST_SIDE)) if text is not None and text.isdecimal() else usual
