"""The agent where it belongs: as the first process of a real machine, cloned from a template.

What an ordinary process can show is held by the other modules of this folder.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from cloche_hub.ports import Image, Machine
from cloche_wire.errors import Cancelled, CommandNotStarted, WrongState
from tests.support.blocking_console import ending, hang_up_left, left, open_console, start, storing, take
from tests.support.blocking_link import BlockingLink
from tests.support.real_machines import Machines, real_machines

pytestmark = pytest.mark.machine

BOUND_S = 60.0
in_module_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def machines(minimal_image: Image, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Machines]:
    async with real_machines(tmp_path_factory.mktemp("vm"), minimal_image) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def clone(machines: Machines) -> tuple[Machine, Path]:
    """A fresh clone that is nobody yet, and the socket of its agent's port."""
    return await machines.start()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(machines: Machines) -> Path:
    """The socket of a clone that has become somebody and serves one test after another."""
    return await machines.start_somebody(hostname="quiet-otter", env={"GREETING": "hello"})


@pytest.fixture
def link(shared: Path) -> Iterator[BlockingLink]:
    """A link to the shared clone; what runs there ends when the next test's hub comes."""
    with BlockingLink(timeout_s=BOUND_S) as opened:
        opened.connect(shared)
        hang_up_left(opened)
        yield opened


def shell(link: BlockingLink, script: str, **params: Any) -> str:
    """What a script prints."""
    return link.run("sh", "-c", script, **params).stdout.decode()


def test_the_agent_says_which_one_it_is(clone: tuple[Machine, Path], minimal_image: Image) -> None:
    with BlockingLink(timeout_s=BOUND_S) as link:
        info = link.connect(clone[1]).info
    assert (info["agent"], info["arch"]) == (minimal_image.agent_hash, minimal_image.arch)


def test_a_clone_that_is_nobody_serves_nothing_but_become(clone: tuple[Machine, Path]) -> None:
    with BlockingLink(timeout_s=BOUND_S) as link:
        link.connect(clone[1])
        with pytest.raises(WrongState):
            link.run("true")
        link.become()
        assert link.run("true").exit_code == 0


def test_a_clone_becomes_who_it_is_told(clone: tuple[Machine, Path]) -> None:
    with BlockingLink(timeout_s=BOUND_S) as link:
        link.connect(clone[1])
        link.become(hostname="quiet-otter", machine_id="ab" * 16, clock_ns=2_000_000_000 * 10**9)
        script = "uname -n; cat /etc/hostname /etc/machine-id; grep -c quiet-otter /etc/hosts; date +%s"
        *names, seconds = shell(link, script).split()
    assert names == ["quiet-otter", "quiet-otter", "ab" * 16, "1"]
    assert 2_000_000_000 <= int(seconds) < 2_000_000_000 + BOUND_S


@in_module_loop
async def test_two_clones_do_not_share_their_randomness(machines: Machines) -> None:
    script = "od -An -N16 -tx1 /dev/urandom; cat /proc/sys/kernel/random/uuid"

    def ask(port: Path) -> list[str]:
        with BlockingLink(timeout_s=BOUND_S) as link:
            link.connect(port)
            link.become()
            return shell(link, script).splitlines()

    # As alike as can be made: they were saved in the same state, and are asked the same.
    one, other = [await asyncio.to_thread(ask, (await machines.start())[1]) for _ in range(2)]
    assert one[0] != other[0]
    assert one[1] != other[1]


def test_a_command_runs_as_the_ordinary_user_at_home(link: BlockingLink) -> None:
    lines = shell(link, "id; pwd; echo $GREETING $HOME $USER; ulimit -n").splitlines()
    assert lines == [
        "uid=1000(user) gid=1000(user) groups=1000(user)",
        "/home/user",
        "hello /home/user user",
        "4096",
    ]


