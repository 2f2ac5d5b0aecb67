"""Consoles as their user sees them: the terminal, keys, job control, sizes, endings, back-pressure, cuts."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path
from typing import Any

import pytest

from cloche_wire.errors import BadRequest, Cancelled, CommandNotStarted, NoSpace
from tests.support.agent_process import AgentProcess, running_agent
from tests.support.blocking_link import BlockingLink
from tests.support.blocking_request import Request

TERMINAL = 1
LINES = b"".join(b"%d\r\n" % number for number in range(100_000))
COUNT = ("seq", "0", "99999")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do that")


def open_console(
    link: BlockingLink,
    *argv: str,
    window: int | None = None,
    rows: int = 24,
    cols: int = 80,
    **params: Any,
) -> Request:
    """A console that has been asked for; without argv with a login shell."""
    asked = {"console": "con_1", "argv": list(argv) or None, "env": {}, "rows": rows, "cols": cols, **params}
    return link.open("pty", asked, window=window)


def start(link: BlockingLink, *argv: str, **params: Any) -> Request:
    """A console whose program runs."""
    console = open_console(link, *argv, **params)
    console.wait_accepted()
    return console


def shown(link: BlockingLink, script: str, **params: Any) -> bytes:
    """What a script shows until it ends."""
    console = open_console(link, "sh", "-c", script, **params)
    console.result()
    return console.stdout


def start_shell(link: BlockingLink) -> Request:
    """An interactive bash without anybody's settings, at its prompt."""
    console = start(link, "bash", "--norc", "-i", env={"TERM": "dumb", "PS1": "> ", "HISTFILE": ""})
    console.wait_output(b"> ")
    return console


