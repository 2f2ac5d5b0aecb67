"""Searches for inputs that break a promise of the protocol or of a border behind it.

    python -m tests.fuzz --inputs 1000000         new ones every time
    python -m tests.fuzz --case "hub to guest:42" one case again

Prints each failure with the number that makes it again; exits 1 if there was one.
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback

from tests.fuzz.cases import CASES, Heard


def run(name: str, *, first: int, inputs: int) -> tuple[Heard, str | None]:
    """Runs cases of a kind until so many inputs have been fed.

    Returns:
        What became of them, and the story of the first failure, or None.
    """
    case = CASES[name]
    heard, seed = Heard(), first
    while heard.total() < inputs:
        try:
            heard.update(case(seed))
        except Exception:
            # The edge of a case: whatever it raised is the finding.
            return heard, f"{name}:{seed}\n{traceback.format_exc()}"
        seed += 1
    return heard, None


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Fuzz the protocol and its borders."
    )
    parser.add_argument("--inputs", type=int, default=20_000, help="hostile inputs of each kind")
    parser.add_argument("--case", metavar="KIND:NUMBER", help="only this one")
    arguments = parser.parse_args()
    if arguments.case:
        name, _, number = arguments.case.rpartition(":")
        jobs = [(name, int(number), 1)]
    else:
        # Cases are numbers: begin where nobody has been.
        jobs = [(name, random.SystemRandom().randrange(1 << 48), arguments.inputs) for name in CASES]
    failed = False
    for name, first, inputs in jobs:
        heard, story = run(name, first=first, inputs=inputs)
        failed = failed or story is not None
        print(story or f"{name}: {heard.total()} inputs from {first} on hold: {dict(heard)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
