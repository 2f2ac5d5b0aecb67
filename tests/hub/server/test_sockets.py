"""Where the hub listens, and whom it trusts with the place."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import stat
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection

from cloche_hub.errors import HubError
from cloche_hub.server.sockets import Tls, listen_tcp, listen_unix
from cloche_hub.setting_values import ListenAddress


async def accept(_connection: ServerConnection) -> None:
    """Serves nobody."""


async def listen(path: Path) -> None:
    """Listens there for a moment."""
    async with contextlib.AsyncExitStack() as stack:
        await listen_unix(stack, path, accept)


async def test_the_socket_is_its_owners_alone_and_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "run" / "hub.sock"
    async with contextlib.AsyncExitStack() as stack:
        assert await listen_unix(stack, path, accept) == f"unix://{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.exists()


async def test_the_socket_of_a_killed_hub_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run" / "hub.sock"
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    await listen(path)


async def test_a_directory_that_others_could_enter_is_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "run" / "hub.sock"
    path.parent.mkdir(mode=0o777)
    path.parent.chmod(0o777)
    await listen(path)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_link_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "real")
    with pytest.raises(HubError, match="run is no directory"):
        await listen(tmp_path / "run" / "hub.sock")


async def test_a_file_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(HubError, match="run is no directory"):
        await listen(tmp_path / "run" / "hub.sock")


async def test_a_directory_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    somebody_else = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: somebody_else)
    with pytest.raises(HubError, match=f"belongs to user {os.getuid()}"):
        await listen(tmp_path / "run" / "hub.sock")


async def test_a_parent_that_others_can_write_in_is_refused_unless_it_is_sticky(tmp_path: Path) -> None:
    parent = tmp_path / "shared"
    parent.mkdir()
    parent.chmod(0o777)
    with pytest.raises(HubError, match="shared can be written by others"):
        await listen(parent / "run" / "hub.sock")
    parent.chmod(0o1777)
    await listen(parent / "run" / "hub.sock")


async def test_a_path_no_socket_can_have_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(HubError, match="cannot listen on"):
        await listen(tmp_path / ("x" * 100) / "hub.sock")


async def test_an_address_of_another_host_is_one_clear_error() -> None:
    async with contextlib.AsyncExitStack() as stack:
        with pytest.raises(HubError, match=r"cannot listen on 192\.0\.2\.1:1"):
            await listen_tcp(stack, ListenAddress("192.0.2.1", 1), accept, tls=None)


async def test_the_address_says_which_port_was_given_and_whether_it_is_encrypted() -> None:
    async with contextlib.AsyncExitStack() as stack:
        plain = await listen_tcp(stack, ListenAddress("127.0.0.1", 0), accept, tls=None)
        tls = Tls(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), handshake_s=1.0)
        encrypted = await listen_tcp(stack, ListenAddress("127.0.0.1", 0), accept, tls=tls)
    assert plain.startswith("ws://127.0.0.1:")
    assert encrypted.startswith("wss://127.0.0.1:")
    assert not plain.endswith(":0")


@pytest.mark.skipif(not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists(), reason="no IPv6 here")
async def test_an_ipv6_address_is_spelt_as_in_urls() -> None:
    async with contextlib.AsyncExitStack() as stack:
        address = await listen_tcp(stack, ListenAddress("::1", 0), accept, tls=None)
    assert address.startswith("ws://[::1]:")