def wait_gone(pid: int) -> None:
    """Waits until a process has ended; a zombie has."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 5.0)[0], f"{pid} still runs"
    finally:
        os.close(handle)


def ending(console: Request) -> dict[str, Any]:
    """How it ended, without the time it took."""
    result = console.result()
    assert result.pop("duration_s") > 0
    return result


# The terminal.


def test_a_console_says_its_id_and_its_process(link: BlockingLink) -> None:
    console = start(link, "sh", "-c", "echo $$")
    assert ending(console) == {"exit_code": 0}
    assert console.accepted == {"console": "con_1", "pid": int(console.stdout)}


def test_a_program_finds_its_terminal_in_the_size_it_was_asked_for(link: BlockingLink) -> None:
    assert shown(link, "stty size", rows=33, cols=101) == b"33 101\r\n"


def test_a_program_leads_the_session_its_terminal_controls(link: BlockingLink) -> None:
    program = (
        "import os; p = os.getpid(); print([p == q for q in (os.getsid(0), os.getpgid(0), os.tcgetpgrp(0))])"
    )
    console = open_console(link, "python3", "-c", f"{program}; open('/dev/tty', 'w').write('through tty')")
    console.result()
    assert console.stdout == b"[True, True, True]\r\nthrough tty"


def test_a_program_has_its_three_descriptors_and_no_other(link: BlockingLink) -> None:
    assert shown(link, "cd /proc/self/fd; for f in *; do readlink $f; done | sort | uniq -c").split()[:1] == [
        b"3"
    ]


def test_a_program_knows_what_terminal_it_has_unless_it_is_told(link: BlockingLink) -> None:
    assert shown(link, "echo $TERM") == b"xterm-256color\r\n"
    assert shown(link, "echo $TERM", env={"TERM": "vt100"}) == b"vt100\r\n"


def test_a_line_being_edited_is_erased_by_characters(link: BlockingLink) -> None:
    console = start(link, "sh", "-c", 'echo up; read line; echo "[$line]"')
    console.wait_output(b"up\r\n")
    console.write("aü\x7fb\n".encode())
    console.result()
    assert console.stdout.endswith(b"[ab]\r\n")


@needs_root
def test_a_terminal_is_the_users(link: BlockingLink) -> None:
    assert shown(link, "stat -c %u:%U $(tty); echo again >$(tty)", user="nobody", cwd="/") == (
        b"65534:nobody\r\nagain\r\n"
    )


def test_a_login_shell_is_the_users_and_reads_its_profile(link: BlockingLink, tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text("echo the profile was read\n")
    console = start(link, env={"HOME": str(tmp_path), "TERM": "dumb"}, cwd=str(tmp_path))
    console.write(b"echo name: $0\nexit 3\n")
    assert ending(console) == {"exit_code": 3}
    assert b"the profile was read\r\n" in console.stdout
    assert b"name: -" in console.stdout


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"cwd": "/no/such/folder"}, "no_such_directory"),
        ({"user": "nosuchuser"}, "no_such_user"),
        ({"argv": ["/no/such/program"]}, "not_found"),
    ],
)
def test_a_program_that_cannot_start_is_refused_with_the_reason(
    agent: AgentProcess, link: BlockingLink, params: dict[str, Any], reason: str
) -> None:
    before = agent.open_files()
    with pytest.raises(CommandNotStarted) as refusal:
        open_console(link, "true", **params).result()
    assert refusal.value.details == {"reason": reason}
    assert agent.open_files() == before


def test_consoles_count_among_what_a_machine_runs_at_once(tmp_path: Path) -> None:
    with running_agent(tmp_path, "--is-somebody", "--most-execs", "1") as agent, BlockingLink() as link:
        link.connect(agent.socket)
        console = start(link, "cat")
        with pytest.raises(NoSpace):
            open_console(link, "cat").result()
        console.send_message({"signal": "KILL"})
        assert ending(console) == {"signal": "KILL"}


# Keys.


def test_what_is_typed_is_shown_before_the_program_reads_it(link: BlockingLink) -> None:
    console = start(link, "sh", "-c", "echo up; exec sleep 1000")
    console.wait_output(b"up\r\n")
    console.write(b"typed")
    console.wait_output(b"typed")


def test_each_of_many_keys_is_answered_at_once(link: BlockingLink) -> None:
    console = start(link, "cat")
    for count in range(1, 300):
        console.write(b"k")
        link.wait_until(lambda: len(console.stdout) == count, "the echo")  # noqa: B023 - used before the next


def test_bytes_pass_unchanged_both_ways_through_a_raw_terminal(link: BlockingLink) -> None:
    everything = bytes(range(256)) * 256
    program = f"""
import os, tty
tty.setraw(0)
os.write(1, b"ready")
left = {len(everything)}
while left:
    data = os.read(0, 65536)
    left -= len(data)
    while data:
        data = data[os.write(1, data):]
