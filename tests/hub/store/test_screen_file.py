"""The file of a console's screen: after a crash at any byte, a disk that is full, and one that fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cloche_hub.errors import NoSpace, StoreFailed
from cloche_hub.ports import Size, StoredScreen
from cloche_hub.store import disk
from cloche_hub.store.screen_file import SCREEN_FILE, ScreenFile, load_screen, remove_screen


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "con_1"


@pytest.fixture
def file(folder: Path) -> Iterator[ScreenFile]:
    with closing(ScreenFile(folder)) as opened:
        yield opened


def _failing(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def _noting(done: list[str], name: str, call: Callable[..., object]) -> Callable[..., object]:
    def noting(*arguments: object) -> object:
        done.append(name)
        return call(*arguments)

    return noting


def test_a_torn_end_is_cut_off_at_every_byte_and_it_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "con_whole"
    with closing(ScreenFile(folder)) as file:
        file.checkpoint(10, b"snapshot")
        begun = (folder / SCREEN_FILE).stat().st_size
        file.append(10, [b"ab", Size(5, 6)])
        acknowledged = (folder / SCREEN_FILE).stat().st_size
        file.append(12, [b"cd"])
    data = (folder / SCREEN_FILE).read_bytes()
    for length in range(begun, len(data)):
        torn = tmp_path / f"con_{length}"
        torn.mkdir()
        (torn / SCREEN_FILE).write_bytes(data[:length])
        stored = load_screen(torn)
        assert stored is not None
        assert stored.snapshot == b"snapshot"
        assert (b"ab", Size(5, 6)) == stored.entries or length < acknowledged
        with closing(ScreenFile(torn)) as file:
            assert file.end == stored.end
            file.append(stored.end, [b"on"])
        assert load_screen(torn) == StoredScreen(10, b"snapshot", (*stored.entries, b"on"))


def test_a_checkpoint_that_is_torn_at_any_byte_leaves_what_was(file: ScreenFile, folder: Path) -> None:
    file.append(0, [b"before"])
    place, before = folder / SCREEN_FILE, (folder / SCREEN_FILE).read_bytes()
    file.checkpoint(6, b"after")
    file.close()
    after = place.read_bytes()
    place.write_bytes(before)
    for length in range(len(after) + 1):
        (folder / f"{SCREEN_FILE}.new").write_bytes(after[:length])
        assert load_screen(folder) == StoredScreen(0, None, (b"before",))
    with closing(ScreenFile(folder)) as again:
        again.checkpoint(6, b"after")
    assert [entry.name for entry in folder.iterdir()] == [SCREEN_FILE]


def test_what_a_full_disk_took_half_of_is_not_kept(
    file: ScreenFile, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.append(0, [b"kept"])
    write = os.write

    def write_half(descriptor: int, data: memoryview) -> int:
        if len(data) < 8:
            raise _failing(errno.ENOSPC)
        return write(descriptor, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_half)
        with pytest.raises(NoSpace):
            file.append(4, [b"lost" * 20])
    assert (load_screen(folder), file.end) == (StoredScreen(0, None, (b"kept",)), 4)
    file.append(4, [b"again"])
    assert load_screen(folder) == StoredScreen(0, None, (b"kept", b"again"))


@pytest.mark.parametrize("name", ["write", "fsync"])
def test_a_checkpoint_that_does_not_fit_leaves_what_was(
    file: ScreenFile, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    file.append(0, [b"kept"])

    def fail(*_arguments: object) -> int:
        raise _failing(errno.ENOSPC)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, fail)
        with pytest.raises(NoSpace):
            file.checkpoint(4, b"snapshot")
    assert [entry.name for entry in folder.iterdir()] == [SCREEN_FILE]
    file.append(4, [b"on"])
    assert load_screen(folder) == StoredScreen(0, None, (b"kept", b"on"))


def test_what_was_not_synced_is_not_kept(
    file: ScreenFile, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_descriptor: int) -> None:
        raise _failing(errno.EIO)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fail)
        with pytest.raises(StoreFailed, match=r"cannot keep the screen in .*con_1: Input/output error"):
            file.append(0, [b"lost"])
    assert load_screen(folder) == StoredScreen(0, None, ())


def test_after_a_checkpoint_of_which_nobody_knows_nothing_is_added(
    file: ScreenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_path: Path) -> None:
        raise _failing(errno.EIO)

    with monkeypatch.context() as patch:
        patch.setattr(disk, "sync_folder", fail)
        with pytest.raises(StoreFailed):
            file.checkpoint(0, b"snapshot")
    with pytest.raises(StoreFailed, match="closed"):
        file.append(0, [b"x"])


def test_everything_is_synced_before_it_is_acknowledged(
    file: ScreenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    watched = [(os, "write"), (os, "fsync"), (os, "fdatasync"), (Path, "rename"), (disk, "sync_folder")]
    for owner, name in watched:
        monkeypatch.setattr(owner, name, _noting(done, name, getattr(owner, name)))
    file.append(0, [b"x"])
    file.checkpoint(1, b"y")
    assert done == ["write", "fdatasync", "write", "fsync", "rename", "sync_folder", "fsync"]


def test_a_file_that_is_none_of_ours_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    (folder / SCREEN_FILE).write_bytes(b"cloche screen 2\n")
    with pytest.raises(StoreFailed, match="no screen of this version's"):
        load_screen(folder)
    with pytest.raises(StoreFailed):
        ScreenFile(folder)
    assert (folder / SCREEN_FILE).read_bytes() == b"cloche screen 2\n"


def test_removing_takes_the_whole_folder_and_may_be_said_twice(file: ScreenFile, folder: Path) -> None:
    file.close()
    (folder / f"{SCREEN_FILE}.new").touch()
    remove_screen(folder)
    remove_screen(folder)
    assert not folder.exists()
