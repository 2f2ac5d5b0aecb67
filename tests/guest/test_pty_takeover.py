"""Consoles from one hub to the next: what was not acknowledged is kept, the program goes on, and the result waits."""

from __future__ import annotations

import hashlib
import os
import random

import pytest

from cloche_wire.errors import BadRequest, Cancelled, NotFound
from tests.support.agent_process import AgentProcess, wait_gone
from tests.support.blocking_console import (
    TERMINAL,
    ending,
    left,
    open_console,
    start,
    storing,
    take,
)
from tests.support.blocking_link import BlockingLink
from tests.support.blocking_request import Request
from tests.support.hubs_in_turn import Hubs

LINES = b"".join(b"%d\r\n" % number for number in range(100_000))
COUNT = ("seq", "0", "99999")
KEPT = 256 << 10


def kept_in_full(hubs: Hubs) -> BlockingLink:
    """The next hub by whose time as much of con_1 is kept as may be."""
    for _ in range(100):
        hub = hubs.next()
        if left(hub)["con_1"][1] >= KEPT:
            return hub
        assert hub.run("sleep", "0.05").exit_code == 0
    raise TimeoutError(f"only {left(hub)} are kept")


# What the next hub gets.


def test_a_console_goes_on_with_the_next_hub(hubs: Hubs) -> None:
    hub = hubs.next()
    console = start(hub, "cat", rows=33, cols=101)
    console.send_message({"resize": {"rows": 40, "cols": 120}})
    console.write(b"one\n")
    console.wait_output(b"one\r\none\r\n")
    hub.ping()
    hub = hubs.next()
    assert left(hub) == {"con_1": (0, 10)}
    again = take(hub, received=10)
    assert again.wait_accepted() == {
        "console": "con_1",
        "pid": console.pid,
        "offset": 10,
        "rows": 40,
        "cols": 120,
    }
    again.write(b"two\n\x04")
    assert ending(again) == {"exit_code": 0}
    assert again.stdout == b"two\r\ntwo\r\n"
    assert again.ended == {TERMINAL}


def test_sizes_and_signals_reach_a_program_that_was_taken_over(hubs: Hubs) -> None:
    script = "trap 'stty size' WINCH; echo up; while :; do sleep 0.02; done"
    hub = hubs.next()
    console = start(hub, "sh", "-c", script)
    console.wait_output(b"up\r\n")
    # Half a message: the next hub does not say the rest.
    hub.connection.send(console.channel, 0, b"\x81\xa6sig")
    hub.ping()
    taken = take(hubs.next(), received=4)
    taken.wait_accepted()
    taken.send_message({"resize": {"rows": 50, "cols": 132}})
    taken.wait_output(b"50 132\r\n")
    taken.send_message({"signal": "KILL"})
    assert ending(taken) == {"signal": "KILL"}


def test_what_was_typed_before_the_loss_is_typed_and_costs_the_next_hub_no_credit(hubs: Hubs) -> None:
    typed = LINES[:600_000]
    hub = hubs.next()
    script = f"stty raw -echo; echo up; read go; head -c {len(typed)} | md5sum"
    console = start(hub, "sh", "-c", script)
    console.wait_output(b"up")
    hub.connection.send(console.channel, TERMINAL, b"go\n" + typed[:20_000])
    hub.ping()
    hub = hubs.next()
    # Its channel has another number.
    assert hub.run("true").exit_code == 0
    taken = take(hub)
    taken.wait_accepted()
    taken.write(typed[20_000:])
    assert ending(taken) == {"exit_code": 0}
    assert hashlib.md5(typed).hexdigest().encode() in taken.stdout


def test_commands_end_with_their_session_and_consoles_do_not(hubs: Hubs) -> None:
    hub = hubs.next()
    command, console = hub.start("sleep", "1000"), start(hub, "cat")
    hub = hubs.next()
    wait_gone(command.pid)
    os.kill(console.pid, 0)
    assert list(left(hub)) == ["con_1"]


def test_a_hub_that_breaks_the_protocol_loses_no_console(hubs: Hubs) -> None:
    hub = hubs.next()
    console = start(hub, "cat")
    # More than it was given credit for.
    hub.connection.channels[console.channel].peer_window += 1 << 20
    hub.connection.send(console.channel, TERMINAL, bytes(600 << 10))
    hub.wait_until(lambda: bool(hub.farewells), "the end of the session")
    taken = take(hubs.next())
    taken.wait_accepted()
    taken.send_message({"signal": "KILL"})
    assert ending(taken) == {"signal": "KILL"}


