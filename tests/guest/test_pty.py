"""Consoles as their user sees them: the terminal, keys, job control, sizes, signals."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from cloche_wire.errors import BadRequest, CommandNotStarted, NoSpace
from tests.support.agent_process import AgentProcess, running_agent, wait_gone
from tests.support.blocking_console import TERMINAL, ending, open_console, shown, start, start_shell
from tests.support.blocking_link import BlockingLink

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do that")


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


def test_a_shell_is_the_users_and_keeps_the_environment_it_is_given(
    link: BlockingLink, tmp_path: Path
) -> None:
    (tmp_path / ".profile").write_text("PATH=/nowhere\n")
    console = start(
        link, env={"HOME": str(tmp_path), "TERM": "dumb", "PATH": "/bin:/mine"}, cwd=str(tmp_path)
    )
    console.write(b"echo $PATH: $0\nexit 3\n")
    assert ending(console) == {"exit_code": 3}
    assert b"/bin:/mine: " in console.stdout


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
            open_console(link, "cat", console="con_2").result()
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
