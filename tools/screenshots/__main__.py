"""Takes the pictures.    python -m tools.screenshots [NAME…]

Rule: it changes `screenshots/` and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import tempfile
from pathlib import Path

from tools.screenshots.pictures import NoBrowser, browser, draw, shrink
from tools.screenshots.scenes import BEFORE, LAST, SCENES, Scene, play
from tools.screenshots.stage import Stage, furnish, make_files, open_stage

FOLDER = Path(__file__).resolve().parent.parent.parent / "screenshots"


async def take(names: set[str], home: Path) -> int:
    """Takes the pictures of these names; of all scenes if there are none. Returns how many could not be taken."""
    missed = 0
    async with open_stage(home) as stage:
        for scene in _chosen(BEFORE, names):
            missed += not await shoot(stage, scene)
        print("making sandboxes", flush=True)
        await furnish(stage)
        for scene in (*_chosen(SCENES, names), *_chosen(LAST, names)):
            missed += not await shoot(stage, scene)
    return missed


async def shoot(stage: Stage, scene: Scene) -> bool:
    """Takes one picture, as SVG and, where that can be, as PNG; False: what it was to show did not come."""
    svg = FOLDER / f"{scene.name}.svg"
    try:
        svg.write_text(await play(stage, scene))
    except TimeoutError as error:
        print(f"screenshots: {scene.name}: {error}", file=sys.stderr)
        return False
    with contextlib.suppress(NoBrowser):
        png = svg.with_suffix(".png")
        await asyncio.to_thread(draw, svg, png, program=browser())
        await asyncio.to_thread(shrink, png)
    print(svg.relative_to(FOLDER.parent), flush=True)
    return True


def _chosen(scenes: tuple[Scene, ...], names: set[str]) -> list[Scene]:
    return [scene for scene in scenes if not names or scene.name in names]


def main() -> int:
    """Takes them; returns the exit status."""
    FOLDER.mkdir(exist_ok=True)
    try:
        browser()
    except NoBrowser as error:
        print(f"screenshots: {error}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="cloche-screenshots-", ignore_cleanup_errors=True) as folder:
        # What a person has set for themselves is not in the pictures.
        own = {name: str(Path(folder) / name.lower()) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME")}
        os.environ |= {**own, "COLORTERM": "truecolor", "TERM": "xterm-256color", "TZ": "UTC"}
        for name in ("NO_COLOR", "CLOCHE_HUB", "CLOCHE_TOKEN", "CLOCHE_HOME"):
            os.environ.pop(name, None)
        home = Path(folder) / "hub"
        home.mkdir()
        os.chdir(make_files(Path(folder)))
        missed = asyncio.run(take(set(sys.argv[1:]), home))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
