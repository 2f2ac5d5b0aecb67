"""Tabs in a browser: who may open one, what runs in it, and that it ends with it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import (
    ClientSession,
    ClientWebSocketResponse,
    WSCloseCode,
    WSMsgType,
    WSServerHandshakeError,
)

from cloche.errors import BadRequest
from cloche_tui.serve import server
from cloche_tui.serve.server import serving
from cloche_tui.start import Start
from tests.support.hub import until
from tests.tui.support import hub_on_fakes

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs find the tests' modules, and are told sizes as by a shell."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LINES", "50")


@pytest.fixture
async def browser() -> AsyncIterator[ClientSession]:
    """Asks and opens websockets."""
    async with asyncio.timeout(50), ClientSession() as session:
        yield session


class _Tabs:
    """A server of tabs with the small program in them."""

    def __init__(self, address: str, pids: Path) -> None:
        self.address, self._pids = address, pids
        parts = urlsplit(address)
        self.origin, self.host = f"{parts.scheme}://{parts.netloc}", parts.netloc
        self.websocket = f"ws://{parts.netloc}{parts.path}ws"

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self._pids.read_text().split()] if self._pids.exists() else []

    @property
    def running(self) -> list[int]:
        return [pid for pid in self.pids if Path(f"/proc/{pid}").exists()]

    def open(self, browser: ClientSession, size: str = "?width=60&height=10", **headers: str):  # type: ignore[no-untyped-def]
        return browser.ws_connect(self.websocket + size, headers={"Origin": self.origin, **headers})


@contextlib.asynccontextmanager
async def _tabs(folder: Path, manner: str = "", *, most_tabs: int = 8) -> AsyncIterator[_Tabs]:
    pids = folder / "pids"
    command = [sys.executable, "-m", "tests.tui.serve.small_app", str(pids), manner]
    async with serving(command, most_tabs=most_tabs) as address:
        tabs = _Tabs(address, pids)
        yield tabs
    assert tabs.running == [], "no program outlives the server"


async def _shown(websocket: ClientWebSocketResponse, text: bytes) -> bytes:
    """What has come until a text is there."""
    seen = b""
    while text not in seen:
        message = await websocket.receive(timeout=20)
        assert message.type is WSMsgType.BINARY, (message, seen)
        seen += message.data
    return seen


async def test_a_tab_shows_the_program_at_its_size_and_hides_it_from_what_it_starts(
    tmp_path: Path, browser: ClientSession
) -> None:
    async with _tabs(tmp_path) as tabs, tabs.open(browser) as websocket:
        await _shown(websocket, b"size 60x10 told []")


async def test_a_tab_s_keys_reach_the_program_and_its_end_closes_the_tab(
    tmp_path: Path, browser: ClientSession
) -> None:
    async with _tabs(tmp_path) as tabs, tabs.open(browser) as websocket:
        await _shown(websocket, b"told")
        await websocket.send_str(json.dumps(["stdin", "q"]))
        while (await websocket.receive(timeout=20)).type is WSMsgType.BINARY:
            pass
        assert websocket.closed
        await until(lambda: tabs.running == [])


async def test_a_program_that_dies_at_once_closes_its_tab(tmp_path: Path, browser: ClientSession) -> None:
    async with _tabs(tmp_path, "dies") as tabs, tabs.open(browser) as websocket:
        assert (await websocket.receive(timeout=20)).type in (WSMsgType.CLOSE, WSMsgType.CLOSED)


@pytest.mark.parametrize("manner", ["", "slow", "stuck"])
async def test_a_tab_that_is_closed_before_its_program_has_begun_leaves_nothing_behind(
    tmp_path: Path, browser: ClientSession, manner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Who can be asked is, and has all the time it wants; who cannot be is not waited for.
    monkeypatch.setattr(server, "_LEAVE_S", 0.2 if manner == "stuck" else 60)
    monkeypatch.setattr(server, "_TERMINATE_S", 0.1)
    async with _tabs(tmp_path, manner) as tabs:
        async with tabs.open(browser):
            await until(lambda: tabs.running)
        await until(lambda: tabs.running == [])
    assert len(tabs.pids) == 1


async def test_a_tab_whose_browser_is_cut_off_leaves_nothing_behind(
    tmp_path: Path, browser: ClientSession
) -> None:
    async with _tabs(tmp_path) as tabs, tabs.open(browser) as websocket:
        await _shown(websocket, b"told")
        transport = websocket.get_extra_info("socket")
        transport.shutdown(2)
        await until(lambda: tabs.running == [])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("no JSON", "a message is no JSON"),
        ('["stdin"', "a message is no JSON"),
        pytest.param("[" * 100_000, "a message is no JSON", id="deep"),
        ('{"stdin": "q"}', "a message does not say what it is"),
        ('["stdin", {"a": 1}]', "a stdin comes without a text"),
        ('["resize", [1, 2]]', "a resize comes without a size"),
        (b"\x00\xff", "a message is no text"),
    ],
)
async def test_a_tab_that_is_told_nonsense_ends_with_a_line_and_no_traceback(
    tmp_path: Path,
    browser: ClientSession,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    said: str | bytes,
    why: str,
) -> None:
    async with _tabs(tmp_path) as tabs:
        async with tabs.open(browser) as websocket, tabs.open(browser) as other:
            await _shown(other, b"told")
            await (websocket.send_str(said) if isinstance(said, str) else websocket.send_bytes(said))
            while (await websocket.receive(timeout=20)).type is WSMsgType.BINARY:
                pass
            await other.send_str(json.dumps(["ping", "still there"]))
            while (message := await other.receive(timeout=20)).type is not WSMsgType.TEXT:
                pass
            assert message.json() == ["pong", "still there"]
        await until(lambda: tabs.running == [])
    assert capsys.readouterr().err == f"cloche: a tab was ended: {why}\n"
    assert caplog.records == []


async def test_a_message_that_is_too_long_ends_its_tab_with_a_line(
    tmp_path: Path,
    browser: ClientSession,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with _tabs(tmp_path) as tabs:
        async with tabs.open(browser) as websocket:
            await websocket.send_str(json.dumps(["stdin", "x" * (1 << 20)]))
            while (message := await websocket.receive(timeout=20)).type is WSMsgType.BINARY:
                pass
            assert (message.type, message.data) == (WSMsgType.CLOSE, WSCloseCode.MESSAGE_TOO_BIG)
        await until(lambda: tabs.running == [])
    assert (
        capsys.readouterr().err
        == "cloche: a tab was ended: a message is too long, or none of a websocket's\n"
    )
    assert caplog.records == []


async def test_what_a_later_page_may_say_and_sizes_that_are_none_change_nothing(
    tmp_path: Path, browser: ClientSession
) -> None:
    async with _tabs(tmp_path) as tabs, tabs.open(browser) as websocket:
        await _shown(websocket, b"told")
        for said in (["later", 1], ["resize", {"width": None}], ["blur"], ["focus"]):
            await websocket.send_str(json.dumps(said))
        await websocket.send_str(json.dumps(["ping", ""]))
        while (message := await websocket.receive(timeout=20)).type is WSMsgType.BINARY:
            pass
        assert message.json() == ["pong", ""]


async def test_the_server_s_end_is_the_end_of_its_tabs(tmp_path: Path, browser: ClientSession) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with _tabs(tmp_path) as tabs:
            for _ in range(2):
                websocket = await stack.enter_async_context(tabs.open(browser))
                await _shown(websocket, b"told")
            assert len(tabs.running) == 2
        assert tabs.running == []


async def test_the_page_finds_all_it_needs_at_its_own_address(tmp_path: Path, browser: ClientSession) -> None:
    async with _tabs(tmp_path) as tabs:
        async with browser.get(tabs.address) as response:
            page = await response.text()
            assert response.status == 200
            policy = response.headers["Content-Security-Policy"]
        assert f'data-session-websocket-url="{tabs.websocket}"' in page
        assert f"connect-src 'self' ws://{tabs.host};" in policy
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert page.count("http") == 0, "nothing from elsewhere"
        for part in (
            "static/js/textual.js",
            "static/css/xterm.css",
            "static/fonts/RobotoMono-VariableFont_wght.ttf",
        ):
            assert part in page
            async with browser.get(tabs.address + part) as response:
                assert response.status == 200
        async with browser.get(tabs.address + "static/") as response:
            assert response.status == 403


@pytest.mark.parametrize(
    "path", ["/", "/ws", "//", "/wrong/", "/wrong/ws", "/static/js/textual.js", "/favicon.ico"]
)
async def test_without_the_token_there_is_nothing(tmp_path: Path, browser: ClientSession, path: str) -> None:
    async with _tabs(tmp_path) as tabs:
        async with browser.get(tabs.origin + path) as response:
            assert response.status == 404
            assert "open the whole address" in await response.text()
        headers = {"Origin": tabs.origin}
        with pytest.raises(WSServerHandshakeError) as refused:
            await browser.ws_connect(f"ws://{tabs.host}{path}", headers=headers)
        assert refused.value.status == 404
    assert tabs.pids == []


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", None])
async def test_another_site_s_page_opens_no_tab(
    tmp_path: Path, browser: ClientSession, origin: str | None
) -> None:
    async with _tabs(tmp_path) as tabs:
        headers = {} if origin is None else {"Origin": origin}
        with pytest.raises(WSServerHandshakeError) as refused:
            await browser.ws_connect(tabs.websocket, headers=headers)
        assert refused.value.status == 403
        if origin is not None:
            async with browser.get(tabs.address, headers=headers) as response:
                assert response.status == 403
    assert tabs.pids == []


async def test_a_foreign_name_that_leads_here_gets_nothing(tmp_path: Path, browser: ClientSession) -> None:
    async with _tabs(tmp_path) as tabs:
        port = tabs.host.partition(":")[2]
        for host in (f"evil.example:{port}", "evil.example", f"127.0.0.1.evil.example:{port}"):
            async with browser.get(tabs.address, headers={"Host": host}) as response:
                assert response.status == 403
        async with browser.get(tabs.address, headers={"Host": f"localhost:{port}"}) as response:
            assert response.status == 200


async def test_it_listens_on_the_loopback_alone_with_a_token_of_its_own(tmp_path: Path) -> None:
    async with _tabs(tmp_path) as one, _tabs(tmp_path) as other:
        paths = [urlsplit(tabs.address).path for tabs in (one, other)]
        assert one.origin.startswith("http://127.0.0.1:")
    assert paths[0] != paths[1]
    assert min(map(len, paths)) >= 32


async def test_there_are_only_so_many_tabs_at_once(tmp_path: Path, browser: ClientSession) -> None:
    async with _tabs(tmp_path, most_tabs=1) as tabs:
        async with tabs.open(browser) as websocket:
            await _shown(websocket, b"told")
            with pytest.raises(WSServerHandshakeError) as refused:
                await tabs.open(browser)
            assert refused.value.status == 503
        await _shown(await _opened_once_there_is_room(tabs, browser), b"told")


async def _opened_once_there_is_room(tabs: _Tabs, browser: ClientSession) -> ClientWebSocketResponse:
    while True:
        with contextlib.suppress(WSServerHandshakeError):
            websocket: ClientWebSocketResponse = await tabs.open(browser)
            return websocket


@pytest.mark.parametrize(
    "size", ["", "?width=x&height=y", pytest.param("?width=-3&height=" + "9" * 5000, id="large")]
)
async def test_a_senseless_size_is_none(tmp_path: Path, browser: ClientSession, size: str) -> None:
    async with _tabs(tmp_path) as tabs, tabs.open(browser, size) as websocket:
        await _shown(websocket, b"size 80x1000 told" if "99999" in size else b"size 80x24 told")


async def test_the_dashboard_itself_runs_in_a_tab(
    tmp_path: Path, browser: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    async with hub_on_fakes(tmp_path) as (hub, client):
        await client.create(name="mossy-acorn")
        monkeypatch.setenv("CLOCHE_HUB", hub.address)
        monkeypatch.setenv("CLOCHE_TOKEN", hub.admin)
        async with serving(server.command_of(Start())) as address:
            tabs = _Tabs(address, tmp_path / "pids")
            async with tabs.open(browser) as websocket:
                await _shown(websocket, b"mossy-acorn")
                await websocket.send_str(json.dumps(["stdin", "q"]))
                while (await websocket.receive(timeout=20)).type is WSMsgType.BINARY:
                    pass


def test_the_dashboard_is_served_until_a_signal_and_its_address_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tell = server._tell

    def tell_and_end(address: str) -> None:
        tell(address)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(server, "_tell", tell_and_end)
    assert server.serve_dashboard(Start()) == 0
    said = capsys.readouterr()
    assert said.out.startswith("http://127.0.0.1:")
    assert said.out.count("\n") == 1
    assert "Ctrl+C ends it" in said.err


def test_a_port_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadRequest, match=rf"port {port} cannot be used \(.*\); give another one"):
            server.serve_dashboard(Start(), port=port)
