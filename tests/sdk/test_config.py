"""Finding the hub that is meant and the token it gets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche.config import DEFAULT_RECONNECT_S, check_runtime, find_address, find_token, reconnect_seconds
from cloche.errors import BadRequest, Forbidden
from cloche_wire.rendezvous import locations


def _env(home: Path, **more: str) -> dict[str, str]:
    return {"CLOCHE_HOME": str(home), **more}


def _write_token(home: Path, text: str = "tok_1\n", mode: int = 0o600) -> Path:
    path = home / "admin.token"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_without_anything_said_it_is_this_user_s_own_hub(tmp_path: Path) -> None:
    address = find_address(environ=_env(tmp_path))
    assert (address.text, address.socket, address.own) == (
        f"unix://{tmp_path}/run/hub.sock",
        tmp_path / "run/hub.sock",
        True,
    )


def test_an_argument_wins_over_the_environment(tmp_path: Path) -> None:
    env = _env(tmp_path, CLOCHE_HUB="ws://elsewhere:1")
    assert find_address("ws://here:2", environ=env).text == "ws://here:2"
    assert find_address(environ=env).text == "ws://elsewhere:1"


def test_the_own_socket_named_in_full_is_still_the_own_hub(tmp_path: Path) -> None:
    assert find_address(f"unix://{tmp_path}/run/hub.sock", environ=_env(tmp_path)).own
    assert not find_address("unix:///elsewhere/hub.sock", environ=_env(tmp_path)).own


def test_a_path_may_hold_what_means_something_in_other_addresses(tmp_path: Path) -> None:
    assert find_address("unix:///a?b#c", environ=_env(tmp_path)).socket == Path("/a?b#c")


@pytest.mark.parametrize(
    "text", ["ws://host", "ws://127.0.0.1:7070", "wss://host:443/path", "ws://[::1]:7070"]
)
def test_websocket_addresses_are_taken_as_they_are(tmp_path: Path, text: str) -> None:
    address = find_address(text, environ=_env(tmp_path))
    assert (address.text, address.socket, address.own) == (text, None, False)


@pytest.mark.parametrize(
    "text",
    [
        "hub.sock",
        "/run/hub.sock",
        "unix://relative",
        "unix:",
        "http://host",
        "ws://",
        "ws://host:port",
        "ws://h:99999",
        "ws://[x",
    ],
)
def test_other_addresses_are_refused_with_the_three_forms(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadRequest, match=r"give unix:///path/to\.sock, ws://host:port or wss://host:port"):
        find_address(text, environ=_env(tmp_path))


def test_the_token_of_the_own_hub_is_read_from_its_home(tmp_path: Path) -> None:
    _write_token(tmp_path)
    env = _env(tmp_path)
    assert find_token(None, find_address(environ=env), environ=env) == "tok_1"


def test_a_token_that_is_said_wins(tmp_path: Path) -> None:
    _write_token(tmp_path)
    env = _env(tmp_path, CLOCHE_TOKEN="tok_env")
    address = find_address(environ=env)
    assert find_token("tok_argument", address, environ=env) == "tok_argument"
    assert find_token(None, address, environ=env) == "tok_env"


def test_no_other_hub_is_ever_given_the_token_of_the_own_one(tmp_path: Path) -> None:
    _write_token(tmp_path)
    env = _env(tmp_path)
    for text in ("ws://127.0.0.1:7070", "unix:///elsewhere/hub.sock"):
        assert find_token(None, find_address(text, environ=env), environ=env) is None


@pytest.mark.parametrize("text", [None, "", "\n"])
def test_no_token_is_no_error(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        _write_token(tmp_path, text)
    env = _env(tmp_path)
    assert find_token(None, find_address(environ=env), environ=env) is None


def test_a_token_others_can_read_is_refused(tmp_path: Path) -> None:
    _write_token(tmp_path, mode=0o640)
    env = _env(tmp_path)
    with pytest.raises(Forbidden, match="not this user's alone"):
        find_token(None, find_address(environ=env), environ=env)


def test_a_token_of_another_user_is_refused(tmp_path: Path) -> None:
    _write_token(tmp_path)
    env = _env(tmp_path)
    somebody = os.geteuid() + 1
    with pytest.raises(Forbidden, match="not this user's alone"):
        find_token(None, find_address(environ=env, uid=somebody), environ=env, uid=somebody)


def test_a_token_behind_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("tok_1")
    (tmp_path / "admin.token").symlink_to(tmp_path / "real")
    env = _env(tmp_path)
    with pytest.raises(Forbidden, match="set CLOCHE_TOKEN"):
        find_token(None, find_address(environ=env), environ=env)


def test_a_pipe_in_the_token_s_place_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "admin.token", 0o600)
    env = _env(tmp_path)
    with pytest.raises(Forbidden, match="not this user's alone"):
        find_token(None, find_address(environ=env), environ=env)


def test_a_runtime_folder_of_another_user_is_not_trusted(tmp_path: Path) -> None:
    places = locations(_env(tmp_path))
    check_runtime(places)
    places.runtime.mkdir()
    check_runtime(places)
    with pytest.raises(Forbidden, match="no hub there is trusted"):
        check_runtime(places, uid=os.geteuid() + 1)


def test_a_link_in_the_runtime_folder_s_place_is_not_trusted(tmp_path: Path) -> None:
    places = locations(_env(tmp_path))
    places.runtime.symlink_to(tmp_path)
    with pytest.raises(Forbidden, match="no hub there is trusted"):
        check_runtime(places)


@pytest.mark.parametrize(("text", "seconds"), [("", DEFAULT_RECONNECT_S), ("0", 0.0), ("2.5", 2.5)])
def test_how_long_a_lost_hub_is_looked_for_can_be_set(text: str, seconds: float) -> None:
    assert reconnect_seconds({"CLOCHE_RECONNECT_S": text}) == seconds


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf"])
def test_a_bound_that_is_no_number_of_seconds_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="CLOCHE_RECONNECT_S"):
        reconnect_seconds({"CLOCHE_RECONNECT_S": text})
