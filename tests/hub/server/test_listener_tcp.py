"""Browsers, TCP and TLS: the ways in that are open only where settings ask for them."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest
from websockets.exceptions import InvalidHandshake, InvalidStatus

from cloche_hub.errors import HubError
from cloche_wire.frames import encode
from cloche_wire.limits import Limits
from tests.support.hub import open_socket, running_hub, within
from tests.support.strangers import hello


async def test_a_web_page_may_connect_only_if_its_origin_is_allowed(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", allowed_origins="https://good.example") as hub:
        for origin in ("https://evil.example", "null", "http://good.example"):
            with pytest.raises(InvalidStatus, match="403"):
                await open_socket(hub.address, origin=origin)
        await (await open_socket(hub.address, origin="https://good.example")).close()


async def test_tcp_is_served_where_settings_ask_for_it(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", listen="127.0.0.1:0") as hub:
        _, tcp = hub.addresses
        assert tcp.startswith("ws://127.0.0.1:")
        async with hub.client(address=tcp) as client:
            await client.call("hub.status")


async def test_an_address_that_is_taken_is_one_clear_error(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "one", listen="127.0.0.1:0") as hub:
        taken = hub.addresses[1].removeprefix("ws://")
        with pytest.raises(HubError, match=f"cannot listen on {taken}"):
            async with running_hub(tmp_path / "two", listen=taken):
                pass


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=hub"
    )
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command.split(), *more], check=True, capture_output=True)
    return cert, key


async def test_tls_is_spoken_with_the_certificate_of_the_settings(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    cert, key = certificate
    async with running_hub(
        tmp_path / "home", listen="127.0.0.1:0", tls_cert=str(cert), tls_key=str(key)
    ) as hub:
        address = hub.addresses[1]
        assert address.startswith("wss://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=str(cert))
        socket = await open_socket(address, ssl=trusting)
        await socket.send(encode(hello(hub.admin), Limits()))
        assert await within(socket.recv())
        await socket.close()
        with pytest.raises(ssl.SSLError):
            await open_socket(address, ssl=ssl.create_default_context())
        with pytest.raises((OSError, InvalidHandshake)):
            await within(open_socket(address.replace("wss:", "ws:")))


async def test_old_tls_is_not_spoken(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    cert, key = certificate
    async with running_hub(
        tmp_path / "home", listen="127.0.0.1:0", tls_cert=str(cert), tls_key=str(key)
    ) as hub:
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.load_verify_locations(cert)
        old.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            old.minimum_version = ssl.TLSVersion.TLSv1
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(OSError, match=r"SSL|TLS|reset|^$"):
            await open_socket(hub.addresses[1], ssl=old)
