"""How the dashboard begins: with what a person has set, and what was remembered; what is wrong is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cloche.aio import Hub
from cloche.errors import BadRequest
from cloche_tui.model.roles import Role
from cloche_tui.remembered import open_remembered
from cloche_tui.start import Connector, Start, make_app


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's folders for this test alone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("CLOCHE_HUB", "ws://127.0.0.1:1")
    for name in ("NO_COLOR", "TEXTUAL_DRIVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return tmp_path


async def test_it_begins_with_what_was_asked_for() -> None:
    app = make_app(Start("box/1", "approvals", is_readonly=True, theme="cloche-light", has_bell=False))
    assert (app.options.console, app.options.view, app.options.has_bell) == ("box/1", "approvals", False)
    assert app.is_readonly
    assert app.theme == "cloche-light"


async def test_it_begins_with_the_theme_that_was_remembered_for_this_hub() -> None:
    remembered = open_remembered("ws://127.0.0.1:1")
    remembered._later = lambda _seconds, _action: None  # type: ignore[assignment, return-value]
    remembered.set("theme", "cloche-light")
    remembered.flush()
    assert make_app(Start()).theme == "cloche-light"


@pytest.mark.parametrize(
    ("start", "why"),
    [
        (Start(view="garden"), "there is no view 'garden'"),
        (Start(theme="purple"), "there is no theme 'purple'"),
    ],
)
async def test_what_there_is_not_is_refused_with_what_there_is(start: Start, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        make_app(start)


async def test_what_is_wrong_in_a_person_s_files_is_said_and_the_rest_counts(own_folders: Path) -> None:
    config = own_folders / "config/cloche"
    config.mkdir(parents=True)
    (config / "keymap.toml").write_text('[keys]\napp.quit = "ctrl+q"\nsandbox.create = "no such key"\n')
    (config / "hubs.toml").write_text('[test]\naddress = "ws://*"\ncolour = "red"\n[other]\ncolour = "red"\n')
    app = make_app(Start())
    assert app.keys["app.quit"] == ("ctrl+q",)
    assert app.options.mark.name == "test"
    said = [text for text, role in app._said_first if role is Role.WARNING]
    assert len(said) == 2
    assert "keymap.toml:3" in said[0]
    assert "hubs.toml: other" in said[1]


async def test_this_user_s_own_hub_is_started_once_and_not_again_by_each_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[bool] = []

    def connect(*, start: bool, **_options: Any) -> Any:
        asked.append(start)

    monkeypatch.setattr(Hub, "connect", connect)
    connector = Connector()
    connector(lambda _news: None)
    connector(lambda _news: None)
    assert asked == [True, False]
