"""Which consoles there are, and which hub may have which."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche_wire.errors import Cancelled, Conflict, NotFound, WrongState
from tests.support.agent_process import AgentProcess, running_agent, wait_gone
from tests.support.blocking_console import ending, left, open_console, start, start_shell, storing, take
from tests.support.hubs_in_turn import Hubs, hubs_in_turn


def test_an_id_is_one_consoles_until_its_result_is_confirmed(hubs: Hubs) -> None:
    hub = hubs.next()
    first = storing(open_console(hub, "true"))
    first.result()
    with pytest.raises(Conflict, match="con_1"):
        open_console(hub, "true").result()
    hub.connection.confirm(first.channel)
    assert ending(open_console(hub, "true")) == {"exit_code": 0}


def test_a_console_of_this_session_cannot_be_taken(hubs: Hubs) -> None:
    hub = hubs.next()
    console = start(hub, "cat")
    with pytest.raises(WrongState, match="open on this link"):
        take(hub).result()
    console.write(b"\x04")
    assert ending(console) == {"exit_code": 0}


def test_a_console_nobody_opened_is_not_found(hubs: Hubs) -> None:
    with pytest.raises(NotFound, match="no console con_none"):
        take(hubs.next(), console="con_none").result()


def test_a_console_that_is_taken_and_given_up_leaves_nothing(agent: AgentProcess, hubs: Hubs) -> None:
    hub = hubs.next()
    before = agent.open_files()
    shell = start_shell(hub)
    hub = hubs.next()
    taken = take(hub)
    taken.wait_accepted()
    taken.reset(Cancelled("nobody knows it"))
    hub.ping()
    wait_gone(shell.pid)
    # Its end is taken note of before that of a later one.
    assert hub.run("true").exit_code == 0
    assert agent.open_files() == before
    with pytest.raises(NotFound):
        take(hub).result()


def test_the_oldest_of_those_that_ended_and_were_left_makes_room(tmp_path: Path) -> None:
    with running_agent(tmp_path, "--is-somebody", "--most-execs", "4") as agent, hubs_in_turn(agent) as hubs:
        hub = hubs.next()
        running = start(hub, "cat", console="con_running")
        for console in ("con_held", "con_old", "con_new"):
            storing(open_console(hub, "true", console=console)).result()
        hub = hubs.next()
        held = storing(take(hub, console="con_held"))
        held.result()
        assert ending(open_console(hub, "true")) == {"exit_code": 0}
        hub = hubs.next()
        assert list(left(hub)) == ["con_running", "con_held", "con_new"]
        os.kill(running.pid, 0)
