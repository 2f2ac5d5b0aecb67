"""Searches for inputs that break a promise of the protocol core.

    python -m tests.fuzz --cases 100000        new cases every time
    python -m tests.fuzz --case connection:42  one case again

Prints each failure with the number that makes it again; exits 1 if there was one.
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback

from tests.fuzz.cases import CASES


def run(name: str, *, first: int, count: int) -> str | None:
    """Runs `count` cases of a kind; returns the story of the first failure, or None."""
    case = CASES[name]
    for seed in range(first, first + count):
        try:
            case(seed)
        except Exception:
            # The edge of a case: whatever it raised is the finding.
            return f"{name}:{seed}\n{traceback.format_exc()}"
    return None


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the protocol core.")
    parser.add_argument("--cases", type=int, default=20_000, help="cases of each kind")
    parser.add_argument("--case", metavar="KIND:NUMBER", help="only this one")
    arguments = parser.parse_args()
    if arguments.case:
        name, _, number = arguments.case.partition(":")
        jobs = [(name, int(number), 1)]
    else:
        # Cases are numbers: begin where nobody has been.
        jobs = [(name, random.SystemRandom().randrange(1 << 48), arguments.cases) for name in CASES]
    failed = False
    for name, first, count in jobs:
        story = run(name, first=first, count=count)
        failed = failed or story is not None
        print(story or f"{name}: {count} cases from {first} on hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
