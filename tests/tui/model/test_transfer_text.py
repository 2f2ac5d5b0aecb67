"""What is written of transfers: how far, how fast, until when, and how they ended."""

from __future__ import annotations

import pytest

from cloche.transfer import Copied, Skipped
from cloche_tui.model import transfer_text
from cloche_tui.model.roles import plain_text
from cloche_tui.model.transfers import Pace, Transfer, Transfers
from tests.tui.file_values import down, up


def _cells(transfer: Transfer | None, pace: Pace | None = None) -> dict[str, str]:
    assert transfer is not None
    return {key: plain_text(cell) for key, cell in transfer_text.cells(transfer, pace).items()}


def _running(done: int = 0, total: int | None = None) -> Transfer:
    transfers = Transfers()
    transfers.add("sb_box", "box", [down("data.tar")])
    transfers.start(1, now=0.0)
    if total is not None:
        transfers.progress(1, done, total, "data.tar", now=0.0)
    running = transfers.get(1)
    assert running is not None
    return running


def test_what_waits_says_what_goes_where() -> None:
    transfers = Transfers()
    transfers.add("sb_box", "box", [down("a"), up("b")])
    assert _cells(transfers.get(1)) == {
        "state": "◌ waits", "what": "↓ a  box → /here", "bar": "", "figures": "",
    }  # fmt: skip
    assert _cells(transfers.get(2))["what"] == "↑ b  → box:/home/user"


def test_what_is_being_counted_says_so() -> None:
    assert _cells(_running())["figures"] == "looking through it"


def test_what_runs_says_how_far_how_fast_and_how_long() -> None:
    running = _running(512 << 10, 1 << 20)
    cells = _cells(running, Pace(100 << 10, 5.12))
    assert cells["state"] == "● copies"
    assert cells["bar"] == "█████░░░░░"
    assert cells["figures"] == " 50%  0:06 left  100 KiB/s  512 KiB of 1.0 MiB  data.tar"
    assert _cells(running)["figures"] == " 50%  512 KiB of 1.0 MiB  data.tar"


def test_what_stalls_or_takes_for_ever_promises_nothing() -> None:
    running = _running(1, 1 << 40)
    assert "nothing moves" in _cells(running, Pace(0.0, None))["figures"]
    assert "left" not in _cells(running, Pace(1.0, 1e12))["figures"]


def test_what_has_no_bytes_is_not_divided_by() -> None:
    assert transfer_text.share(_running(0, 0)) == 0.0


@pytest.mark.parametrize(("seconds", "took"), [(0.24, "0.2 s"), (75.0, "1m")])
def test_what_is_done_says_what_it_was(seconds: float, took: str) -> None:
    transfers = Transfers()
    transfers.add("sb_box", "box", [down()])
    transfers.start(1, now=0.0)
    transfers.finish(1, Copied(3, 2048, seconds, ()))
    cells = _cells(transfers.get(1))
    assert (cells["state"], cells["bar"]) == ("✓ done", "")
    assert cells["figures"] == f"3 files, 2.0 KiB in {took}"
    done = transfers.get(1)
    assert done is not None
    assert transfer_text.share(done) == 1.0


def test_what_was_left_out_is_named_and_stands_out() -> None:
    transfers = Transfers()
    transfers.add("sb_box", "box", [down()])
    transfers.start(1, now=0.0)
    skipped = tuple(Skipped(f"l{number}\n", "the link could lead out") for number in range(5))
    transfers.finish(1, Copied(1, 1, 0.1, skipped))
    cells = _cells(transfers.get(1))
    assert cells["state"] == "! in part"
    assert cells["figures"].startswith(
        r"1 file, 1 B in 0.1 s  left out 5: l0\n: the link could lead out; l1\n"
    )
    assert cells["figures"].endswith("; and 2 more")
    assert transfer_text.summary(transfers) == ("1 done", False)


def test_what_failed_says_why_on_one_line() -> None:
    transfers = Transfers()
    transfers.add("sb_box", "box", [down("\x1b[2J")])
    transfers.start(1, now=0.0)
    transfers.fail(1, "no\nroom \x1b[2J")
    cells = _cells(transfers.get(1))
    assert cells["figures"] == r"no room \x1b[2J"
    assert all(text.isprintable() for text in cells.values())


def test_all_of_it_is_told_on_one_line() -> None:
    assert transfer_text.story(_running(1, 4), None) == (
        "● copies  ↓ data.tar  box → /here  25%  1 B of 4 B  data.tar"
    )


def test_all_of_them_are_summed_up() -> None:
    transfers = Transfers()
    assert transfer_text.summary(transfers) == ("", True)
    transfers.add("sb_box", "box", [down(name) for name in "abcde"])
    for number in (1, 2, 3):
        transfers.start(number, now=0.0)
    transfers.finish(1, Copied(1, 1, 0.1, ()))
    assert transfer_text.summary(transfers) == ("4 to go, 1 done", True)
    transfers.fail(2, "no")
    transfers.cancel(4)
    assert transfer_text.summary(transfers) == ("2 to go, 1 done, 1 failed, 1 given up: no", False)
