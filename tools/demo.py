"""The demo: what a user types, what happens, and proof that it happened. `make demo` runs it.

It types nothing that a user could not type: every step is the `cloche` command, shown before it runs.
Rule: its hub has a home of its own, so it never meets yours; images are shared, so the second run takes seconds.
Rule: whatever happens, nothing it started is left running.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLOCHE = ROOT / ".venv/bin/cloche"
SHOP = ROOT / "tools/demo_shop.py"
POLICY = """\
[[rule]]
name = "orders cost money"
methods = ["shop.*"]
verdict = "ask"
deadline = "10m"
reason = "a person decides what is bought"
"""


_PROGRAM_S = 120
"""Bound of what the machine works for, in software emulation on a busy host; people may think as long as they like."""


class DemoFailed(Exception):
    """A step ended badly; the message says which."""


class Demo:
    """Runs steps, each shown as a user would type it.

    Args:
        home: the state folder of this run's hub.
    """

    def __init__(self, home: Path) -> None:
        self._environment = {**os.environ, "CLOCHE_HOME": str(home)}
        for name in ("CLOCHE_HUB", "CLOCHE_TOKEN"):
            self._environment.pop(name, None)
        self._bold, self._dim, self._plain = (
            ("\033[1m", "\033[2m", "\033[0m") if _is_colourful() else ("", "", "")
        )

    def say(self, text: str) -> None:
        """One line of story."""
        print(f"\n{self._dim}# {text}{self._plain}", flush=True)

    def show(self, text: str) -> None:
        """What a user would look at or write, indented."""
        print("\n".join(f"  {line}" for line in text.splitlines()), flush=True)

    def step(self, *words: str) -> None:
        """Runs `cloche WORDS…` with its output on the terminal.

        Raises:
            DemoFailed: it did not exit with 0.
        """
        typed = shlex.join(["cloche", *words])
        print(f"{self._bold}$ {typed}{self._plain}", flush=True)
        began = time.monotonic()
        # SAFETY: the words are this file's own, or the id of an approval of this run's hub.
        status = subprocess.run(
            [CLOCHE, *words], env=self._environment, stdin=subprocess.DEVNULL, check=False
        ).returncode
        print(f"{self._dim}  ({time.monotonic() - began:.2f} s){self._plain}", flush=True)
        if status != 0:
            raise DemoFailed(f"`{typed}` ended with status {status}")

    def open_dashboard(self, *words: str) -> None:
        """Gives the terminal to `cloche tui WORDS…` until the person leaves it.

        Raises:
            DemoFailed: it did not exit with 0.
        """
        typed = shlex.join(["cloche", "tui", *words])
        input(f"{self._bold}$ {typed}{self._plain}   (press Enter)")
        # SAFETY: the words are this file's own.
        status = subprocess.run([CLOCHE, "tui", *words], env=self._environment, check=False).returncode
        if status != 0:
            raise DemoFailed(f"`{typed}` ended with status {status}")

    @contextlib.contextmanager
    def running(self, program: Path, *words: str) -> Iterator[None]:
        """Runs a Python program beside what happens inside, which it must not outlast by long.

        Raises:
            DemoFailed: it did not exit with 0.
        """
        typed = shlex.join(["python", str(program.relative_to(ROOT)), *words])
        print(f"{self._bold}$ {typed} &{self._plain}", flush=True)
        # SAFETY: a file of this checkout.
        process = subprocess.Popen(
            [sys.executable, program, *words], env=self._environment, stdin=subprocess.DEVNULL
        )
        try:
            yield
            status = process.wait(timeout=_PROGRAM_S)
        except subprocess.TimeoutExpired:
            raise DemoFailed(f"`{typed}` did not end within {_PROGRAM_S} s") from None
        finally:
            process.kill()
            process.wait()
        if status != 0:
            raise DemoFailed(f"`{typed}` ended with status {status}")

    def await_approval(self) -> str:
        """The id of the first approval that waits, as soon as there is one."""
        # SAFETY: the words are this file's own.
        watching = subprocess.Popen(
            [CLOCHE, "approvals", "watch", "--json"], env=self._environment, stdout=subprocess.PIPE
        )
        try:
            assert watching.stdout is not None
            if not select.select([watching.stdout], [], [], _PROGRAM_S)[0]:
                raise DemoFailed("nothing asked for an approval")
            line = watching.stdout.readline()
        finally:
            watching.kill()
            watching.communicate()
        return str(json.loads(line)["id"])

    def ask(self, *words: str) -> dict[str, object]:
        """What `cloche WORDS… --json` answers; not shown."""
        # SAFETY: the words are this file's own.
        answer = subprocess.run(
            [CLOCHE, *words, "--json"], env=self._environment, capture_output=True, check=False
        )
        if answer.returncode != 0:
            raise DemoFailed(answer.stderr.decode(errors="replace").strip())
        parsed: dict[str, object] = json.loads(answer.stdout)
        return parsed


def tell_story(demo: Demo, home: Path) -> None:
    """The steps."""
    demo.say("What may leave a sandbox is a policy. In this one, a person decides what is bought:")
    (home / "policy.toml").write_text(POLICY)
    demo.show(POLICY)
    demo.say("The hub owns the machines. This one is the demo's own and ends with it.")
    demo.step("hub", "--background")
    demo.say("What a machine starts from is built once from a recipe, and kept.")
    demo.step("image", "build", "python")
    demo.say("A sandbox is a clone of a booted machine; the first one boots what the others are cloned from.")
    demo.step("create", "--name", "demo", "--label", "for=demo")
    demo.say("A program of ours runs code nobody trusts in it, and answers what that code may ask for.")
    has_person = sys.stdin.isatty() and sys.stdout.isatty()
    with demo.running(SHOP, *(["--console"] if has_person else [])):
        approval = demo.await_approval()
        demo.say("The code has asked for something that costs money. It waits, and so does its call:")
        demo.step("approvals", "ls")
        if has_person:
            demo.say(
                "You are the person. The dashboard shows the call, and the code's console where there is room:"
            )
            demo.show(
                "a approves the call, e edits it first, d denies it; o goes to the console; ? helps, q leaves"
            )
            demo.open_dashboard("demo/program", "--view", "approvals")
        else:
            demo.step("approvals", "show", approval)
        if demo.ask("approvals", "show", approval)["state"] == "pending":
            decide(demo, approval)
    demo.say("What terminals and commands show can be recorded, looked through, and played again.")
    demo.step("exec", "--record", "demo", "--", "uname", "-sr")
    demo.step("record", "search", "Linux")
    demo.say("The machine's own console is one of those that anybody who may can look at, dead or alive.")
    demo.step("consoles", "ls")
    demo.say("The next sandbox takes a moment: create it, run in it, remove it.")
    demo.step("run", "--", "python3", "-c", "print(6 * 7)")
    demo.step("ls")
    demo.say("Everything that happened is on record, each event bound to the one before it.")
    demo.step("audit", "tail")
    demo.step("audit", "verify")
    demo.say("Clean up.")
    demo.step("rm", "demo")
    status = demo.ask("hub", "status")
    demo.step("hub", "stop")
    speed = (
        "hardware virtualisation"
        if status["accelerator"] == "kvm"
        else "software emulation, as this host has no working KVM"
    )
    print(
        f"\nThat was Cloche on {status['accelerator']} ({speed}). Next: .venv/bin/cloche --help", flush=True
    )


def decide(demo: Demo, approval: str) -> None:
    """Has the person at the terminal decide; without one, decides as a careful person would."""
    fewer = json.dumps({"item": "brass plate with a prime number", "count": 1})
    decisions = {
        "a": ("approvals", "approve", approval),
        "e": ("approvals", "approve", approval, "--params", fewer),
        "d": ("approvals", "deny", approval, "--reason", "3000 plates are too many"),
    }
    if sys.stdin.isatty():
        demo.say("You are the person: approve it [a], approve one instead of 3000 [e], or deny it [d]?")
        answer = ""
        while answer not in decisions:
            answer = input("a, e or d: ").strip().lower()
    else:
        demo.say("Nobody is at a terminal, so the demo decides: one will do. The code goes on with that.")
        answer = "e"
    demo.step(*decisions[answer])


def main() -> int:
    """Runs the demo; returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="cloche-demo-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        demo = Demo(home)
        try:
            tell_story(demo, home)
        except DemoFailed as error:
            print(f"\ndemo: {error}", file=sys.stderr)
            _show_log(home / "hub.log")
            return 1
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        finally:
            _end_hub(home / "hub.lock")
    return 0


def _end_hub(lock: Path) -> None:
    """Ends the demo's hub if it still runs; the lock file holds its process id while it does."""
    try:
        hub = os.pidfd_open(int(lock.read_text()))
    except (OSError, ValueError):
        return
    # SAFETY: the home is this run's own, so whoever holds its lock was started by it.
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            signal.pidfd_send_signal(hub, number)
        except ProcessLookupError:
            break
        if _ends_within(hub, seconds=30):
            break
    os.close(hub)


def _ends_within(process: int, *, seconds: float) -> bool:

    return bool(select.select([process], [], [], seconds)[0])


def _show_log(log: Path) -> None:
    if log.exists():
        print("The hub's last words:", file=sys.stderr)
        print("\n".join(log.read_text(errors="replace").splitlines()[-20:]), file=sys.stderr)


def _is_colourful() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


if __name__ == "__main__":
    sys.exit(main())
