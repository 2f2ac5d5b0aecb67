"""A sandbox's secrets, and how what the hub keeps is rid of them."""

from __future__ import annotations

from cloche_hub.domain.audit import Json
from cloche_hub.domain.masking import NO_SECRETS, Secrets


def test_a_text_keeps_its_length_and_loses_its_secrets() -> None:
    secrets = Secrets({"TOKEN": "hunter2", "PIN": "4711"})
    assert secrets.mask("a hunter2, 4711 and hunter") == "a *******, **** and hunter"


def test_a_secret_within_another_one_leaves_nothing_of_either() -> None:
    assert Secrets({"A": "hunt", "B": "xhunterx"}).mask("xhunterx hunts") == "******** ****s"


def test_an_asterisk_stands_for_each_byte() -> None:
    assert Secrets({"A": "käse"}).mask("käse!") == "*****!"


def test_a_secret_of_several_lines_is_hidden_as_a_terminal_shows_it_too() -> None:
    secrets = Secrets({"KEY": "one\ntwo\n"})
    assert secrets.hidden == (b"one\r\ntwo\r\n", b"one\ntwo\n", b"one\r\ntwo", b"one\ntwo")
    assert secrets.mask("> one\r\ntwo\r\n<") == "> " + "*" * 10 + "<"


def test_what_is_left_of_a_secret_without_white_space_is_hidden_unless_it_is_too_short() -> None:
    assert Secrets({"A": "hunter2\n"}).mask("hunter2") == "*******"
    assert Secrets({"A": "abc\n\n"}).mask("abc") == "abc"


def test_every_text_of_a_value_is_masked() -> None:
    secrets = Secrets({"A": "hunter2"})
    detail: Json = {
        "argv": ["echo", "=hunter2"],
        "n": 1,
        "is_done": True,
        "cwd": None,
        "env": {"B": "hunter2"},
    }
    masked = {"argv": ["echo", "=*******"], "n": 1, "is_done": True, "cwd": None, "env": {"B": "*******"}}
    assert secrets.mask_json(detail) == masked
    assert NO_SECRETS.mask_json(detail) is detail


def test_secrets_do_not_show_in_a_log() -> None:
    assert "hunter2" not in repr(Secrets({"A": "hunter2"}))
