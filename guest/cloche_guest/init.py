"""The duties of the machine's first process: mounts, limits, and its end. It reaps orphans through `execs`.

Rules:
- What the initrd has mounted stays as it is; only what is missing is added.
- The kernel never picks the first process when memory runs out, so it needs no shield of its own.
- It never returns: when the first process ends, the kernel panics.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from cloche_guest import identity, library
from cloche_guest.messages import Identity

CGROUP_ROOT = "/sys/fs/cgroup"
_OPEN_FILES_SOFT = 4096
_OPEN_FILES_HARD = 524288
# Of all threads the kernel allows, commands may have this share: enough is left for the agent to start one more.
_SHARE_OF_THREADS = 0.75
# A process costs about this much memory at least, so more of them would only wake the kernel's out-of-memory killer.
_KIB_PER_PROCESS = 400
_END_GRACE_S = 2.0

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


@dataclass(frozen=True, slots=True)
class Mount:
    """One file system a program expects."""

    kind: str
    target: str
    flags: int
    options: str = ""


MOUNTS = (
    Mount("proc", "/proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC),
    Mount("sysfs", "/sys", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC),
    Mount("devtmpfs", "/dev", _MS_NOSUID, "mode=0755"),
    Mount("devpts", "/dev/pts", _MS_NOSUID | _MS_NOEXEC, "gid=5,mode=0620,ptmxmode=0666"),
    Mount("tmpfs", "/dev/shm", _MS_NOSUID | _MS_NODEV, "mode=1777"),
    Mount("tmpfs", "/run", _MS_NOSUID | _MS_NODEV, "mode=0755"),
    # favordynmods: moving a process into a group costs microseconds, not a grace period of the kernel's.
    Mount("cgroup2", CGROUP_ROOT, _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, "nsdelegate,favordynmods"),
)
# What udev would have made.
_LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
}
_FOLDERS = {"/run/lock": 0o1777}
_OWN_FOLDER = "/run/cloche"


def prepare(report: Callable[[str], None]) -> None:
    """Makes the machine what a program expects, as far as the initrd has not; a part that fails is reported."""
    os.chdir("/")
    os.umask(0o022)
    # Whoever sends these means an init process that goes by them; this one goes by its hub.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    parts: dict[str, Callable[[], None]] = {
        "mounts and loopback": lambda: _in_child(_mount_missing, _bring_loopback_up),
        "links": _make_links,
        "identity": lambda: identity.move_files("/", f"{_OWN_FOLDER}/etc"),
        "limits": _set_limits,
        "callback library": lambda: _in_child(library.install),
    }
    for name, part in parts.items():
        try:
            part()
        except OSError as error:
            report(f"{name}: {error}")


def most_processes() -> int:
    """How many processes and threads all commands together may have: as many as this machine can hold."""
    with open("/proc/sys/kernel/threads-max", "rb") as file:
        threads = int(file.read())
    page_size, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    return min(int(threads * _SHARE_OF_THREADS), pages * page_size // (_KIB_PER_PROCESS << 10))


class FirstProcess:
    """The machine, for the agent that is its first process."""

    def take_on(self, who: Identity) -> None:
        """See `agent.System`."""
        identity.take_on(who)

    def power_off(self) -> None:
        """See `agent.System`. Everything else is asked to end, then made to; does not return."""
        for number, grace_s in ((signal.SIGTERM, _END_GRACE_S), (signal.SIGKILL, _END_GRACE_S)):
            with contextlib.suppress(ProcessLookupError):
                # The first process may signal everybody but itself and the kernel's own.
                os.kill(-1, number)
                os.kill(-1, signal.SIGCONT)
            _wait_until_alone(grace_s)
        os.sync()
        with open("/proc/sysrq-trigger", "wb", buffering=0) as file:
            # Remounts everything read-only, then powers off.
            file.write(b"u")
            file.write(b"o")
        while True:
            signal.pause()


def _wait_until_alone(most_s: float) -> None:
    """Reaps until no process is left that could be waited for, or the time is over."""
    ends_at = time.monotonic() + most_s
    while time.monotonic() < ends_at:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            time.sleep(0.01)


def _in_child(*actions: Callable[[], None]) -> None:
    """Does something in a process of its own, whose memory is gone afterwards.

    Raises:
        OSError: it failed; it has said why on the console.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for action in actions:
                action()
            status = 0
        except OSError as error:
            os.write(2, f"cloche agent: {error}\r\n".encode())
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1] != 0:
        raise OSError("failed, as the line before says")


def _mount_missing() -> None:
    import ctypes  # in a child's memory only

    libc = ctypes.CDLL(None, use_errno=True)
    for mount in MOUNTS:
        if os.path.ismount(mount.target):
            continue
        os.makedirs(mount.target, exist_ok=True)
        # Every option is a wish: an older kernel may not know it.
        for options in (mount.options, ""):
            arguments = (mount.kind, mount.target, mount.kind, mount.flags, options)
            source, target, kind, flags, data = arguments
            if libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()) == 0:
                break
        else:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), mount.target)


def _bring_loopback_up() -> None:
    import fcntl
    import socket  # in a child's memory only
    import struct

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


def _make_links() -> None:
    for path, target in _LINKS.items():
        if not os.path.lexists(path):
            os.symlink(target, path)
    for path, mode in _FOLDERS.items():
        if not os.path.isdir(path):
            os.mkdir(path)
            os.chmod(path, mode)


def _set_limits() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES_SOFT, _OPEN_FILES_HARD))
    # Processes are bounded by the commands' control group, which leaves room to start one more as the same user.
    resource.setrlimit(resource.RLIMIT_NPROC, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.RLIM_INFINITY))
