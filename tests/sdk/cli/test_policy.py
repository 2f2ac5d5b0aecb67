"""`cloche policy show | check | reload`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cloche.errors import BadRequest
from tests.sdk.cli.conftest import Cloche
from tests.sdk.test_policy_messages import SHOWN
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import answer, refuse

CHECKED: dict[str, Any] = {"rules": 1, "problems": []}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "policy.toml"
    path.write_text("# é\n")
    return str(path)


async def test_show_says_where_it_is_from_and_what_it_says(cloche: Cloche, hub: LocalHub) -> None:
    hub.handlers["policy.show"] = answer({**SHOWN, "text": "# \033[2J\ndefault = 'ask'\n"})
    assert (await cloche("policy", "show")).out.splitlines() == [
        "source  /var/lib/cloche/policy.toml",
        "rules   0",
        "loaded  2026-01-02T03:04:05.678901Z",
        f"sha256  {'ab' * 32}",
        "",
        "# \\x1b[2J",
        "default = 'ask'",
    ]


async def test_show_says_that_the_file_is_wrong_by_now(cloche: Cloche, hub: LocalHub) -> None:
    hub.handlers["policy.show"] = answer({**SHOWN, "text": "", "error": "p.toml: unknown key\n'x'"})
    assert (await cloche("policy", "show")).out.splitlines()[-1] == "error   p.toml: unknown key\\n'x'"


@pytest.mark.parametrize("text", ["", "default = 'deny'", "[[rule]]\nname = 'a'\nverdict = 'deny'"])
async def test_show_says_first_that_everything_is_denied(cloche: Cloche, hub: LocalHub, text: str) -> None:
    hub.handlers["policy.show"] = answer({**SHOWN, "text": text})
    assert (await cloche("policy", "show")).out.startswith("everything is denied\n\nsource ")


@pytest.mark.parametrize("text", ["default = 'ask'", "[[rule]]\nverdict = 'allow'", "rule = 1", "="])
async def test_show_does_not_say_so_where_something_may_pass(
    cloche: Cloche, hub: LocalHub, text: str
) -> None:
    hub.handlers["policy.show"] = answer({**SHOWN, "text": text})
    assert (await cloche("policy", "show")).out.startswith("source ")


async def test_show_in_json_has_every_field(cloche: Cloche, hub: LocalHub) -> None:
    hub.handlers["policy.show"] = answer(SHOWN)
    assert json.loads((await cloche("policy", "show", "--json")).out) == SHOWN


async def test_check_of_a_good_file_says_so(cloche: Cloche, hub: LocalHub, file: str) -> None:
    hub.handlers["policy.check"] = answer(CHECKED)
    assert await cloche("policy", "check", file) == (0, "1 rule, no problems\n", "")
    assert hub.asked == [("policy.check", {"text": "# é\n"})]


async def test_check_tells_all_problems_and_fails(cloche: Cloche, hub: LocalHub, file: str) -> None:
    problems = ["rule 1: name: is missing", "rule 2 'a': unknown key 'x\033'"]
    hub.handlers["policy.check"] = answer({"rules": 0, "problems": problems})
    ran = await cloche("policy", "check", file)
    assert (ran.status, ran.out) == (125, "")
    assert ran.err.splitlines() == [
        f"cloche: the policy {file} cannot be used:",
        "  rule 1: name: is missing",
        "  rule 2 'a': unknown key 'x\\x1b'",
    ]
    ran = await cloche("policy", "check", file, "--json")
    assert (ran.status, json.loads(ran.out)["problems"]) == (125, problems)


async def test_check_asks_about_a_call_and_names_the_rule(cloche: Cloche, hub: LocalHub, file: str) -> None:
    ask = {
        "verdict": "ask",
        "rule": "small payments",
        "reason": "see",
        "deadline_s": 90,
        "on_deadline": "deny",
    }
    hub.handlers["policy.check"] = answer({**CHECKED, "rules": 2, **ask})
    ran = await cloche(
        *("policy", "check", file, "--method", "pay", "--params", '{"amount": 5}'),
        *("--owner", "alice", "--label", "team=ml", "-l", "tier=1"),
    )
    assert ran.out.splitlines() == [
        "2 rules, no problems",
        "ask by rule 'small payments': see",
        "unless somebody decides within 90 s: deny",
    ]
    call = {
        "method": "pay",
        "params": '{"amount": 5}',
        "owner": "alice",
        "labels": {"team": "ml", "tier": "1"},
    }
    assert hub.asked == [("policy.check", {"text": "# é\n", "call": call})]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (
            {"verdict": "deny", "rule": "default", "reason": "no rule matches"},
            "deny by default: no rule matches",
        ),
        ({"verdict": "allow", "rule": "r\n", "reason": ""}, "allow by rule 'r\\n'"),
    ],
)
async def test_check_says_what_decides(
    cloche: Cloche, hub: LocalHub, file: str, said: dict[str, Any], line: str
) -> None:
    hub.handlers["policy.check"] = answer({**CHECKED, **said})
    ran = await cloche("policy", "check", file, "-m", "pay")
    assert ran.out.splitlines()[1:] == [line]
    ran = await cloche("policy", "check", file, "-m", "pay", "--json")
    assert json.loads(ran.out) == {**CHECKED, "deadline_s": None, "on_deadline": None, **said}


async def test_check_reads_standard_input(program: Cloche, hub: LocalHub) -> None:
    hub.handlers["policy.check"] = answer(CHECKED)
    assert (await program("policy", "check", "-", stdin="# ü".encode())).out == "1 rule, no problems\n"
    assert hub.asked == [("policy.check", {"text": "# ü"})]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--params", "{}"], "give it, too"),
        (["--owner", "alice"], "give it, too"),
        (["-l", "a=b"], "give it, too"),
        (["-m", "pay", "--params", "{"], "that is no good JSON"),
        (["-m", "pay", "--params", "[" * 100_000], "that is no good JSON"),
        (["-m", "pay", "-l", "team"], "is no label"),
    ],
)
async def test_check_used_wrongly_asks_nobody(
    cloche: Cloche, hub: LocalHub, file: str, options: list[str], words: str
) -> None:
    ran = await cloche("policy", "check", file, *options)
    assert ran.status == 2
    assert words in ran.err
    assert hub.asked == []


async def test_check_of_what_cannot_be_read_says_why(cloche: Cloche, hub: LocalHub, tmp_path: Path) -> None:
    ran = await cloche("policy", "check", str(tmp_path / "none.toml"))
    assert ran == (125, "", f"cloche: cannot use {tmp_path}/none.toml: No such file or directory\n")
    (tmp_path / "bytes").write_bytes(b"\xff")
    ran = await cloche("policy", "check", str(tmp_path / "bytes"))
    assert ran == (125, "", f"cloche: {tmp_path}/bytes is no text in UTF-8\n")


async def test_reload_says_what_is_in_force(cloche: Cloche, hub: LocalHub) -> None:
    hub.handlers["policy.reload"] = answer({**SHOWN, "rules": 1})
    ran = await cloche("policy", "reload")
    assert ran.out == f"in force: 1 rule from /var/lib/cloche/policy.toml, sha256 {'ab' * 32}\n"
    assert json.loads((await cloche("policy", "reload", "--json")).out)["rules"] == 1


async def test_reload_of_a_wrong_file_is_one_line(cloche: Cloche, hub: LocalHub) -> None:
    hub.handlers["policy.reload"] = refuse(BadRequest("/p.toml: rule 1 'a': verdict: is missing"))
    assert await cloche("policy", "reload") == (
        125,
        "",
        "cloche: the old policy stays in force: /p.toml: rule 1 'a': verdict: is missing\n",
    )
