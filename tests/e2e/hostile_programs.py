"""What hostile programs in a guest do: each a Python program's text, run there by the guest's own interpreter."""

from __future__ import annotations

MANY = 200

MANY_CALLS = f"""
import asyncio, json
from cloche_callback import acallback, CallbackError
async def one(number):
    try:
        return await acallback("pay.many", number)
    except CallbackError as error:
        return error.code
async def all():
    return await asyncio.gather(*(one(number) for number in range({MANY})))
print(json.dumps(asyncio.run(all())))
"""
"""Makes so many calls at once and prints their results, or the codes of their errors."""

_SAYS = r"""
import json, socket
def say(*pieces, ends=False):
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(60)
        caller.connect("/run/cloche/callback.sock")
        try:
            for piece in pieces:
                caller.sendall(piece)
            if ends:
                caller.shutdown(socket.SHUT_WR)
        except BrokenPipeError:
            pass
        answer = b""
        while not answer.endswith(b"\n"):
            answer += caller.recv(65536) or b'{"error": {"code": "nothing"}}\n'
        return json.loads(answer)
"""

NONSENSE = (
    _SAYS
    + r"""
deep = b'{"method": "free.x", "params": ' + b"[" * 60000 + b"]" * 60000 + b"}\n"
lines = [
    b"\n", b"{}\n", b"[]\n", b"nonsense\n", b"\xff\xfe\x00\n", b"GET / HTTP/1.1\r\n", deep,
    b'{"method": 7}\n', b'{"method": null}\n', b'{"method": "free.x", "params": NaN}\n',
    b'{"method": "free.x", "params": 1e999}\n', b'{"method": "free.x", "timeout_s": -1}\n',
    b'{"method": "free.x", "timeout_s": "soon"}\n', b'{"method": "free.x", "wait": 1}\n',
    b'{"method": "free.x", "sandbox": "sb_other"}\n', b'{"method": "free.x", "params": "\\ud800"}\n',
    b'{"method": "free.x", "params": ' + b"9" * 5000 + b"}\n",
]
names = ["", " ", ".", "-x", "free.x ", "free.x\n", "free x", "fr\u00e9e", "\x1b[2J", "free.*", "a" * 101, "../x"]
said = [say(line) for line in lines]
said += [say(json.dumps({"method": name}).encode() + b"\n") for name in names]
said.append(say(b'{"method": "free.x"}', ends=True))
print(json.dumps([answer["error"]["code"] for answer in said]))
"""
)
"""Says what is no request on the callback socket, time and again, and prints the codes it gets."""

TOO_MUCH = (
    _SAYS
    + r"""
from cloche_callback import callback, CallbackError
said = say(b'{"method": "free.x", "params": "', *[b"x" * (1 << 20)] * 100, b'"}\n')
codes = [said["error"]["code"]]
for size in (131070, 131071):
    try:
        codes.append(callback("free.x", "x" * size))
    except CallbackError as error:
        codes.append(error.code)
print(json.dumps(codes))
"""
)
"""Calls with 100 MiB, with the most there may be, and with a byte more; prints codes and results."""

IMPOSTOR = r"""
import os, socket
os.unlink("/run/cloche/callback.sock")
with socket.socket(socket.AF_UNIX) as listening:
    listening.bind("/run/cloche/callback.sock")
    os.chmod("/run/cloche/callback.sock", 0o666)
    listening.listen()
    print("ready", flush=True)
    while True:
        caller, _ = listening.accept()
        caller.makefile("rb").readline()
        caller.sendall(b'{"result": "theirs"}\n')
        caller.close()
"""
"""As root: answers callbacks in the agent's place."""

# The port has one opener at a time, so it is taken from the agent; 438 is pidfd_getfd, on every architecture.
_PORT = """
import ctypes, os, select
agent = os.pidfd_open(1)
(number,) = [n for n in os.listdir("/proc/1/fd") if os.readlink("/proc/1/fd/" + n).startswith("/dev/vport")]
port = ctypes.CDLL(None).syscall(438, agent, int(number), 0)
assert port >= 0
def write(data):
    while data:
        select.select([], [port], [])
        try:
            data = data[os.write(port, data):]
        except BlockingIOError:
            pass
"""

GARBAGE = (
    _PORT
    + """
write(os.urandom(1 << 17))
"""
)
"""As root: writes random bytes on the link to the hub."""

BREACH = (
    _PORT
    + r"""
frame = bytes([0x95, 3, 0xCD, 0x7F, 0xFF, 1, 0, 0xC4, 1, 0x78])
write(b"\xc1" + len(frame).to_bytes(3, "big") + frame + b"\xc1")
"""
)
"""As root: sends the hub a well-formed frame with bytes of a channel that was never opened."""
