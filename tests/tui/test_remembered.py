"""What the dashboard finds again, and what becomes of what it cannot read or write."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from cloche_tui.remembered import Remembered, open_remembered
from tests.support.hub import until


class _Later:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.planned: list[Callable[[], None]] = []
        self.delays: list[float] = []

    def __call__(self, seconds: float, action: Callable[[], None]) -> _Later:
        self.planned.append(action)
        self.delays.append(seconds)
        return self

    def cancel(self) -> None:
        self.planned.clear()

    def pass_on(self) -> None:
        for action in list(self.planned):
            action()


@pytest.fixture
def later() -> _Later:
    return _Later()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that is not there, in a folder that is not there."""
    return tmp_path / "state" / "dashboard" / "hub.json"


def test_what_was_set_is_found_by_the_next_one(path: Path, later: _Later) -> None:
    first = Remembered(path, later=later)
    first.set("sandboxes.sort", "cpu")
    first.set("sandboxes.columns", ["name", "state"])
    first.set("layout", {"panes": 2})
    first.flush()
    second = Remembered(path, later=later)
    assert second.problem == ""
    assert second.get("sandboxes.sort", "age") == "cpu"
    assert second.get("sandboxes.columns", ["x"]) == ["name", "state"]
    assert second.get("layout", {"panes": 1}) == {"panes": 2}
    assert second.get("sandboxes.reverse", False) is False


def test_it_is_written_once_for_all_that_changes_within_a_moment(path: Path, later: _Later) -> None:
    remembered = Remembered(path, later=later)
    remembered.set("split", 0.4)
    remembered.set("split", 0.5)
    assert later.delays == [1.0]
    assert not path.exists()
    later.pass_on()
    assert json.loads(path.read_text()) == {"split": 0.5}
    remembered.set("split", 0.6)
    assert later.delays == [1.0, 1.0]


def test_what_is_so_already_is_not_written(path: Path, later: _Later) -> None:
    remembered = Remembered(path, later=later)
    remembered.set("theme", "cloche-dark")
    remembered.flush()
    remembered.set("theme", "cloche-dark")
    assert later.planned == []


async def test_on_an_event_loop_it_is_written_by_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloche_tui.remembered._DELAY_S", 0)
    remembered = Remembered(path)
    remembered.set("theme", "cloche-light")
    await until(path.exists)


@pytest.mark.parametrize(
    ("kept", "default"), [("1", 1), (1, "1"), (1.5, 1), (True, 1), (1, True), (None, "x"), ({}, [1])]
)
def test_a_value_of_another_kind_counts_as_forgotten(path: Path, kept: object, default: int) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"key": kept}))
    assert Remembered(path).get("key", default) == default


def test_a_whole_number_may_stand_for_a_fraction(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text('{"split": 1}')
    split = Remembered(path).get("split", 0.5)
    assert split == 1.0
    assert type(split) is float


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff\xfe", b"", b"[" * 100_000])
def test_a_damaged_file_is_said_once_and_forgotten(path: Path, later: _Later, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    remembered = Remembered(path, later=later)
    assert remembered.problem == f"what was remembered of this hub cannot be read (it is damaged): {path}"
    assert remembered.get("theme", "cloche-dark") == "cloche-dark"
    remembered.set("theme", "cloche-light")
    remembered.flush()
    assert Remembered(path).get("theme", "") == "cloche-light"


def test_two_dashboards_keep_each_other_s_changes(path: Path, later: _Later) -> None:
    first, second = Remembered(path, later=later), Remembered(path, later=later)
    first.set("theme", "cloche-light")
    first.flush()
    second.set("split", 0.7)
    second.flush()
    assert json.loads(path.read_text()) == {"split": 0.7, "theme": "cloche-light"}


def test_only_its_owner_can_read_it(path: Path, later: _Later) -> None:
    remembered = Remembered(path, later=later)
    remembered.set("theme", "cloche-light")
    remembered.flush()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in path.parent.iterdir()] == ["hub.json"], "nothing else is left there"


def test_what_cannot_be_written_is_said_once_and_tried_again(path: Path, later: _Later) -> None:
    said: list[str] = []
    path.parent.parent.mkdir()
    path.parent.write_text("a file where the folder should be")
    remembered = Remembered(path, later=later)
    remembered.tell = said.append
    for split in (0.1, 0.2):
        remembered.set("split", split)
        remembered.flush()
    assert len(said) == 1
    assert said[0].startswith("how the dashboard looks will not be remembered: ")
    path.parent.unlink()
    remembered.set("split", 0.3)
    remembered.flush()
    assert Remembered(path).get("split", 0.0) == 0.3


def test_a_write_that_fails_leaves_what_was_there(
    path: Path, later: _Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered = Remembered(path, later=later)
    remembered.set("split", 0.1)
    remembered.flush()

    def fail(*_args: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cloche_tui.remembered.json.dump", fail)
    remembered.set("split", 0.2)
    remembered.flush()
    assert json.loads(path.read_text()) == {"split": 0.1}
    assert [entry.name for entry in path.parent.iterdir()] == ["hub.json"]


def test_what_is_very_long_is_not_kept(path: Path, later: _Later) -> None:
    remembered = Remembered(path, later=later)
    remembered.set("filter", "x" * 20_000)
    assert remembered.get("filter", "") == ""
    assert later.planned == []


def test_a_list_that_changes_later_is_remembered_as_it_was(path: Path, later: _Later) -> None:
    remembered = Remembered(path, later=later)
    columns = ["name"]
    remembered.set("columns", columns)
    columns.append("state")
    assert remembered.get("columns", ["x"]) == ["name"]
    remembered.set("columns", columns)
    assert remembered.get("columns", ["x"]) == ["name", "state"]


def test_each_hub_has_its_own(tmp_path: Path) -> None:
    environ = {"XDG_STATE_HOME": str(tmp_path)}
    one, other = (open_remembered(address, environ) for address in ("unix:///a", "ws://b:1"))
    one._later = other._later = _Later()
    one.set("theme", "cloche-light")
    one.flush()
    assert open_remembered("unix:///a", environ).get("theme", "") == "cloche-light"
    assert open_remembered("ws://b:1", environ).get("theme", "") == ""
    (file,) = tmp_path.rglob("*.json")
    assert file.parent == tmp_path / "cloche" / "dashboard"


def test_without_a_word_in_the_environment_it_is_below_the_home() -> None:
    assert open_remembered("unix:///a", {"HOME": "/nowhere"})._path.parent == Path(
        "/nowhere/.local/state/cloche/dashboard"
    )
