"""The fake QEMU itself; `fake_qemu.write_fake_qemu` puts a line that sets FAULTS in front of it. Not imported."""

# mypy: ignore-errors
# ruff: noqa: F821
import array
import base64
import json
import os
import re
import select
import socket
import sys

if sys.argv[1:] == ["--version"]:
    print("QEMU emulator version 7.2.99 (fake)")
    sys.exit(0)

WORDS = " ".join(sys.argv[1:])
IS_CLONE = "-incoming" in sys.argv
console = b"fake kernel booted\n"
names = {}
clients = {}
status = "inmigrate" if IS_CLONE else "running"


def number(pattern):
    return int(re.search(pattern, WORDS)[1])


if "arguments" in FAULTS:
    sys.stderr.write("fake-qemu: I do not like these arguments\n")
    sys.exit(1)
listening = {
    "qmp": socket.socket(fileno=number(r"socket,id=qmp,fd=(\d+)")),
    "agent": socket.socket(fileno=number(r"socket,id=agent,fd=(\d+)")),
}


def tell(data):
    if "qmp" in clients:
        clients["qmp"].sendall(json.dumps(data).encode() + b"\r\n")


def event(name, **data):
    tell({"event": name, "data": data, "timestamp": {"seconds": 0, "microseconds": 0}})


def end_guest(reason):
    global status
    status = "shutdown"
    event("SHUTDOWN", guest=reason.startswith("guest"), reason=reason)


def restore(uri):
    global status
    fd = int(uri.removeprefix("fd:"))
    if "state" in FAULTS or os.read(fd, 1 << 16) != b"devices of a fake machine":
        sys.stderr.write("fake-qemu: load of migration failed: Invalid argument\n")
        sys.stderr.flush()
        os._exit(1)
    if "stuck" not in FAULTS:
        status = "running"
        event("RESUME")


def save(uri):
    if "unsaved" in FAULTS:
        event("MIGRATION", status="failed")
        return
    os.write(names[uri.removeprefix("fd:")], b"devices of a fake machine")
    event("MIGRATION", status="active")
    event("MIGRATION", status="completed")


def command(request, fds):
    global console
    name, arguments = request["execute"], request.get("arguments", {})
    answer = {}
    if name == "getfd":
        names[arguments["fdname"]] = fds.pop()
    elif name == "ringbuf-read":
        answer, console = base64.b64encode(console).decode(), b""
    elif name == "query-migrate":
        answer = {"status": "failed", "error-desc": "the fake was told to fail"}
    elif name == "nonsense":
        tell({"error": {"class": "CommandNotFound", "desc": "no nonsense"}, "id": request.get("id")})
        return
    if name == "quit" and IS_CLONE and "stubborn-clone" in FAULTS:
        return
    tell({"return": answer, "id": request.get("id")})
    if name == "quit":
        end_guest("host-qmp-quit")
        # What a real one still has in its memory of the disk.
        os.pwrite(number(r"-add-fd fd=(\d+)"), b"flushed", 1 << 20)
        os._exit(0)
    elif name == "migrate":
        save(arguments["uri"])
    elif name == "migrate-incoming":
        restore(arguments["uri"])


def line_from_guest(line):
    global console
    if "deaf" in FAULTS or status == "shutdown":
        return
    if line == b"ping":
        clients["agent"].sendall(b"pong\n")
    elif line.startswith(b"say "):
        console = (console + line[4:] + b"\n")[-65536:]
        clients["agent"].sendall(b"said\n")
    elif line == b"poweroff":
        end_guest("guest-shutdown")
    elif line == b"reboot":
        end_guest("guest-reset")
    elif line == b"panic":
        console += b"Kernel panic - not syncing: told to\n"
        end_guest("guest-reset")
    elif line == b"crash":
        sys.stderr.write("fake-qemu: told to crash\n")
        sys.stderr.flush()
        os.abort()


def run_commands(text):
    """Runs every complete message in `text` and returns the rest."""
    while text.strip():
        text = text.lstrip()
        try:
            request, used = json.JSONDecoder().raw_decode(text)
        except ValueError:
            return text
        text = text[used:]
        command(request, pending_fds)
    return ""


def run_lines(text):
    *lines, rest = text.split("\n")
    for line in lines:
        line_from_guest(line.encode())
    return rest


buffers = {"qmp": "", "agent": ""}
pending_fds = []
while True:
    # Like QEMU, one client at a time: the next one waits until the first is gone.
    free = [one for name, one in listening.items() if name not in clients]
    for ready in select.select([*free, *clients.values()], [], [])[0]:
        if ready in free:
            name = next(name for name, one in listening.items() if one is ready)
            clients[name] = ready.accept()[0]
            if name == "qmp" and "silent" not in FAULTS:
                tell({"QMP": {"version": {"qemu": {"major": 7}}, "capabilities": []}})
            if name == "agent" and "boot-panic" in FAULTS and not IS_CLONE:
                line_from_guest(b"panic")
            continue
        name = next(name for name, one in clients.items() if one is ready)
        data, ancillary, _, _ = ready.recvmsg(65536, 1024)
        for _, _, payload in ancillary:
            pending_fds += array.array("i", payload)
        if not data:
            clients.pop(name).close()
            buffers[name] = ""
            continue
        work = run_commands if name == "qmp" else run_lines
        buffers[name] = work(buffers[name] + data.decode())
