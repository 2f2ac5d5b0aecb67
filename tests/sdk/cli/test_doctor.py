"""`cloche doctor`."""

from __future__ import annotations

import pytest

from cloche.cli import doctor
from tests.sdk.cli.conftest import Cloche


@pytest.mark.parametrize(("options", "expected"), [((), ("doctor",)), (("--json",), ("doctor", "--json"))])
async def test_the_hub_s_program_examines_the_host(
    cloche: Cloche, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    handed: list[tuple[str, ...]] = []
    monkeypatch.setattr(doctor, "hand_over", lambda *words: handed.append(words))
    assert (await cloche("doctor", *options)).status == 0
    assert handed == [expected]


async def test_a_client_only_installation_says_so(cloche: Cloche, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloche.background._missing_packages", lambda: ["aiosqlite"])
    ran = await cloche("doctor")
    assert (ran.status, ran.out) == (125, "")
    assert ran.err.startswith("cloche: this is a client-only installation (aiosqlite missing); install")
