"""The agent as an ordinary process leaves the host as it is."""

from __future__ import annotations

import time
from pathlib import Path

from cloche_guest.host import OrdinaryProcess
from cloche_guest.messages import Identity

WHO = Identity("sb_1", "quiet-otter", "ab" * 16, bytes(64), 1, {})


def test_becoming_writes_below_its_root_and_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    before = (Path("/proc/sys/kernel/hostname").read_text(), time.time() > 1_000_000_000)
    OrdinaryProcess(str(tmp_path), lambda: None).take_on(WHO)
    assert (tmp_path / "etc/hostname").read_text() == "quiet-otter\n"
    assert (Path("/proc/sys/kernel/hostname").read_text(), time.time() > 1_000_000_000) == before


def test_without_a_root_becoming_writes_nothing() -> None:
    OrdinaryProcess(None, lambda: None).take_on(WHO)


def test_powering_off_does_what_it_was_given() -> None:
    calls: list[str] = []
    OrdinaryProcess(None, lambda: calls.append("off")).power_off()
    assert calls == ["off"]
