"""Commands start as whom, where and with what they were asked to, or say why they can not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche_guest import spawn
from cloche_guest.spawn import Command, base_environment, start
from cloche_guest.users import Account, look_up
from cloche_wire.errors import CommandNotStarted

ME = look_up(str(os.geteuid()))
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run as somebody else")


def command(
    *argv: str, account: Account = ME, cwd: str = "/", stdin: bool = False, path: str = ""
) -> Command:
    return Command(argv, {"PATH": path or spawn.DEFAULT_PATH, "WORD": "ü"}, cwd, account, stdin)


def run(what: Command, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
    """Runs it to its end: exit code or minus signal, stdout, stderr. For small outputs."""
    started = start(what)
    if started.stdin is not None:
        os.write(started.stdin, stdin)
        os.close(started.stdin)
    code = os.waitstatus_to_exitcode(os.waitpid(started.pid, 0)[1])
    outputs = []
    for fd in (started.stdout, started.stderr):
        with os.fdopen(fd, "rb") as file:
            outputs.append(file.read() or b"")
    return code, outputs[0], outputs[1]


def test_stdout_and_stderr_come_apart() -> None:
    assert run(command("sh", "-c", "echo out; echo err >&2; exit 3")) == (3, b"out\n", b"err\n")


def test_a_command_reads_its_pipe_to_the_end() -> None:
    assert run(command("cat", stdin=True), b"input") == (0, b"input", b"")


def test_a_command_without_input_reads_from_nothing() -> None:
    assert run(command("cat")) == (0, b"", b"")


def test_a_command_has_the_environment_it_was_given_and_no_other() -> None:
    assert run(command("env"))[1] == f"PATH={spawn.DEFAULT_PATH}\nWORD=ü\n".encode()


def test_a_command_leads_a_session_of_its_own() -> None:
    code, out, _ = run(command("sh", "-c", "ps -o pid=,sid=,pgid= -p $$ 2>/dev/null || cat /proc/$$/stat"))
    assert code == 0
    fields = out.split() if b"(" not in out else out.rpartition(b")")[2].split()[2:4]
    assert len(set(fields)) == 1


def test_a_command_has_its_three_descriptors_and_no_other() -> None:
    reader, writer = os.pipe()
    try:
        out = run(command("sh", "-c", "ls /proc/$$/fd"))[1]
    finally:
        os.close(reader)
        os.close(writer)
    # A shell may open its own beyond 9.
    assert [number for number in map(int, out.split()) if number < 10] == [0, 1, 2]


def test_a_command_finds_no_signal_ignored_that_the_agent_ignores() -> None:
    out = run(command("grep", "SigIgn", "/proc/self/status"))[1]
    ignored = int(out.split()[1], 16)
    # Python ignores SIGPIPE (13) and SIGXFSZ (25).
    assert ignored & (1 << 12 | 1 << 24) == 0


def test_a_command_works_in_its_directory(tmp_path: Path) -> None:
    assert run(command("pwd", "-P", cwd=str(tmp_path)))[1].decode() == f"{tmp_path.resolve()}\n"
    assert str(Path.cwd()) == "/" or Path.cwd().exists()


def test_a_path_is_searched_in_order_and_skips_what_cannot_be_executed(tmp_path: Path) -> None:
    for folder in ("first", "second", "third"):
        (tmp_path / folder).mkdir()
    (tmp_path / "first/tool").mkdir()
    (tmp_path / "second/tool").write_text("#!/bin/sh\necho not executable\n")
    (tmp_path / "third/tool").write_text("#!/bin/sh\necho third\n")
    (tmp_path / "third/tool").chmod(0o755)
    path = ":".join(str(tmp_path / folder) for folder in ("first", "second", "third"))
    if os.geteuid() == 0:
        (tmp_path / "second/tool").chmod(0o644)
    assert run(command("tool", path=path))[1] == b"third\n"


def test_a_program_with_a_slash_is_looked_for_from_the_commands_directory(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\necho here\n")
    (tmp_path / "tool").chmod(0o755)
    assert run(command("./tool", cwd=str(tmp_path)))[1] == b"here\n"


@pytest.mark.parametrize(
    ("argv", "cwd", "words", "reason"),
    [
        (["no-such-program"], "/", "no program 'no-such-program' on the PATH", "not_found"),
        (["/no/such/program"], "/", "No such file", "not_found"),
        (["/etc/passwd"], "/", "Permission denied", "permission"),
        (["/etc"], "/", "Permission denied", "permission"),
        (["true"], "/no/such/folder", "cannot work in /no/such/folder", "no_such_directory"),
        (["true"], "/etc/passwd", "cannot work in /etc/passwd", "no_such_directory"),
        (["true", "x" * (4 << 20)], "/", "Argument list too long", "too_large"),
    ],
)
def test_a_command_that_cannot_start_says_why(argv: list[str], cwd: str, words: str, reason: str) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(CommandNotStarted, match=words) as refusal:
        start(command(*argv, cwd=cwd, stdin=True))
    assert refusal.value.details == {"reason": reason}
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_a_program_may_bear_another_name_than_its_file() -> None:
    what = Command(("-sh", "-c", "echo $0"), {"PATH": spawn.DEFAULT_PATH}, "/", ME, program="sh")
    assert run(what) == (0, b"-sh\n", b"")


def test_a_file_that_cannot_be_executed_is_named_though_the_program_bears_another_name() -> None:
    what = Command(("-sh",), {}, "/", ME, program="/no/such/shell")
    with pytest.raises(CommandNotStarted, match="/no/such/shell"):
        start(what)


def test_a_script_without_a_first_line_is_explained(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("echo hi\n")
    (tmp_path / "tool").chmod(0o755)
    with pytest.raises(CommandNotStarted, match="#!/bin/sh"):
        start(command(str(tmp_path / "tool")))


def test_the_machines_variables_win_over_the_accounts() -> None:
    env = base_environment(Account("user", 1000, 1000, (), "/home/user", "/bin/bash"), {"HOME": "/work"})
    assert env == {
        "PATH": spawn.DEFAULT_PATH,
        "LANG": "C.UTF-8",
        "HOME": "/work",
        "USER": "user",
        "LOGNAME": "user",
        "SHELL": "/bin/bash",
    }


# Other users.

SOMEBODY = Account("somebody", 54321, 54322, (54322, 54323), "/", "/bin/sh")


@needs_root
def test_a_command_runs_as_its_user_with_all_ids_and_groups() -> None:
    out = run(command("grep", "-E", "^(Uid|Gid|Groups|Cap(Prm|Eff))", "/proc/self/status", account=SOMEBODY))[
        1
    ]
    lines = dict(line.split(":") for line in out.decode().splitlines())
    assert lines["Uid"].split() == ["54321"] * 4
    assert lines["Gid"].split() == ["54322"] * 4
    assert lines["Groups"].split() == ["54322", "54323"]
    assert int(lines["CapPrm"], 16) == int(lines["CapEff"], 16) == 0


@needs_root
def test_a_command_cannot_take_the_agents_identity_back() -> None:
    program = "import os\ntry:\n os.setresuid(0, 0, 0)\nexcept PermissionError:\n print('no')"
    assert run(command("python3", "-I", "-S", "-c", program, account=SOMEBODY))[1] == b"no\n"


@needs_root
def test_the_agent_is_itself_again_after_a_start_and_after_a_failed_one() -> None:
    before = (os.getresuid(), os.getresgid(), os.getgroups(), Path.cwd())
    run(command("true", account=SOMEBODY))
    with pytest.raises(CommandNotStarted):
        start(command("/no/such/program", account=SOMEBODY))
    assert (os.getresuid(), os.getresgid(), os.getgroups()) == before[:3]


@needs_root
def test_a_users_rights_decide_about_directory_and_program(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(CommandNotStarted, match="cannot work in") as refusal:
        start(command("true", account=SOMEBODY, cwd=str(tmp_path)))
    assert refusal.value.details == {"reason": "permission"}


def test_an_agent_that_is_not_root_runs_as_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    with pytest.raises(CommandNotStarted, match="not root"):
        start(command("true", account=SOMEBODY))
