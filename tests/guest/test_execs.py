"""Commands as their caller sees them: output, input, endings, signals, deadlines, back-pressure, cuts."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from cloche_wire.errors import BadRequest, Cancelled, CommandNotStarted, NoSpace
from tests.support.agent_process import AgentProcess, running_agent, wait_gone
from tests.support.blocking_link import BlockingLink
from tests.support.blocking_request import STDERR, STDOUT, Completed, Request

LINES = b"".join(b"%d\n" % number for number in range(100_000))
COUNT = ("seq", "0", "99999")


# Output and endings.


def test_a_command_ends_with_its_output_and_exit_code(link: BlockingLink) -> None:
    ended = link.run("sh", "-c", "echo out; echo err >&2; exit 3")
    assert ended == Completed(3, None, b"out\n", b"err\n", timed_out=False, duration_s=ended.duration_s)
    assert 0 < ended.duration_s < 10


def test_a_command_that_runs_says_its_id_and_its_process(link: BlockingLink) -> None:
    command = link.start("sh", "-c", "echo $$")
    assert command.accepted == {"exec": "ex_1", "pid": command.pid}
    assert int(command.wait().stdout) == command.pid


def test_a_command_ended_by_a_signal_names_it(link: BlockingLink) -> None:
    ended = link.run("sh", "-c", "kill -SEGV $$")
    assert (ended.exit_code, ended.signal) == (None, "SEGV")


def test_a_hundred_thousand_lines_arrive_whole_and_in_order(link: BlockingLink) -> None:
    assert link.run(*COUNT).stdout == LINES


def test_output_before_the_end_arrives_before_the_result(link: BlockingLink) -> None:
    for _ in range(20):
        assert link.run("sh", "-c", "echo first; echo last").stdout == b"first\nlast\n"


def test_output_arrives_while_the_command_still_runs(link: BlockingLink) -> None:
    command = link.start("sh", "-c", "echo ready; read line; echo $line", stdin=True)
    command.wait_output(b"ready\n")
    assert not command.is_over
    command.write(b"go on\n")
    assert command.wait().stdout == b"ready\ngo on\n"


def test_many_commands_run_at_once(link: BlockingLink) -> None:
    commands = [link.start("sh", "-c", f"read line; echo $line {number}", stdin=True) for number in range(40)]
    for command in commands:
        command.write(b"go\n")
    assert [command.wait().stdout for command in commands] == [b"go %d\n" % number for number in range(40)]


def test_more_commands_than_the_machine_takes_at_once_are_refused(tmp_path: Path) -> None:
    with running_agent(tmp_path, "--is-somebody", "--most-execs", "3") as agent, BlockingLink() as link:
        link.connect(agent.socket)
        commands = [link.start("sleep", "1000") for _ in range(3)]
        with pytest.raises(NoSpace, match="3 commands"):
            link.run("true")
        commands[0].signal("KILL")
        commands[0].wait()
        assert link.run("true").exit_code == 0


# Environment, directory, user.


def test_the_environment_is_the_machines_with_the_callers_over_it(tmp_path: Path) -> None:
    with running_agent(tmp_path) as agent, BlockingLink() as link:
        link.connect(agent.socket)
        link.become(env={"A": "machine", "B": "machine", "HOME": "/work"})
        printed = link.run("env", env={"B": "caller"}, cwd="/").stdout.decode().splitlines()
    env = dict(line.split("=", 1) for line in printed)
    assert (env["A"], env["B"], env["HOME"], env["LANG"]) == ("machine", "caller", "/work", "C.UTF-8")
    assert env["PATH"].startswith("/usr/local/sbin:")


def test_a_command_works_where_it_is_told(link: BlockingLink, tmp_path: Path) -> None:
    assert link.run("pwd", "-P", cwd=str(tmp_path)).stdout.decode() == f"{tmp_path.resolve()}\n"


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"cwd": "/no/such/folder"}, "no_such_directory"),
        ({"user": "nosuchuser"}, "no_such_user"),
        ({"env": {"PATH": "/nowhere"}}, "not_found"),
    ],
)
def test_a_command_that_cannot_start_is_refused_with_the_reason(
    link: BlockingLink, params: dict[str, Any], reason: str
) -> None:
    with pytest.raises(CommandNotStarted) as refusal:
        link.run("true", **params)
    assert refusal.value.details == {"reason": reason}


def test_a_wrong_parameter_is_refused_by_its_name(link: BlockingLink) -> None:
    with pytest.raises(BadRequest, match="timeout_s"):
        link.run("true", timeout_s="soon")


# Input.


def test_five_megabytes_come_back_through_cat_with_tiny_windows(agent: AgentProcess) -> None:
    data = os.urandom(64) * (5 << 14)
    with BlockingLink(window=4 << 10) as link:
        link.connect(agent.socket)
        assert link.run("cat", stdin=data).stdout == data


def test_a_command_without_input_sees_its_end_at_once(link: BlockingLink) -> None:
    assert link.run("cat").exit_code == 0


def test_a_command_that_reads_nothing_stalls_only_its_own_input(link: BlockingLink) -> None:
    stalled = link.start("sleep", "1000", stdin=True)
    credit = link.connection.credit(stalled.channel, 1)
    link.connection.send(stalled.channel, 1, bytes(credit))
    assert link.run("echo", "others go on").stdout == b"others go on\n"
    # The pipe has taken 64 KiB; for the rest there is no credit.
    assert link.connection.credit(stalled.channel, 1) <= 64 << 10
    stalled.signal("KILL")
    assert stalled.wait().signal == "KILL"


def test_input_that_is_not_read_to_its_end_is_no_trouble(link: BlockingLink) -> None:
    command = link.start("head", "-c", "5", stdin=True)
    command.write(b"01234" + bytes(1 << 20))
    command.end()
    assert command.wait().stdout == b"01234"


def test_input_for_a_command_that_asked_for_none_is_dropped(link: BlockingLink) -> None:
    command = link.start("sh", "-c", "echo up; sleep 1000")
    command.wait_output(b"up\n")
    command.write(bytes(1 << 20))
    command.signal("TERM")
    assert command.wait().signal == "TERM"


# Back-pressure.


def test_a_caller_that_reads_nothing_stalls_the_command_and_nobody_else(
    agent: AgentProcess, link: BlockingLink
) -> None:
    stalled = link.open("exec", link.exec_params("sh", "-c", "yes; echo never"), window=8 << 10)
    stalled.is_reading = False
    stalled.wait_accepted()
    link.wait_until(lambda: len(stalled.stdout) == 8 << 10, "the whole window")
    assert link.run("echo", "others go on").stdout == b"others go on\n"
    assert len(stalled.stdout) == 8 << 10
    stalled.reset(Cancelled("enough"))
    link.run("true")
    wait_gone(stalled.pid)
    assert agent.open_files() < 20


def test_waiting_for_a_slow_reader_costs_the_agent_nothing(agent: AgentProcess, link: BlockingLink) -> None:
    # Its command has ended, so that the pipe hangs up; the rest waits for credit.
    stalled = link.open("exec", link.exec_params("head", "-c", "30000", "/dev/zero"), window=1 << 10)
    stalled.is_reading = False
    stalled.wait_accepted()
    link.wait_until(lambda: len(stalled.stdout) == 1 << 10, "the whole window")
    wait_gone(stalled.pid)
    before = agent.processor_s()
    # Longer than the agent waits for what a command left behind: what the command itself wrote is not given up.
    assert link.run("sleep", "1.2").exit_code == 0
    assert agent.processor_s() - before < 0.2
    stalled.read_on()
    assert len(stalled.wait().stdout) == 30_000


# Left behind.


def test_a_process_left_in_the_background_does_not_hold_up_the_result(link: BlockingLink) -> None:
    ended = link.run("sh", "-c", "sleep 1000 & echo started $!")
    words = ended.stdout.split()
    assert words[0] == b"started"
    os.kill(int(words[1]), 0)
    os.kill(int(words[1]), signal.SIGKILL)


def test_a_process_left_behind_that_floods_does_not_hold_up_the_result(link: BlockingLink) -> None:
    ended = link.run("sh", "-c", "yes & echo $! >&2")
    assert ended.exit_code == 0
    os.kill(int(ended.stderr), signal.SIGKILL)


def test_a_process_left_behind_can_go_on_writing(link: BlockingLink, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    os.mkfifo(mark)
    script = f"(read go <{mark}; head -c 300000 /dev/zero && echo survived >{mark}) & echo started"
    assert link.run("sh", "-c", script).stdout == b"started\n"
    mark.write_text("go\n")
    assert mark.read_text() == "survived\n"


def test_what_the_command_wrote_arrives_whole_though_the_reader_is_slow(link: BlockingLink) -> None:
    script = "head -c 60000 /dev/zero | tr '\\0' x; sleep 1000 & echo $! >&2"
    command = link.open("exec", link.exec_params("sh", "-c", script), window=4 << 10)
    command.wait_accepted()
    ended = command.wait()
    assert len(ended.stdout) == 60_000
    os.kill(int(ended.stderr), signal.SIGKILL)


# Signals.


@pytest.mark.parametrize(("asked", "name"), [("TERM", "TERM"), ("SIGINT", "INT"), (9, "KILL"), ("34", "34")])
def test_a_signal_ends_the_command(link: BlockingLink, asked: str | int, name: str) -> None:
    command = link.start("sleep", "1000")
    command.signal(asked)
    assert command.wait().signal == name


def test_a_signal_reaches_the_commands_children(link: BlockingLink) -> None:
    command = link.start("sh", "-c", "sh -c 'sleep 1000; :' & echo $!; wait")
    command.wait_output(b"\n")
    child = int(command.stdout)
    command.signal("TERM")
    command.wait()
    wait_gone(child)


def test_a_signal_that_is_handled_does_not_end_the_command(link: BlockingLink) -> None:
    command = link.start("sh", "-c", "trap 'echo got it; exit 4' USR1; echo up; while :; do sleep 0.01; done")
    command.wait_output(b"up\n")
    command.signal("USR1")
    ended = command.wait()
    assert b"got it\n" in ended.stdout


@pytest.mark.parametrize("message", [{"signal": "NOPE"}, {"resize": [80, 24]}, "KILL"])
def test_a_message_that_is_no_signal_costs_the_caller_the_command(
    link: BlockingLink, message: object
) -> None:
    command = link.start("sleep", "1000")
    command.send_message(message)
    with pytest.raises(BadRequest):
        command.result()
    wait_gone(command.pid)


def test_a_signal_after_the_end_does_nothing(link: BlockingLink) -> None:
    command = link.start("true")
    command.signal("TERM")
    ended = command.wait()
    assert (ended.exit_code, ended.signal) in {(0, None), (None, "TERM")}


# Deadlines.


def test_a_command_over_its_time_is_asked_to_end(link: BlockingLink) -> None:
    ended = link.run("sh", "-c", "echo begun; sleep 1000", timeout_s=0.2)
    assert (ended.signal, ended.timed_out, ended.stdout) == ("TERM", True, b"begun\n")


def test_a_command_that_does_not_end_when_asked_is_made_to(link: BlockingLink) -> None:
    ended = link.run("sh", "-c", "trap '' TERM; echo begun; while :; do sleep 0.05; done", timeout_s=0.1)
    assert (ended.signal, ended.timed_out) == ("KILL", True)
    assert ended.duration_s > 2


def test_a_command_that_ends_in_time_did_not_time_out(link: BlockingLink) -> None:
    ended = link.run("true", timeout_s=1000)
    assert (ended.exit_code, ended.timed_out) == (0, False)


def test_a_commands_own_answer_to_the_deadline_is_its_exit_code(link: BlockingLink) -> None:
    script = "trap 'exit 7' TERM; echo begun; while :; do sleep 0.01; done"
    ended = link.run("sh", "-c", script, timeout_s=0.2)
    assert (ended.exit_code, ended.timed_out) == (7, True)


def test_nothing_is_left_of_a_command_over_its_time(grouped_link: BlockingLink) -> None:
    # The daemon ignores the first signal; the command itself ends at once.
    script = "(setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' &) ; sleep 1000"
    ended = grouped_link.run("sh", "-c", script, timeout_s=0.3)
    assert ended.timed_out
    wait_gone(int(ended.stdout))


# Callers that go.


def test_a_caller_that_gives_up_takes_the_command_with_it(agent: AgentProcess, link: BlockingLink) -> None:
    command = link.start("sh", "-c", "sleep 1000; :", stdin=True)
    command.reset(Cancelled("enough"))
    link.run("true")
    wait_gone(command.pid)
    assert agent.open_files() < 20


def test_a_new_hub_ends_the_commands_of_the_old_one(agent: AgentProcess, link: BlockingLink) -> None:
    command = link.start("sleep", "1000")
    link.drop()
    with BlockingLink() as other:
        assert not other.connect(agent.socket).resumed
        wait_gone(command.pid)
        assert other.run("true").exit_code == 0


def test_a_link_cut_in_the_middle_of_output_loses_and_repeats_nothing(
    agent: AgentProcess, link: BlockingLink
) -> None:
    command = link.start(*COUNT, window=16 << 10)
    cuts = 0
    while not command.is_over and cuts < 20:
        command.wait_more()
        link.drop()
        cuts += 1
        assert link.connect(agent.socket).resumed
    assert command.wait().stdout == LINES
    assert cuts > 3


def test_a_link_cut_in_the_middle_of_input_loses_and_repeats_nothing(
    agent: AgentProcess, link: BlockingLink
) -> None:
    command = link.start("cat", stdin=True)
    for start in range(0, len(LINES), 50_000):
        command.write(LINES[start : start + 50_000])
        link.send_pending()
        link.drop()
        assert link.connect(agent.socket).resumed
    command.end()
    assert command.wait().stdout == LINES


def test_a_command_that_ends_while_nobody_is_there_is_told_to_who_comes_back(
    agent: AgentProcess, link: BlockingLink
) -> None:
    command = link.start("sh", "-c", "echo out; echo err >&2; exit 5")
    link.drop()
    wait_gone(command.pid)
    link.connect(agent.socket)
    ended = command.wait()
    assert (ended.exit_code, ended.stdout, ended.stderr) == (5, b"out\n", b"err\n")


def test_streams_end_before_the_result(link: BlockingLink) -> None:
    command: Request = link.start("true")
    command.wait()
    assert command.ended == {STDOUT, STDERR}


def test_commands_leave_nothing_open_in_the_agent(agent: AgentProcess, link: BlockingLink) -> None:
    link.run("true")
    before = agent.open_files()
    for _ in range(30):
        link.run("cat", stdin=b"x")
    assert agent.open_files() == before
