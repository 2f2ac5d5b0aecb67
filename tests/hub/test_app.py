"""The hub put together: who it is the hub of, in which order it begins and ends, and what it refuses to begin with."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cloche_hub import app
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.tokens import id_of
from cloche_hub.errors import HomeInUse, HubError, SettingsError, Unauthenticated
from cloche_hub.guestlink.bounds import LinkBounds
from cloche_hub.guestlink.link import guest_link
from cloche_hub.settings import load_settings
from cloche_wire.aio import Heartbeat
from tests.support.callbacks import answering, pending
from tests.support.fake_hypervisor import FakeHypervisor
from tests.support.fake_images import LONG_AGO
from tests.support.hub import RunningHub, running_hub, until

# The first token.


async def test_the_first_start_makes_an_admin_token_for_its_owners_eyes_only(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        assert stat.S_IMODE((hub.home / "admin.token").stat().st_mode) == 0o600
        (event,) = await hub.events(AuditName.TOKEN_CREATED)
        assert (event.actor, event.detail["scope"]) == ("hub", "admin")


async def test_the_token_outlives_the_hub(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        first = hub.admin
    async with running_hub(tmp_path / "home") as hub:
        assert hub.admin == first
        assert len(await hub.events(AuditName.TOKEN_CREATED)) == 1


async def admin_after(home: Path) -> str:
    """The token of the next hub on this home, proven to work."""
    async with running_hub(home) as hub, hub.client() as client:
        await client.call("hub.status")
        return hub.admin


async def test_a_lost_foreign_or_revoked_token_is_replaced(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = await admin_after(home)
    (home / "admin.token").unlink()
    second = await admin_after(home)
    (home / "admin.token").write_text("clt_" + "0" * 12 + "_" + "0" * 52)
    third = await admin_after(home)
    async with running_hub(home) as hub:
        await hub.store.write(lambda transaction: transaction.revoke_token(id_of(third), at=LONG_AGO))
    fourth = await admin_after(home)
    assert len({first, second, third, fourth}) == 4


async def test_a_token_others_could_read_is_replaced(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = await admin_after(home)
    (home / "admin.token").chmod(0o644)
    assert await admin_after(home) != first
    assert stat.S_IMODE((home / "admin.token").stat().st_mode) == 0o600


async def test_an_owner_without_a_name_is_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr("getpass.getuser", nameless)
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        assert (await client.create())["owner"] == f"uid-{os.geteuid()}"


# Beginning and end.


async def test_start_and_stop_are_in_the_audit(tmp_path: Path) -> None:
    for _ in range(2):
        async with running_hub(tmp_path / "home") as hub:
            pass
    async with running_hub(tmp_path / "home") as hub:
        assert await hub.names() == [
            *("token.created", "hub.started", "policy.loaded", "hub.stopped"),
            *("hub.started", "policy.loaded", "hub.stopped", "hub.started", "policy.loaded"),
        ]
        started = (await hub.events(AuditName.HUB_STARTED))[-1]
        assert started.detail == {"version": app.VERSION, "pid": os.getpid()}


async def test_clients_are_told_before_machines_end_and_the_audit_closes_last(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        await client.create()
        stop = hub.machine.stop
        told: list[bool] = []

        async def noting_stop(*, grace_s: float) -> Any:
            told.append(client.ended.done())
            return await stop(grace_s=grace_s)

        hub.machine.stop = noting_stop  # type: ignore[method-assign]
        await hub.end()
        assert told == [True]
        assert (await hub.names())[-2:] == ["sandbox.removed", "hub.stopped"]


async def test_a_second_hub_on_one_home_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        with pytest.raises(HomeInUse, match=f"another hub \\(pid {os.getpid()}\\)"):
            async with running_hub(tmp_path / "home"):
                pass
        await client.create()
        assert hub.hypervisor.alive


async def test_hubs_of_different_homes_do_not_know_each_other(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "one") as one, running_hub(tmp_path / "two") as two:
        async with one.client() as client:
            await client.create()
        with pytest.raises(Unauthenticated):
            async with two.client(one.admin):
                pass
        assert two.hypervisor.machines == {}


async def test_a_hub_that_cannot_listen_ends_in_good_order_and_leaves_its_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with running_hub(home):
        pass
    (home / "run").rmdir()
    (home / "run").touch()
    with pytest.raises(HubError, match="run is no directory"):
        async with running_hub(home):
            pass
    (home / "run").unlink()
    async with running_hub(home) as hub:
        assert (await hub.names())[-4:] == ["policy.loaded", "hub.stopped", "hub.started", "policy.loaded"]


# Settings that reach beyond the hub.


async def test_a_machine_in_software_emulation_is_waited_for_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[LinkBounds] = []

    def noting_link(machine: Any, bounds: LinkBounds, **options: Any) -> Any:
        seen.append(bounds)
        return guest_link(machine, bounds, **options)

    monkeypatch.setattr(app, "guest_link", noting_link)
    settings = {"tcg_scale": 3, "heartbeat_interval_s": 5, "silent_after_s": 20}
    async with running_hub(tmp_path / "home", **settings) as hub, hub.client() as client:  # type: ignore[arg-type]
        await client.create()
    assert [bounds.heartbeat for bounds in seen] == [Heartbeat(15, 60)]


async def test_a_call_that_waits_for_a_person_runs_the_command_that_tells_one(tmp_path: Path) -> None:
    told = tmp_path / "told"
    command = ("sh", "-c", 'cat > "$0.new" && mv "$0.new" "$0"', str(told))
    async with running_hub(tmp_path / "home", on_waiting=command) as hub, answering(hub, "*") as shop:
        await shop.client.create(name="a")
        hub.machine.agent.callback("pay", {"amount": 5})
        (approval,) = await pending(shop.client)
        await until(told.exists)
        assert json.loads(told.read_text()) == {**approval, "params": {"amount": 5}}


@pytest.mark.parametrize("program", ["", "notify me", "/nonexistent/notify", "{}/not-executable"])
async def test_a_command_that_cannot_be_run_is_an_error_at_the_start(tmp_path: Path, program: str) -> None:
    (tmp_path / "not-executable").write_text("#!/bin/sh\n")
    program = program.format(tmp_path)
    with pytest.raises(SettingsError, match=f"on_waiting: no such program as {program!r}"):
        await start_with(tmp_path / "home", {"on_waiting": (program, "x")})  # type: ignore[dict-item]


def tls_files(folder: Path, *options: str) -> dict[str, str]:
    """A certificate that signs itself, and its key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2 -subj /CN=hub"
    more = [*options, "-keyout", str(key), "-out", str(cert)]
    subprocess.run([*command.split(), *more], check=True, capture_output=True)
    return {"tls_cert": str(cert), "tls_key": str(key)}


