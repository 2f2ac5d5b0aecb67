"""Where a client and the hub of one user meet: the same answer for both, from environment and user id alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche_wire.rendezvous import Locations, locations


def test_root_keeps_to_the_systems_folders() -> None:
    assert locations({}, uid=0) == Locations(
        home=Path("/var/lib/cloche"), cache=Path("/var/cache/cloche"), runtime=Path("/run/cloche")
    )


def test_a_user_gets_the_xdg_folders() -> None:
    environ = {"XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c", "XDG_RUNTIME_DIR": "/r", "HOME": "/home/u"}
    assert locations(environ, uid=1000) == Locations(
        home=Path("/s/cloche"), cache=Path("/c/cloche"), runtime=Path("/r/cloche")
    )


def test_a_user_without_xdg_variables_gets_their_defaults() -> None:
    assert locations({"HOME": "/home/u"}, uid=1000) == Locations(
        home=Path("/home/u/.local/state/cloche"),
        cache=Path("/home/u/.cache/cloche"),
        runtime=Path("/tmp/cloche-1000"),
    )


def test_a_user_without_a_home_still_gets_an_answer() -> None:
    assert locations({}, uid=1000).home == Path("/.local/state/cloche")


@pytest.mark.parametrize("uid", [0, 1000])
def test_another_home_moves_state_and_socket_and_leaves_the_cache(uid: int) -> None:
    usual, moved = locations({"HOME": "/h"}, uid), locations({"HOME": "/h", "CLOCHE_HOME": "/other"}, uid)
    assert (moved.home, moved.runtime) == (Path("/other"), Path("/other/run"))
    assert moved.cache == usual.cache


@pytest.mark.parametrize("uid", [0, 1000])
def test_another_cache_moves_nothing_else(uid: int) -> None:
    usual, moved = locations({"HOME": "/h"}, uid), locations({"HOME": "/h", "CLOCHE_CACHE": "/big"}, uid)
    assert moved.cache == Path("/big")
    assert (moved.home, moved.runtime) == (usual.home, usual.runtime)


def test_an_empty_variable_counts_as_none() -> None:
    assert locations({"CLOCHE_HOME": "", "CLOCHE_CACHE": ""}, uid=0) == locations({}, uid=0)


def test_relative_paths_are_taken_from_the_current_folder() -> None:
    found = locations({"CLOCHE_HOME": "h", "CLOCHE_CACHE": "c"}, uid=0)
    assert (found.home, found.cache) == (Path.cwd() / "h", Path.cwd() / "c")


def test_a_home_too_deep_for_a_sockets_address_gets_its_socket_elsewhere() -> None:
    deep, other = "/" + "d" * 120, "/" + "e" * 120
    found = locations({"CLOCHE_HOME": deep}, uid=0)
    assert found.runtime.parent == Path("/run/cloche")
    assert len(os.fsencode(found.socket)) <= 107
    # Every home has its own, and always the same.
    assert found == locations({"CLOCHE_HOME": deep}, uid=0)
    assert found.runtime != locations({"CLOCHE_HOME": other}, uid=0).runtime


def test_the_longest_address_that_fits_stays_in_the_home() -> None:
    longest = "/" + "d" * (107 - len("/" + "/run/hub.sock"))
    assert len(os.fsencode(locations({"CLOCHE_HOME": longest}, uid=0).socket)) == 107
    assert locations({"CLOCHE_HOME": longest}, uid=0).runtime == Path(longest) / "run"
    assert locations({"CLOCHE_HOME": longest + "d"}, uid=0).runtime.parent == Path("/run/cloche")


def test_the_files_have_their_names() -> None:
    found = locations({"CLOCHE_HOME": "/h"}, uid=0)
    assert (found.socket, found.admin_token, found.log) == (
        Path("/h/run/hub.sock"),
        Path("/h/admin.token"),
        Path("/h/hub.log"),
    )


def test_without_arguments_it_is_this_process_and_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCHE_HOME", "/mine")
    assert locations() == locations(os.environ, os.geteuid())
    assert locations().home == Path("/mine")