@pytest.mark.parametrize(
    ("user", "who"), [("root", "uid=0(root)"), ("0", "uid=0(root)"), ("4242", "uid=4242 gid=4242")]
)
def test_a_command_runs_as_whom_it_is_asked_to(link: BlockingLink, user: str, who: str) -> None:
    assert shell(link, "id", user=user, cwd="/").startswith(who)


def test_a_user_does_not_reach_what_is_roots(link: BlockingLink) -> None:
    with pytest.raises(CommandNotStarted, match="cannot work in /root"):
        link.run("true", cwd="/root")
    assert link.run("touch", "/etc/passwd").exit_code == 1
    program = "import os\ntry:\n os.setuid(0)\nexcept PermissionError:\n print('no')"
    assert link.run("python3", "-I", "-S", "-c", program).stdout == b"no\n"


def test_the_machine_is_what_programs_expect(link: BlockingLink) -> None:
    script = """
        for target in /proc /sys /dev /dev/pts /dev/shm /run /sys/fs/cgroup; do
            grep -q " $target " /proc/mounts || echo "no $target"
        done
        echo "through a link" | cat /dev/stdin
        [ -w /run/lock ] && [ -w /dev/shm ] && [ -w /tmp ] || echo "not writable"
        python3 -I -S -c '
import _socket
listening = _socket.socket(_socket.AF_INET)
listening.bind(("127.0.0.1", 0))
listening.listen()
_socket.socket(_socket.AF_INET).connect(listening.getsockname())
print("loopback is up")'
    """
    assert shell(link, script) == "through a link\nloopback is up\n"


def test_orphans_are_reaped(link: BlockingLink) -> None:
    shell(link, "for i in 1 2 3 4 5; do (sleep 0.01 &); done; sleep 0.5")
    # Every process that is a zombie shows as Z.
    assert shell(link, "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z ' || true").strip() == "0"


def test_an_agent_whose_hub_is_away_sleeps(link: BlockingLink, shared: Path) -> None:
    spent = "cut -d' ' -f1 /proc/1/schedstat"
    command = link.start("sh", "-c", f"sleep 0.3; a=$({spent}); sleep 1; b=$({spent}); echo $((b-a))")
    # Meanwhile the port's far end is away, and the port hangs up for ever. Time itself is what is waited for.
    link.drop()
    subprocess.run(["sleep", "2"], check=True)
    assert link.connect(shared).resumed
    # Nanoseconds; one that spun would have used all of the second.
    assert int(command.wait().stdout) < 300_000_000


def test_a_port_cut_in_the_middle_of_output_loses_and_repeats_nothing(
    link: BlockingLink, shared: Path
) -> None:
    command = link.start("seq", "0", "99999", window=32 << 10)
    cuts = 0
    while not command.is_over and cuts < 8:
        command.wait_more()
        link.drop()
        cuts += 1
        assert link.connect(shared).resumed
    assert command.wait().stdout == b"".join(b"%d\n" % number for number in range(100_000))
    assert cuts > 2


def test_a_new_hub_finds_an_agent_that_serves_it(link: BlockingLink, shared: Path) -> None:
    command = link.start("sleep", "1000")
    link.drop()
    with BlockingLink(timeout_s=BOUND_S) as other:
        assert not other.connect(shared).resumed
        assert shell(other, f"[ -e /proc/{command.pid} ] || echo gone") == "gone\n"


def test_a_signal_reaches_a_daemon(link: BlockingLink) -> None:
    command = link.start("sh", "-c", "(setsid sh -c 'setsid sleep 1000 & echo $!' &) ; sleep 1000")
    command.wait_output(b"\n")
    daemon = int(command.stdout)
    command.signal("KILL")
    assert command.wait().signal == "KILL"
    assert shell(link, f"[ -e /proc/{daemon} ] || echo gone") == "gone\n"


def test_a_fork_bomb_is_contained_and_can_be_ended(link: BlockingLink) -> None:
    bomb = link.start("sh", "-c", "bomb() { bomb | bomb & }; bomb; echo lit; sleep 1000")
    bomb.wait_output(b"lit\n")
    # The machine is still there for others, and for who wants to end it.
    assert link.run("echo", "others go on").stdout == b"others go on\n"
    bomb.signal("KILL")
    assert bomb.wait().signal == "KILL"
    assert link.run("true").exit_code == 0


