"""The demo: what a user types, what happens, and proof that it happened. `make demo` runs it.

It types nothing that a user could not type: every step is the `cloche` command, shown before it runs.
Rule: its hub has a home of its own, so it never meets yours; images are shared, so the second run takes seconds.
Rule: whatever happens, nothing it started is left running.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLOCHE = ROOT / ".venv/bin/cloche"
PROGRAM = ROOT / "tools/demo_program.py"


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

    def step(self, *words: str, stdin: Path | None = None) -> None:
        """Runs `cloche WORDS…` with its output on the terminal.

        Raises:
            DemoFailed: it did not exit with 0.
        """
        typed = shlex.join(["cloche", *words])
        if stdin is not None:
            typed += f" < {stdin.relative_to(ROOT)}"
        print(f"{self._bold}$ {typed}{self._plain}", flush=True)
        began = time.monotonic()
        with (stdin or Path(os.devnull)).open("rb") as source:
            # SAFETY: the words are this file's own.
            status = subprocess.run(
                [CLOCHE, *words], env=self._environment, stdin=source, check=False
            ).returncode
        print(f"{self._dim}  ({time.monotonic() - began:.2f} s){self._plain}", flush=True)
        if status != 0:
            raise DemoFailed(f"`{typed}` ended with status {status}")

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


def tell_story(demo: Demo) -> None:
    """The steps."""
    demo.say("The hub owns the machines. This one is the demo's own and ends with it.")
    demo.step("hub", "--background")
    demo.say("What a machine starts from is built once from a recipe, and kept.")
    demo.step("image", "build", "python")
    demo.say("A sandbox is a clone of a booted machine; the first one boots what the others are cloned from.")
    demo.step("create", "--name", "demo")
    demo.say("Run a program in it. It comes by standard input; its output streams back as it is made.")
    demo.step("exec", "demo", "--", "python3", "-", stdin=PROGRAM)
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


def main() -> int:
    """Runs the demo; returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="cloche-demo-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        demo = Demo(home)
        try:
            tell_story(demo)
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
