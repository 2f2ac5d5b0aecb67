"""How a build's progress reaches those who wait for it in other processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.images.relay import ProgressFile
from cloche_hub.ports import Progress

_STEP = Progress("packages", "installing", 0.5)
_WAITING = Progress("wait", "another process is building it")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.progress"


def test_who_waits_hears_each_step_once(path: Path) -> None:
    heard: list[Progress] = []
    waiting, building = ProgressFile(path), ProgressFile(path)

    building.write(_STEP)
    waiting.pass_on(heard.append)
    waiting.pass_on(heard.append)
    building.write(Progress("done", "finishing"))
    waiting.pass_on(heard.append)

    assert heard == [_STEP, Progress("done", "finishing")]


@pytest.mark.parametrize(
    "content", [None, "", "{", "[]", '{"step": "x"}', '{"step":1,"message":2,"fraction":"x"}']
)
def test_without_a_readable_step_who_waits_is_told_to_wait(path: Path, content: str | None) -> None:
    heard: list[Progress] = []
    if content is not None:
        path.write_text(content)

    ProgressFile(path).pass_on(heard.append)

    assert heard == [_WAITING]


def test_the_file_is_gone_when_the_build_is_over(path: Path) -> None:
    with ProgressFile(path) as building:
        building.write(_STEP)

    assert list(path.parent.iterdir()) == []


def test_a_file_that_can_not_be_written_does_not_disturb_the_build(tmp_path: Path) -> None:
    with ProgressFile(tmp_path / "no/such/folder/x") as building:
        building.write(_STEP)