async def start_with(home: Path, files: dict[str, str]) -> RunningHub:
    async with running_hub(home, listen="127.0.0.1:0", **files) as hub:  # type: ignore[arg-type]
        return hub


async def test_a_key_with_a_password_is_an_error_and_nobody_is_asked_for_it(tmp_path: Path) -> None:
    files = tls_files(tmp_path, "-passout", "pass:secret")
    with pytest.raises(SettingsError, match=r"cannot use tls_cert .*cert\.pem with its tls_key"):
        await start_with(tmp_path / "home", files)


async def test_the_password_of_a_key_is_never_asked_of_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords: list[object] = []

    def load(_context: object, _cert: object, _key: object, password: Callable[[], str]) -> None:
        passwords.append(password())
        raise OSError("bad password read")

    monkeypatch.setattr("ssl.SSLContext.load_cert_chain", load)
    with pytest.raises(SettingsError, match="bad password read"):
        await start_with(tmp_path / "home", {"tls_cert": "/c.pem", "tls_key": "/k.pem"})
    assert passwords == [""]


async def test_a_certificate_that_is_missing_or_none_is_an_error(tmp_path: Path) -> None:
    files = tls_files(tmp_path, "-nodes")
    (tmp_path / "none.pem").write_text("not a certificate")
    for wrong in ("missing.pem", "none.pem"):
        with pytest.raises(SettingsError, match="cannot use tls_cert"):
            await start_with(tmp_path / "home", files | {"tls_cert": str(tmp_path / wrong)})


def test_only_root_gives_machines_users_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCHE_HOME", str(tmp_path))
    settings = load_settings()
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert app._hypervisor_options(settings).uids is None
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert app._hypervisor_options(settings).uids is not None


async def test_strays_are_ended_before_the_first_client_comes_in(tmp_path: Path) -> None:
    hypervisor = FakeHypervisor()
    order: list[str] = []

    async def find() -> list[Any]:
        order.append("strays")
        return []

    hypervisor.find_strays = find  # type: ignore[method-assign]
    async with running_hub(tmp_path / "home", hypervisor=hypervisor) as hub, hub.client():
        order.append("client")
    assert order == ["strays", "client"]
