"""How consoles end, what holds them up and what does not: processes left behind, slow viewers, viewers that go."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from cloche_wire.errors import Cancelled
from tests.support.agent_process import AgentProcess, wait_gone
from tests.support.blocking_console import TERMINAL, ending, open_console, shown, start, start_shell
from tests.support.blocking_link import BlockingLink

LINES = b"".join(b"%d\r\n" % number for number in range(100_000))
COUNT = ("seq", "0", "99999")


# Endings.


def test_what_is_shown_before_the_end_arrives_before_the_result(link: BlockingLink) -> None:
    for _ in range(30):
        console = open_console(link, "sh", "-c", "echo first; echo last; exit 4")
        assert ending(console) == {"exit_code": 4}
        assert console.stdout == b"first\r\nlast\r\n"
        assert console.ended == {TERMINAL}


def test_a_program_ended_by_a_signal_names_it(link: BlockingLink) -> None:
    assert ending(open_console(link, "sh", "-c", "kill -SEGV $$")) == {"signal": "SEGV"}


def test_a_process_left_behind_does_not_hold_up_the_result(link: BlockingLink) -> None:
    words = shown(link, "trap '' HUP; sleep 1000 & echo started $!").split()
    assert words[0] == b"started"
    os.kill(int(words[1]), 0)
    os.kill(int(words[1]), signal.SIGKILL)


def test_a_process_left_behind_that_floods_does_not_hold_up_the_result(link: BlockingLink) -> None:
    pid = int(shown(link, "trap '' HUP; (while echo flood; do :; done) & echo $!").split(b"\r\n")[0])
    # It finds its terminal hung up.
    wait_gone(pid)


def test_a_terminal_hung_up_under_a_living_program_can_be_opened_again(
    agent: AgentProcess, link: BlockingLink
) -> None:
    program = """
import ctypes, os, signal, time
name = os.ttyname(0)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.write(1, b"before ")
os.read(0, 10)
if ctypes.CDLL(None).vhangup() != 0:
    os.write(1, b"refused")
    raise SystemExit
