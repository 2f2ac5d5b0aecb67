"""The pictures of the dashboard: few, small, whole, and described where README.md shows them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "screenshots"
MOST = 20
LARGEST_BYTES = 200_000


def test_every_picture_of_the_readme_is_there_and_says_what_it_shows() -> None:
    shown = re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", (ROOT / "README.md").read_text())
    assert shown
    for text, path in shown:
        assert len(text) > 40, path
        assert (ROOT / path).is_file(), path


def test_pictures_are_few_and_small() -> None:
    pictures = sorted(PICTURES.glob("*.png"))
    assert 0 < len(pictures) <= MOST
    assert [path.name for path in pictures if path.stat().st_size > LARGEST_BYTES] == []


def test_pictures_fetch_nothing_and_name_nothing_of_the_machine_they_were_made_on() -> None:
    for path in PICTURES.glob("*.svg"):
        text = path.read_text()
        assert "@font-face" not in text, path.name
        assert not re.search(r"(href|src)=.?https?://|/work/|/home/(?!user)", text), path.name