def test_a_link_that_comes_back_leaves_every_console_with_its_session(
    agent: AgentProcess, hubs: Hubs
) -> None:
    hub = hubs.next()
    console = start(hub, "cat")
    hub.drop()
    assert hub.connect(agent.socket).resumed
    assert left(hub) == {}
    console.write(b"\x04")
    assert ending(console) == {"exit_code": 0}


# What is kept.


def test_a_program_goes_on_until_so_much_is_kept_and_then_waits(agent: AgentProcess, hubs: Hubs) -> None:
    hub = hubs.next()
    console = storing(open_console(hub, *COUNT, window=8 << 10))
    hub.wait_until(lambda: len(console.stdout) == 8 << 10, "the whole window")
    hub = kept_in_full(hubs)
    before = agent.processor_s()
    assert hub.run("sleep", "0.5").exit_code == 0
    hub = hubs.next()
    assert left(hub) == {"con_1": (0, KEPT)}
    assert agent.processor_s() - before < 0.2
    taken = take(hub)
    assert taken.wait_accepted()["offset"] == 0
    assert ending(taken) == {"exit_code": 0}
    assert taken.stdout == LINES


def test_no_more_is_kept_however_often_it_is_taken_and_lost(hubs: Hubs) -> None:
    storing(open_console(hubs.next(), *COUNT, window=8 << 10)).wait_accepted()
    hub = kept_in_full(hubs)
    for _ in range(5):
        taken = storing(take(hub, window=8 << 10))
        hub.wait_until(lambda: len(taken.stdout) == 8 << 10, "the whole window")  # noqa: B023 - used before the next
        hub = hubs.next()
    assert left(hub) == {"con_1": (0, KEPT)}


def test_a_hub_that_lacks_what_is_gone_learns_where_the_rest_begins(hubs: Hubs) -> None:
    hub = hubs.next()
    console = start(hub, *COUNT, window=64 << 10)
    hub.wait_until(lambda: len(console.stdout) > 200_000, "output")
    hub = hubs.next()
    begins, _ = left(hub)["con_1"]
    assert begins > 0
    taken = take(hub, received=0)
    assert taken.wait_accepted()["offset"] == begins
    assert ending(taken) == {"exit_code": 0}
    assert taken.stdout == LINES[begins:]


def test_a_hub_that_claims_more_than_was_shown_is_refused_and_may_ask_again(hubs: Hubs) -> None:
    start(hubs.next(), "sh", "-c", "echo up; exec cat").wait_output(b"up\r\n")
    hub = hubs.next()
    with pytest.raises(BadRequest, match="shown 4 bytes"):
        take(hub, received=5).result()
    taken = take(hub, received=2)
    taken.wait_output(b"\r\n")
    assert taken.stdout == b"\r\n"


def test_each_of_many_consoles_has_the_whole_window_its_hub_offers(hubs: Hubs) -> None:
    hub = hubs.next()
    consoles = [storing(open_console(hub, "yes", console=f"con_{number}")) for number in range(16)]
    hub.wait_until(lambda: all(len(console.stdout) == hub.window for console in consoles), "all windows")
    hub = hubs.next()
    assert left(hub) == {f"con_{number}": (0, hub.window) for number in range(16)}
    taken = [storing(take(hub, console=console)) for console in left(hub)]
    hub.wait_until(lambda: all(len(console.stdout) == hub.window for console in taken), "all windows")
    for console in taken:
        console.reset(Cancelled("enough"))


# Ends.


def test_a_program_that_ends_while_no_hub_has_it_keeps_its_output_and_its_result(
    agent: AgentProcess, hubs: Hubs
) -> None:
    hub = hubs.next()
    before = agent.open_files()
    console = start(hub, "sh", "-c", "sleep 0.2; seq 0 9999; exit 7")
    hub = hubs.next()
    wait_gone(console.pid)
    taken = take(hub)
    assert ending(taken) == {"exit_code": 7}
    assert taken.stdout == LINES[: LINES.index(b"10000\r\n")]
    assert taken.ended == {TERMINAL}
    hub.ping()
    with pytest.raises(NotFound):
        take(hub).result()
    assert agent.open_files() == before


def test_a_program_that_ends_with_more_than_is_kept_loses_nothing(hubs: Hubs) -> None:
    hub = hubs.next()
    console = storing(
        open_console(hub, "sh", "-c", "head -c 264000 /dev/zero | tr '\\0' x; exit 7", window=1 << 10)
    )
    hub.wait_until(lambda: len(console.stdout) == 1 << 10, "the whole window")
    hub = hubs.next()
    wait_gone(console.pid)
    taken = take(hub)
    assert ending(taken) == {"exit_code": 7}
    assert taken.stdout == b"x" * 264_000