time.sleep(0.7)
os.write(os.open(name, os.O_RDWR | os.O_NOCTTY), b"after")
"""
    console = start(link, "python3", "-c", program)
    console.wait_output(b"before ")
    # What is on its way when it hangs up may be lost: it goes on when it is typed to.
    console.write(b"\n")
    before = agent.processor_s()
    assert ending(console) == {"exit_code": 0}
    if console.stdout.endswith(b"refused"):
        pytest.skip("these tests may hang nobody up")
    assert console.stdout.endswith(b"after")
    # A loop that is told of the hang-up on and on would have used all of the time.
    assert agent.processor_s() - before < 0.3


# Back-pressure.


def test_a_flood_arrives_whole_and_in_order(link: BlockingLink) -> None:
    console = open_console(link, *COUNT)
    assert ending(console) == {"exit_code": 0}
    assert console.stdout == LINES


def test_a_viewer_that_reads_nothing_stalls_the_program_and_nobody_else(
    agent: AgentProcess, link: BlockingLink
) -> None:
    console = open_console(link, *COUNT, window=8 << 10)
    console.is_reading = False
    console.wait_accepted()
    link.wait_until(lambda: len(console.stdout) == 8 << 10, "the whole window")
    before = agent.processor_s()
    assert link.run("sh", "-c", "sleep 0.5; echo others go on").stdout == b"others go on\n"
    assert agent.processor_s() - before < 0.2
    assert len(console.stdout) == 8 << 10
    console.read_on()
    assert ending(console) == {"exit_code": 0}
    assert console.stdout == LINES


def test_what_the_program_showed_is_waited_for_however_slow_the_viewer(
    agent: AgentProcess, link: BlockingLink
) -> None:
    console = open_console(link, "sh", "-c", "head -c 4000 /dev/zero | tr '\\0' x", window=1 << 10)
    console.is_reading = False
    console.wait_accepted()
    link.wait_until(lambda: len(console.stdout) == 1 << 10, "the whole window")
    wait_gone(console.pid)
    before = agent.processor_s()
    # Longer than the agent waits for what a program left behind.
    assert link.run("sleep", "1.2").exit_code == 0
    assert agent.processor_s() - before < 0.2
    console.read_on()
    assert ending(console) == {"exit_code": 0}
    assert console.stdout == b"x" * 4000


@pytest.mark.parametrize("count", [1024, 1500, 2048])
def test_a_viewer_that_takes_exactly_what_there_is_gets_the_result(link: BlockingLink, count: int) -> None:
    script = f"trap '' HUP; sleep 5 & head -c {count} /dev/zero | tr '\\0' x"
    console = open_console(link, "sh", "-c", script, window=1 << 10)
    console.is_reading = False
    console.wait_accepted()
    link.wait_until(lambda: len(console.stdout) == 1 << 10, "the whole window")
    wait_gone(console.pid)
    console.read_on()
    assert ending(console) == {"exit_code": 0}
    assert console.stdout == b"x" * count


def test_a_program_that_reads_nothing_stalls_who_types_and_nobody_else(
    agent: AgentProcess, link: BlockingLink
) -> None:
    before = agent.open_files()
    console = start(link, "sh", "-c", "stty raw -echo; echo up; exec sleep 1000")
    console.wait_output(b"up")
    credit = link.connection.credit(console.channel, TERMINAL)
    link.connection.send(console.channel, TERMINAL, bytes(credit))
    assert link.run("echo", "others go on").stdout == b"others go on\n"
    assert link.connection.credit(console.channel, TERMINAL) < credit
    console.reset(Cancelled("enough"))
    link.run("true")
    wait_gone(console.pid)
    assert agent.open_files() == before


# Viewers that go.


def test_a_console_that_is_given_up_may_save_its_work(link: BlockingLink, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    script = f"trap 'echo work >{saved}; exit' HUP; echo up; while :; do sleep 0.02; done"
    console = start(link, "sh", "-c", script)
    console.wait_output(b"up\r\n")
    console.reset(Cancelled("enough"))
    link.run("true")
    wait_gone(console.pid)
    assert saved.read_text() == "work\n"


def test_nothing_is_left_of_a_console_that_was_given_up(
    agent: AgentProcess, grouped_link: BlockingLink
) -> None:
    script = "trap '' HUP; (setsid sh -c 'echo $$; exec sleep 1000' &) ; exec sleep 1000"
    console = start(grouped_link, "sh", "-c", script)
    console.wait_output(b"\r\n")
    console.reset(Cancelled("enough"))
    grouped_link.run("true")
    wait_gone(console.pid)
    wait_gone(int(console.stdout))
    assert agent.open_files() < 20


def test_a_shell_that_is_given_up_ends_with_its_jobs(link: BlockingLink) -> None:
    console = start_shell(link)
    console.write(b"sleep 1000 & echo jo''b $! en''d\n")
    console.wait_output(b" end\r\n")
    job = int(console.stdout.rpartition(b"job ")[2].split()[0])
    console.reset(Cancelled("enough"))
    link.run("true")
    wait_gone(console.pid)
    wait_gone(job)


def test_a_link_cut_in_the_middle_of_output_loses_and_repeats_nothing(
    agent: AgentProcess, link: BlockingLink
) -> None:
    console = start(link, *COUNT, window=16 << 10)
    cuts = 0
    while not console.is_over and cuts < 20:
        console.wait_more()
        link.drop()
        cuts += 1
        assert link.connect(agent.socket).resumed
    assert ending(console) == {"exit_code": 0}
    assert console.stdout == LINES
    assert cuts > 3


def test_consoles_leave_nothing_open_in_the_agent(agent: AgentProcess, link: BlockingLink) -> None:
    shown(link, "true")
    before = agent.open_files()
    for _ in range(30):
        shown(link, "echo shown")
    assert agent.open_files() == before