def test_a_command_that_eats_all_memory_dies_alone(link: BlockingLink) -> None:
    # Touched by the kernel at once: in software emulation that is quicker.
    flags = "mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE"
    program = f"import mmap\nheld = []\nwhile True:\n held.append(mmap.mmap(-1, 16 << 20, flags={flags}))"
    assert link.run("python3", "-I", "-S", "-c", program).signal == "KILL"
    assert link.run("echo", "others go on").stdout == b"others go on\n"


def test_a_terminal_is_the_users_and_open_to_messages_of_the_group_tty(link: BlockingLink) -> None:
    console = open_console(
        link, "sh", "-c", "stat -c '%U %G %a' $(tty); stty size; id -un", rows=33, cols=101
    )
    assert ending(console) == {"exit_code": 0}
    assert console.stdout == b"user tty 620\r\n33 101\r\nuser\r\n"


def test_a_shell_has_job_control_and_its_keys_reach_the_foreground(link: BlockingLink) -> None:
    console = open_console(link)
    console.wait_accepted()
    console.write(b"sh -c 'echo be''gun; exec sleep 1000'\n")
    console.wait_output(b"begun\r\n")
    console.send_message({"resize": {"rows": 50, "cols": 132}})
    console.write(b"\x03")
    console.wait_output(b"^C")
    console.write(b"echo status $? $0; pwd; stty size; exit 7\n")
    assert ending(console) == {"exit_code": 7}
    assert b"status 130 bash" in console.stdout
    assert b"/home/user\r\n50 132\r\n" in console.stdout
    assert b"no job control" not in console.stdout


def test_hubs_that_are_lost_in_a_flood_cost_not_a_byte_of_it(link: BlockingLink, shared: Path) -> None:
    console = storing(open_console(link, "seq", "0", "49999", window=64 << 10))
    stored, offset = b"", 0
    for stored_by_each in (1, 70_000, 1000, 100_000, 20_000):
        goal = len(stored) - offset + stored_by_each
        link.wait_until(lambda: len(console.stdout) >= goal, "output")  # noqa: B023 - used before the next
        console.consume(stored_by_each)
        stored += console.stdout[goal - stored_by_each : goal]
        # What is on its way is lost, wherever a frame is cut by that.
        link.drop()
        link = BlockingLink(timeout_s=BOUND_S)
        link.connect(shared)
        assert left(link)["con_1"][0] <= len(stored)
        console = storing(take(link, received=len(stored)))
        offset = console.wait_accepted()["offset"]
        assert offset == len(stored)
    console.read_on()
    assert ending(console) == {"exit_code": 0}
    link.connection.confirm(console.channel)
    link.ping()
    link.drop()
    assert stored + console.stdout == b"".join(b"%d\r\n" % number for number in range(50_000))


def test_nothing_is_left_of_a_console_that_was_given_up(link: BlockingLink) -> None:
    script = "trap '' HUP; (setsid sh -c 'trap \"\" HUP; echo $$; exec sleep 1000' &) ; exec sleep 1000"
    console = start(link, "sh", "-c", script)
    console.wait_output(b"\r\n")
    console.reset(Cancelled("enough"))
    left = f"/proc/{console.pid} -o -e /proc/{int(console.stdout)}"
    assert shell(link, f"while [ -e {left} ]; do sleep 0.1; done; echo gone") == "gone\n"


@in_module_loop
async def test_a_machine_powers_off_when_it_is_asked_to(clone: tuple[Machine, Path]) -> None:
    machine, port = clone

    def power_off() -> None:
        with BlockingLink(timeout_s=BOUND_S) as link:
            link.connect(port)
            assert link.call("poweroff") == {}

    await asyncio.to_thread(power_off)
    async with asyncio.timeout(BOUND_S):
        assert (await machine.wait_exit()).reason == "guest_shutdown"