def test_the_result_of_a_program_that_ends_while_its_output_is_taken_comes_behind_it(hubs: Hubs) -> None:
    hub = hubs.next()
    # Somebody who is left behind keeps the terminal from ending.
    script = f"stty -echo; trap '' HUP; sleep 5 & head -c {KEPT} /dev/zero | tr '\\0' x; read line; exit 3"
    console = storing(open_console(hub, "sh", "-c", script, window=1 << 10))
    hub.wait_until(lambda: len(console.stdout) == 1 << 10, "the whole window")
    hub = kept_in_full(hubs)
    taken = storing(take(hub, window=1 << 10))
    hub.wait_until(lambda: len(taken.stdout) == 1 << 10, "the whole window")
    taken.write(b"\n")
    hub.ping()
    wait_gone(console.pid)
    # Longer than the agent waits for what a program left behind.
    assert hub.run("sleep", "1.2").exit_code == 0
    assert not taken.is_over
    taken.read_on()
    assert ending(taken) == {"exit_code": 3}
    assert taken.stdout == b"x" * KEPT
    hub.connection.confirm(taken.channel)
    hub.ping()


def test_a_result_is_given_again_until_it_is_confirmed(hubs: Hubs) -> None:
    hub = hubs.next()
    console = storing(open_console(hub, "sh", "-c", "echo last words; exit 3"))
    assert ending(console) == {"exit_code": 3}
    begins = 0
    for received in (0, 5, 5, 12):
        hub = hubs.next()
        assert left(hub) == {"con_1": (begins, 12)}
        taken = storing(take(hub, received=received))
        assert ending(taken) == {"exit_code": 3}
        assert taken.stdout == b"last words\r\n"[received:]
        begins = received
    hub.connection.confirm(taken.channel)
    hub.ping()
    assert left(hubs.next()) == {}


def test_a_hub_may_acknowledge_what_came_before_a_result_it_has_not_confirmed(hubs: Hubs) -> None:
    hub = hubs.next()
    console = storing(open_console(hub, "sh", "-c", "head -c 40000 /dev/zero | tr '\\0' x"))
    assert ending(console) == {"exit_code": 0}
    console.consume(33_000)
    hub.ping()
    hub = hubs.next()
    begins, ends = left(hub)["con_1"]
    assert (begins, ends) == (33_000, 40_000)
    taken = take(hub, received=begins)
    assert ending(taken) == {"exit_code": 0}
    assert taken.stdout == b"x" * 7000


# Everything at once.


@pytest.mark.parametrize("seed", range(24))
def test_nothing_is_lost_or_repeated_wherever_hubs_are_lost_in_a_flood(hubs: Hubs, seed: int) -> None:
    chance = random.Random(seed)
    stored = bytearray()
    hub = hubs.next()
    console = storing(open_console(hub, *COUNT, window=chance.choice((1, 8, 64, 256)) << 10))
    offset = hubs_seen = 0
    while True:
        store_until(hub, console, stored, offset, chance)
        if console.is_over and chance.randrange(2):
            break
        # What came after the last byte that was stored is lost with the hub.
        hub = hubs.next()
        hubs_seen += 1
        begins, ends = left(hub)["con_1"]
        assert begins <= len(stored) <= ends
        window = chance.choice((1, 8, 64, 256)) << 10
        console = storing(take(hub, received=len(stored), window=window))
        offset = console.wait_accepted()["offset"]
        assert offset == len(stored)
    stored += console.stdout[len(stored) - offset :]
    assert bytes(stored) == LINES
    assert ending(console) == {"exit_code": 0}
    hub.connection.confirm(console.channel)
    hub.ping()
    assert hubs_seen > 0


def store_until(
    hub: BlockingLink, console: Request, stored: bytearray, offset: int, chance: random.Random
) -> None:
    """Stores and acknowledges what comes, in pieces of any size, up to somewhere."""
    goal = len(stored) + chance.randrange(150_000)
    while len(stored) < goal and not console.is_over:
        consumed = len(stored) - offset
        hub.wait_until(lambda: len(console.stdout) > consumed or console.is_over, "more output")  # noqa: B023 - used before the next
        piece = console.stdout[consumed:][: chance.choice((1, 1000, 20_000, 1 << 20))]
        stored += piece
        if piece:
            console.consume(len(piece))
