"""From what is on the dashboard's screen to SVG and PNG files.

Rules:
- A picture fetches nothing: the font is one of this machine's, without ligatures, so that each cell keeps its column.
- Chromium draws the PNG, since nothing else places text of an SVG as browsers do.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

_FONTS = "'Fira Code', 'DejaVu Sans Mono', 'Noto Color Emoji', monospace; font-variant-ligatures: none"
_DRAWING_S = 60
_NAMES = ("chromium", "chromium-browser", "google-chrome")


class NoBrowser(Exception):
    """There is nothing here that draws PNG files."""


def with_local_fonts(svg: str) -> str:
    """The picture without fonts from the web."""
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.DOTALL)
    svg = svg.replace("font-family: Fira Code, monospace", f"font-family: {_FONTS}")
    svg = svg.replace("font-family: arial", "font-family: 'DejaVu Sans', sans-serif")
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE).rstrip() + "\n"


def with_stable_names(svg: str, name: str) -> str:
    """The picture with ids made of its name: Textual makes them of all that is shown."""
    return re.sub(r"terminal-\d+", name, svg)


def browser() -> str:
    """What draws PNG files.

    Raises:
        NoBrowser: nothing does.
    """
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    raise NoBrowser("there is no chromium here: SVG files are written, PNG files are not")


def draw(svg: Path, png: Path, *, program: str) -> None:
    """Draws an SVG file as a PNG file of the same size."""
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg.read_text())
    assert size is not None
    width, height = (int(float(side)) + 1 for side in size.groups())
    with tempfile.TemporaryDirectory(prefix="cloche-draw-", ignore_cleanup_errors=True) as profile:
        # SAFETY: the files are this run's own; the browser's sandbox needs rights that root in a container lacks, and
        # all it reads is the picture written just before.
        subprocess.run(
            [
                program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--force-device-scale-factor=1", "--default-background-color=00000000", f"--user-data-dir={profile}",
                f"--window-size={width},{height}", f"--screenshot={png.resolve()}", svg.resolve().as_uri(),
            ],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_DRAWING_S,
        )  # fmt: skip


def shrink(png: Path) -> None:
    """Gives a PNG file a palette, as few colours as a screen has: a third of the size. Without pngquant it stays as it is."""
    program = shutil.which("pngquant")
    if program is not None:
        # SAFETY: as above. Status 98 or 99: it would be no smaller, or no good; it stays as it is.
        subprocess.run(
            [program, "--force", "--strip", "--skip-if-larger", "--output", png, "256", png], check=False
        )