"""
    console = start(link, "python3", "-c", program)
    console.wait_output(b"ready")
    console.write(everything)
    assert ending(console) == {"exit_code": 0}
    assert console.stdout == b"ready" + everything


def test_control_d_is_the_end_of_input(link: BlockingLink) -> None:
    console = start(link, "cat")
    console.write(b"line\n\x04")
    assert ending(console) == {"exit_code": 0}
    assert console.stdout == b"line\r\nline\r\n"


def test_the_end_of_the_stream_is_no_end_of_input(link: BlockingLink) -> None:
    console = start(link, "sh", "-c", "read line; echo got $line; read more; echo not reached")
    console.write(b"it\n")
    console.end(TERMINAL)
    console.wait_output(b"got it\r\n")
    assert not console.is_over
    console.send_message({"signal": "KILL"})
    assert ending(console) == {"signal": "KILL"}


def test_keys_for_a_program_that_has_ended_are_no_trouble(link: BlockingLink) -> None:
    for _ in range(20):
        console = start(link, "true")
        console.write(b"too late\n")
        assert ending(console) == {"exit_code": 0}


# Job control.


def test_an_interactive_shell_has_job_control(link: BlockingLink) -> None:
    console = start_shell(link)
    console.write(b"set -o | grep monitor; exit\n")
    console.result()
    assert b"monitor        \ton" in console.stdout
    assert b"no job control" not in console.stdout


def test_control_c_ends_the_command_and_not_the_shell(link: BlockingLink) -> None:
    console = start_shell(link)
    console.write(b"sh -c 'echo be''gun; exec sleep 1000'\n")
    console.wait_output(b"begun\r\n")
    console.write(b"\x03")
    console.wait_output(b"^C")
    console.write(b"echo status $?; exit 5\n")
    assert ending(console) == {"exit_code": 5}
    assert b"status 130\r\n" in console.stdout


def test_control_z_stops_a_command_that_can_go_on(link: BlockingLink) -> None:
    console = start_shell(link)
    console.write(b"sh -c 'echo be''gun; exec cat'\n")
    console.wait_output(b"begun\r\n")
    console.write(b"one\n")
    console.wait_output(b"one\r\none\r\n")
    console.write(b"\x1a")
    console.wait_output(b"Stopped")
    console.write(b"fg\n")
    console.wait_output(b"fg\r\nsh -c")
    console.write(b"two\n")
    console.wait_output(b"two\r\ntwo\r\n")
    console.write(b"\x04")
    console.write(b"exit\n")
    assert ending(console) == {"exit_code": 0}


# Messages.


def test_another_size_reaches_the_program(link: BlockingLink) -> None:
    script = "trap 'stty size' WINCH; echo up; while :; do sleep 0.02; done"
    console = start(link, "sh", "-c", script)
    console.wait_output(b"up\r\n")
    console.send_message({"resize": {"rows": 50, "cols": 132}})
    console.wait_output(b"50 132\r\n")


def test_a_signal_that_keys_make_reaches_the_foreground_only(link: BlockingLink) -> None:
    console = start_shell(link)
    console.write(b"sh -c 'stty raw -isig; echo be''gun; exec sleep 1000'\n")
    console.wait_output(b"begun\n")
    console.send_message({"signal": "INT"})
    console.write(b"exit 6\r")
    assert ending(console) == {"exit_code": 6}


def test_any_other_signal_reaches_the_whole_tree(link: BlockingLink) -> None:
    console = start(link, "sh", "-c", "setsid sleep 1000 & echo child $!; wait")
    console.wait_output(b"\r\n")
    child = int(console.stdout.split()[1])
    console.send_message({"signal": "TERM"})
    assert ending(console) == {"signal": "TERM"}
    wait_gone(child)


@pytest.mark.parametrize(
    "message",
    [{"signal": "NOPE"}, {"resize": [80, 24]}, {"resize": {"rows": 0, "cols": 80}}, {"size": 1}, "KILL"],
)
def test_a_message_that_is_none_costs_the_caller_the_console(link: BlockingLink, message: object) -> None:
    console = start(link, "sleep", "1000")
    console.send_message(message)
    with pytest.raises(BadRequest):
        console.result()
    wait_gone(console.pid)


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
if ctypes.CDLL(None).vhangup() != 0:
    os.write(1, b"refused")
    raise SystemExit
time.sleep(0.7)
os.write(os.open(name, os.O_RDWR | os.O_NOCTTY), b"after")
"""
    console = start(link, "python3", "-c", program)
    console.wait_output(b"before ")
    before = agent.processor_s()
    assert ending(console) == {"exit_code": 0}
    if console.stdout.endswith(b"refused"):
        pytest.skip("these tests may hang nobody up")
    assert console.stdout == b"before after"
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


def test_a_new_hub_ends_the_consoles_of_the_old_one(agent: AgentProcess, link: BlockingLink) -> None:
    console = start(link, "cat")
    link.drop()
    with BlockingLink() as other:
        assert not other.connect(agent.socket).resumed
        wait_gone(console.pid)


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
