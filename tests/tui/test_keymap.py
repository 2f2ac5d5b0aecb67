"""A person's own keys: what is read, what is refused and how that is said."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from cloche_tui.actions import ACTIONS
from cloche_tui.keymap import BadKey, dump, keymap_path, load_keymap, normal_key, read_keymap

TABLE, CONSOLE = frozenset({"sandboxes"}), frozenset({"console"})
EVERYWHERE = TABLE | CONSOLE


@dataclass(frozen=True)
class _Action:
    id: str
    keys: tuple[str, ...]
    places: frozenset[str] = EVERYWHERE
    title: str = "Do it"

    @property
    def group(self) -> str:
        return self.id.partition(".")[0]


QUIT, NEW = _Action("app.quit", ("q",)), _Action("sandbox.create", ("n",), TABLE)
NEXT, FOLLOW = _Action("console.next", ("n",), CONSOLE), _Action("console.to_end", ("G", "end"), CONSOLE)
REGISTRY = (QUIT, NEW, NEXT, FOLLOW)
DEFAULTS = {action.id: action.keys for action in REGISTRY}


def test_what_is_not_named_keeps_its_keys() -> None:
    keymap = read_keymap('[keys]\nsandbox.create = "c"\n', REGISTRY)
    assert keymap.keys == {**DEFAULTS, "sandbox.create": ("c",)}
    assert keymap.problems == ()


def test_an_action_may_have_several_keys_or_none() -> None:
    keymap = read_keymap('[keys]\napp.quit = ["q", "ctrl+q", "q"]\nsandbox.create = []\n', REGISTRY)
    assert keymap.keys["app.quit"] == ("q", "ctrl+q")
    assert keymap.keys["sandbox.create"] == ()


@pytest.mark.parametrize(
    "text",
    [
        '[keys]\n"app.quit" = "x"',
        '[keys.app]\nquit = "x"',
        'keys.app.quit = "x"',
        'keys = { app.quit = "x" }',
    ],
)
def test_an_action_s_name_may_be_written_in_every_way_toml_has(text: str) -> None:
    assert read_keymap(text, REGISTRY).keys["app.quit"] == ("x",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[keys]\n\nsandbox.crate = "c"', "keymap.toml:3: sandbox.crate: there is no such action; do you mean sandbox.create?"),
        ('[keys]\n"zzz" = "c"', "keymap.toml:2: zzz: there is no such action"),
        ('[keys]\napp.quit = "ctl+q"', "keymap.toml:2: app.quit: there is no key 'ctl+q'; do you mean ctrl?"),
        ('[keys]\napp.quit = ["q", "entr"]', "keymap.toml:2: app.quit: there is no key 'entr'; do you mean enter?"),
        ('[keys]\napp.quit = ""', "keymap.toml:2: app.quit: there is no key ''"),
        ("[keys]\napp.quit = 3", 'keymap.toml:2: app.quit: give a key, such as "n", or several: ["n", "ctrl+n"]'),
        ("[keys.app]\n# mine\nquit = [1]", 'keymap.toml:3: app.quit: give a key, such as "n", or several: ["n", "ctrl+n"]'),
        ('[key]\napp.quit = "x"', "keymap.toml:1: key: nothing is read from here; keys stand under [keys]"),
    ],
)  # fmt: skip
def test_a_line_that_is_wrong_is_named_and_left_out(text: str, problem: str) -> None:
    keymap = read_keymap(text, REGISTRY)
    assert keymap.problems == (problem,)
    assert keymap.keys == DEFAULTS


def test_lines_that_are_right_count_beside_one_that_is_wrong() -> None:
    keymap = read_keymap('[keys]\napp.qit = "x"\nsandbox.create = "c"\n', REGISTRY)
    assert len(keymap.problems) == 1
    assert keymap.keys["sandbox.create"] == ("c",)


@pytest.mark.parametrize("text", ["[keys", 'keys = "x"', "[keys]\na = \n"])
def test_a_file_that_is_no_toml_or_no_table_changes_nothing(text: str) -> None:
    keymap = read_keymap(text, REGISTRY, name="mine.toml")
    assert keymap.keys == DEFAULTS
    (problem,) = keymap.problems
    assert problem.startswith("mine.toml: ")
    assert "\n" not in problem


def test_a_key_cannot_mean_two_things_in_a_place() -> None:
    keymap = read_keymap('[keys]\nsandbox.create = "q"\n', REGISTRY)
    assert keymap.problems == (
        'keymap.toml:2: sandbox.create: "q" is app.quit in sandboxes already; use another key, or give that one another',
    )
    assert keymap.keys == DEFAULTS


def test_the_same_key_may_mean_another_thing_elsewhere() -> None:
    keymap = read_keymap('[keys]\nsandbox.create = "G"\n', REGISTRY)
    assert keymap.problems == ()
    assert keymap.keys["sandbox.create"] == keymap.keys["console.to_end"][:1]


def test_a_key_that_its_action_has_given_away_is_free() -> None:
    keymap = read_keymap('[keys]\nsandbox.create = "q"\napp.quit = "x"\n', REGISTRY)
    assert keymap.problems == ()
    assert (keymap.keys["sandbox.create"], keymap.keys["app.quit"]) == (("q",), ("x",))


def test_of_two_lines_with_one_key_the_first_counts() -> None:
    keymap = read_keymap('[keys]\napp.quit = "x"\nsandbox.create = "x"\n', REGISTRY)
    assert [problem.partition(":")[2][:17] for problem in keymap.problems] == ["3: sandbox.create"]
    assert (keymap.keys["app.quit"], keymap.keys["sandbox.create"]) == (("x",), ("n",))


def test_two_defaults_that_are_at_odds_are_no_fault_of_the_file() -> None:
    actions = (QUIT, _Action("other.quit", ("q",)), NEW)
    keymap = read_keymap('[keys]\nsandbox.create = "c"\n', actions)
    assert keymap.problems == ()
    assert keymap.keys["sandbox.create"] == ("c",)


def test_a_line_that_is_left_out_takes_what_leaned_on_it_with_it() -> None:
    # Giving "q" away fails, so "q" is not free for another.
    keymap = read_keymap('[keys]\napp.quit = "G"\nsandbox.create = "q"\n', REGISTRY)
    assert len(keymap.problems) == 2
    assert keymap.keys == DEFAULTS


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("n", "n"), ("N", "N"), ("shift+n", "N"), ("Shift+N", "N"), ("/", "/"), ("slash", "/"), ("question_mark", "?"),
        ("colon", ":"), ("+", "+"), ("plus", "+"), ("ctrl++", "ctrl++"), (" ", "space"), ("Space", "space"),
        ("Ctrl+D", "ctrl+d"), ("control+alt+x", "alt+ctrl+x"), ("shift+tab", "shift+tab"), ("F11", "f11"),
        ("Esc", "escape"), ("Return", "enter"), ("pgup", "pageup"), ("ctrl+]", "ctrl+]"), ("é", "é"), ("ctrl+ctrl+a", "ctrl+a"),
        ("ctrl+shift+a", "ctrl+shift+a"), ("asterisk", "*"), ("left_square_bracket", "["),
    ],
)  # fmt: skip
def test_a_key_is_known_however_it_is_written(text: str, key: str) -> None:
    assert normal_key(text) == key


@pytest.mark.parametrize("text", ["", "ctrl+", "hyperspace", "hyper+x", "f25", "\x1b"])
def test_what_no_keyboard_has_is_refused(text: str) -> None:
    with pytest.raises(BadKey, match="there is no key"):
        normal_key(text)


@pytest.mark.parametrize("actions", [REGISTRY, ACTIONS])
def test_the_sample_says_every_key_as_it_is(actions: tuple[_Action, ...]) -> None:
    sample = dump(actions)
    assert tomllib.loads(sample) == {"keys": {}}
    # All its comments taken away, it is what it was.
    whole = "\n".join(line.removeprefix("# ") if " = " in line else line for line in sample.splitlines())
    keymap = read_keymap(whole, actions)
    assert keymap.problems == ()
    assert keymap.keys == {action.id: action.keys for action in actions}


def test_the_sample_tells_what_each_action_does() -> None:
    assert '# sandbox.create = "n"  # Do it' in dump(REGISTRY).splitlines()
    assert '# console.to_end = ["G", "end"]  # Do it' in dump(REGISTRY).splitlines()


def test_signs_that_toml_has_a_use_for_can_be_keys() -> None:
    actions = (_Action("app.quit", ('"', "\\", "'", "#", "=")),)
    whole = dump(actions).replace("# app", "app")
    assert read_keymap(whole, actions).keys == {"app.quit": ('"', "\\", "'", "#", "=")}


def test_the_registry_s_keys_are_written_as_keymaps_write_them() -> None:
    assert [key for action in ACTIONS for key in action.keys if normal_key(key) != key] == []


def test_without_a_file_the_defaults_count(tmp_path: Path) -> None:
    keymap = load_keymap(REGISTRY, tmp_path / "keymap.toml")
    assert (keymap.keys, keymap.problems) == (DEFAULTS, ())


def test_a_file_is_read_where_settings_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    keymap_path().parent.mkdir()
    keymap_path().write_text('[keys]\napp.quit = "x"\n')
    assert keymap_path() == tmp_path / "cloche" / "keymap.toml"
    assert load_keymap(REGISTRY).keys["app.quit"] == ("x",)
    assert keymap_path({"HOME": "/nowhere"}) == Path("/nowhere/.config/cloche/keymap.toml")


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "keymap.toml"
    path.mkdir()
    keymap = load_keymap(REGISTRY, path)
    assert (keymap.keys, keymap.problems) == (DEFAULTS, (f"{path} cannot be read: Is a directory",))
    path.rmdir()
    path.write_bytes(b"\xff")
    assert load_keymap(REGISTRY, path).problems == (f"{path} is no UTF-8",)


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 30_000, "a = " + "1" * 5000, "[keys]\na" + ".a" * 2000 + ' = "x"'],
    ids=["lists", "number", "tables"],
)
def test_a_text_that_no_person_writes_is_left_out_in_a_line(text: str) -> None:
    keymap = read_keymap(text, REGISTRY)
    assert (keymap.keys, len(keymap.problems)) == (DEFAULTS, 1)
