"""What a build's output says about how far it is.

Pure: a line in, a step out. The weights are measured shares of a whole build's time; a wrong one makes the
bar uneven, never wrong at its ends.
Rule: the fraction never goes back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cloche_hub.ports import Progress


@dataclass(frozen=True, slots=True)
class Stage:
    """One part of a build."""

    starts_with: str
    """The beginning of the line that begins it."""
    step: str
    message: str
    begins_at: float
    """How much of the whole work is done when it begins."""
    lines_per_package: int = 1
    """How many lines are counted for each package: fetched, unpacked, set up."""


STAGES = (
    Stage("I: running apt-get update", "index", "reading the mirror's package lists", 0.02),
    Stage("I: downloading packages", "download", "downloading packages", 0.15),
    Stage("I: extracting archives", "unpack", "unpacking the essential packages", 0.22),
    Stage("I: installing essential packages", "essential", "installing the essential packages", 0.27, 2),
    Stage("I: installing remaining packages", "packages", "installing the recipe's packages", 0.55, 3),
    Stage("cloche: fetching the kernel", "kernel", "fetching the kernel", 0.75),
    Stage("cloche: customizing", "customize", "running the recipe's own steps", 0.85),
    Stage("I: cleaning package lists", "clean", "cleaning up", 0.90),
    Stage("cloche: making the file system", "filesystem", "making the file system", 0.92),
    Stage("cloche: done", "done", "finishing", 0.99),
)

_PLANNED = re.compile(r"\d+ upgraded, (\d+) newly installed")
_COUNTED = re.compile(r"(Get:\d+|Unpacking|Setting up) (.*)")


class BuildProgress:
    """Follows one build's output."""

    def __init__(self) -> None:
        self._stage = -1
        self._planned = 0
        self._counted = 0
        self._fraction = 0.0
        self._latest: Progress | None = None

    def line(self, text: str) -> Progress | None:
        """The step a line of output means, or None if it says nothing new."""
        step = self._read(text)
        if step is None or step == self._latest:
            return None
        self._latest = step
        return step

    def _read(self, text: str) -> Progress | None:
        for index, stage in enumerate(STAGES):
            if index > self._stage and text.startswith(stage.starts_with):
                self._stage, self._counted, self._planned = index, 0, 0
                return self._progress(stage.begins_at, stage.message)
        if self._stage < 0:
            return None
        if planned := _PLANNED.match(text):
            self._planned, self._counted = int(planned[1]), 0
        elif counted := _COUNTED.match(text):
            self._counted += 1
            return self._progress(self._inside(), _message(STAGES[self._stage], counted[1], counted[2]))
        return None

    def _inside(self) -> float:
        stage = STAGES[self._stage]
        begins = stage.begins_at
        ends = STAGES[self._stage + 1].begins_at if self._stage + 1 < len(STAGES) else 1.0
        if self._planned:
            share = self._counted / (stage.lines_per_package * self._planned)
        else:
            # No plan was seen: approach the end without reaching it.
            share = 1 - 1 / (1 + self._counted / 40)
        return begins + (ends - begins) * min(share, 1.0)

    def _progress(self, fraction: float, message: str) -> Progress:
        self._fraction = max(self._fraction, fraction)
        return Progress(STAGES[self._stage].step, message, round(self._fraction, 2))


def _message(stage: Stage, word: str, rest: str) -> str:
    if word.startswith("Get:"):
        return stage.message
    package = rest.split(" ", 1)[0].partition(":")[0]
    return f"{stage.message}: {package}"
