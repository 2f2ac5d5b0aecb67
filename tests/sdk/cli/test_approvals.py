"""`cloche approvals ls | show | approve | deny | watch`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from cloche.cli import session
from tests.sdk.cli.conftest import Cloche, start
from tests.support.local_hub import LocalHub

THEN = "2026-01-02T03:04:05.678901Z"
AMOUNT = {"amount": 30, "to": "alice"}


def _words(line: str) -> list[str]:
    return re.split(r"  +", line)


async def test_ls_has_what_waits(cloche: Cloche, hub: LocalHub) -> None:
    hub.approvals.ask("pay.send", AMOUNT)
    hub.approvals.ask("mail.send", {"text": "\x1b[2J" + "x" * 100}, sandbox_name="other")
    hub.approvals.ask("old", state="denied", decided_at=THEN, decided_by="tok_1")
    headings, mail, pay = (await cloche("approvals", "ls")).out.splitlines()
    assert _words(headings) == ["ID", "STATE", "SANDBOX", "METHOD", "PARAMS", "ASKED", "DECISION"]
    assert _words(pay)[:5] == ["apr_0001", "pending", "box", "pay.send", '{"amount": 30, "to": "alice"}']
    assert re.fullmatch(r"in \d+ d( \d+ h)?: deny", _words(pay)[6])
    assert _words(mail)[4] == '{"text": "\\u001b[2J' + "x" * 100 + '"}'
    assert hub.asked == [("approval.list", {"states": ["pending"], "limit": 50})]


async def test_ls_says_whose_they_are_where_there_are_several_and_what_is_left_out(
    cloche: Cloche, hub: LocalHub
) -> None:
    hub.approvals.ask("pay.send", owner="bob")
    hub.approvals.ask("pay.send")
    hub.approvals.omitted = 12
    ran = await cloche("approvals", "ls")
    headings, alices, bobs = map(_words, ran.out.splitlines())
    assert headings[:4] == ["ID", "STATE", "OWNER", "SANDBOX"]
    assert (alices[2:4], bobs[2:4]) == (["alice", "box"], ["bob", "box"])
    assert "… 12 more; narrow with --sandbox" in ran.err


async def test_ls_has_what_is_decided_for_who_wants_it(cloche: Cloche, hub: LocalHub) -> None:
    hub.approvals.ask("old", state="denied", decided_at=THEN, decided_by="tok_1")
    (row,) = (await cloche("approvals", "ls", "--all", "--sandbox", "box")).out.splitlines()[1:]
    assert row.endswith("ago by tok_1")
    assert hub.asked[-1][1]["sandbox"] == "box"
    assert len((await cloche("approvals", "ls", "--state", "expired")).out.splitlines()) == 1
    (one,) = json.loads((await cloche("approvals", "ls", "--state", "denied", "-n", "1", "--json")).out)
    assert (one["method"], one["params"], one["decided_at"]) == ("old", None, THEN)
    ran = await cloche("approvals", "ls", "--state", "nonsense")
    assert (ran.status, "give one of: pending, approved" in ran.err) == (2, True)


async def test_show_has_all_of_one_that_waits(cloche: Cloche, hub: LocalHub) -> None:
    hub.approvals.ask("pay.send", {"to": "a\x1b[2J\u202e"}, rule="by\nhand", reason="by us\n")
    lines = (await cloche("approvals", "show", "apr_")).out.splitlines()
    assert [line for line in lines if not line.startswith(("asked", "deadline"))] == [
        "id        apr_0001",
        "state     pending",
        "sandbox   box (sb_0001)",
        "owner     alice",
        "labels    team=ml",
        "method    pay.send",
        "caller    python3 (pid 7, uid 1000), as the guest says",
        "rule      by\\nhand",
        "reason    by us\\n",
        "",
        "{",
        '  "to": "a\\u001b[2J\\u202e"',
        "}",
        "",
        "cloche approvals approve apr_0001",
        "cloche approvals deny apr_0001 --reason TEXT",
    ]
    assert any(re.fullmatch(r"deadline  in \d+ d( \d+ h)?, then deny", line) for line in lines)


async def test_show_has_what_became_of_it_and_what_was_changed(cloche: Cloche, hub: LocalHub) -> None:
    hub.approvals.ask(
        params=AMOUNT, state="edited", decided_at=THEN, decided_by="tok_1", labels={}, caller={},
        approved_params='{"amount":20}', diff=["--- asked", "+++ approved", '-  "amount\x1b": 30', "+x"],
    )  # fmt: skip
    lines = (await cloche("approvals", "show", "apr_0001")).out.splitlines()
    assert [lines[4], lines[6], lines[-11]] == ["labels   -", "caller   -", "reason   -"]
    assert lines[-4:] == ["--- asked", "+++ approved", '-  "amount\\x1b": 30', "+x"]
    shown = json.loads((await cloche("approvals", "show", "apr_0001", "--json")).out)
    assert (shown["params"], shown["approved_params"]) == (AMOUNT, {"amount": 20})


@pytest.mark.parametrize(("outcome", "told"), [("refused", "refused"), ("let_through", "let through")])
async def test_what_expired_says_what_it_came_to_and_who_decided_has_a_name(
    cloche: Cloche, hub: LocalHub, outcome: str, told: str
) -> None:
    hub.approvals.ask(
        "a", state="expired", outcome=outcome, decided_at=THEN, decided_by="hub", rule_reason="see"
    )
    hub.approvals.ask(
        "b", state="denied", decided_at=THEN, decided_by="tok_1", decided_by_name="op", reason="no"
    )
    named, expired = (await cloche("approvals", "ls", "--all")).out.splitlines()[1:]
    assert named.endswith(" ago by op (tok_1)")
    assert _words(expired)[1] == f"expired, {told}"
    shown = (await cloche("approvals", "show", "apr_0001")).out.splitlines()
    assert (shown[1], shown[7]) == (f"state    expired, {told}", "rule     by hand: see")
    assert "reason   -" in shown


async def test_show_of_none_says_so(cloche: Cloche, hub: LocalHub) -> None:
    assert await cloche("approvals", "show", "apr_1") == (125, "", "cloche: no approval 'apr_1'\n")


async def test_approve_lets_it_pass_and_who_comes_second_learns_it(cloche: Cloche, hub: LocalHub) -> None:
    hub.approvals.ask("pay.send", AMOUNT)
    ran = await cloche("approvals", "approve", "apr_0001")
    assert ran == (0, "apr_0001  approved by tok_me  pay.send of box\n", "")
    ran = await cloche("approvals", "deny", "apr_0001", "--reason", "late")
    assert ran == (125, "", "cloche: approval apr_0001 is approved already by tok_other\n")


@pytest.mark.parametrize("form", ["text", "file", "stdin"])
async def test_approve_with_other_parameters_shows_what_changed(
    program: Cloche, hub: LocalHub, tmp_path: Path, form: str
) -> None:
    hub.approvals.ask("pay.send", AMOUNT)
    text = '{"amount": 20}'
    (tmp_path / "params.json").write_text(text)
    option = {"text": text, "file": f"@{tmp_path}/params.json", "stdin": "-"}[form]
    ran = await program("approvals", "approve", "apr_0001", "--params", option, stdin=text.encode())
    assert ran.out.splitlines() == [
        "apr_0001  edited by tok_me  pay.send of box",
        "--- asked",
        "+++ approved",
        '-{"amount": 30, "to": "alice"}',
        '+{"amount": 20}',
    ]
    assert hub.asked == [("approval.approve", {"approval": "apr_0001", "params": text})]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--params", "{"], "that is no good JSON"),
        (["--params", '{"a":1,"a":2}'], "a member comes twice"),
        (["--params", "null"], "null stands for the parameters that were asked"),
        (["--params", "{}", "--edit"], "not both"),
    ],
)
async def test_approve_used_wrongly_decides_nothing(
    cloche: Cloche, hub: LocalHub, options: list[str], words: str
) -> None:
    ran = await cloche("approvals", "approve", "apr_0001", *options)
    assert (ran.status, words in ran.err) == (2, True)
    assert hub.asked == []


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Somebody is in front of the editor."""
    monkeypatch.setattr(os, "isatty", lambda _number: True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("VISUAL", raising=False)


async def test_approve_lets_the_parameters_be_edited(
    cloche: Cloche, hub: LocalHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, terminal: None
) -> None:
    hub.approvals.ask("pay.send", AMOUNT)
    monkeypatch.setenv("EDITOR", "sed -i s/30/20/")
    ran = await cloche("approvals", "approve", "apr_0001", "--edit", "--json")
    edited = json.loads(ran.out)
    assert (edited["state"], edited["approved_params"]) == ("edited", {**AMOUNT, "amount": 20})
    assert list(tmp_path.glob("*.json")) == []


async def test_what_is_left_as_it_was_in_the_editor_is_not_approved(
    cloche: Cloche, hub: LocalHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, terminal: None
) -> None:
    hub.approvals.ask("pay.send", AMOUNT)
    monkeypatch.setenv("EDITOR", "true")
    ran = await cloche("approvals", "approve", "apr_0001", "--edit")
    assert ran.status == 125
    assert ran.err.endswith(
        "nothing is decided; to let it pass as it is: cloche approvals approve apr_0001\n"
    )
    assert list(tmp_path.glob("*.json")) == []


async def test_what_is_no_json_after_the_editor_is_kept(
    cloche: Cloche, hub: LocalHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, terminal: None
) -> None:
    hub.approvals.ask("pay.send", AMOUNT)
    monkeypatch.setenv("EDITOR", "sed -i s/30/20,/")
    ran = await cloche("approvals", "approve", "apr_0001", "--edit")
    (kept,) = tmp_path.glob("*.json")
    command = f"cloche approvals approve apr_0001 --params @{kept}"
    assert ran.err.endswith(f"nothing is decided, and your text is in {kept}; once it is good: {command}\n")
    assert hub.approvals.asked[0]["state"] == "pending"


async def test_who_wants_to_edits_again_what_is_no_json(
    cloche: Cloche, hub: LocalHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, terminal: None
) -> None:
    questions: list[str] = []

    async def confirm(question: str, *, default: bool) -> bool:
        questions.append(question)
        return default

    monkeypatch.setattr("cloche.cli.asking.confirm", confirm)
    hub.approvals.ask("pay.send", AMOUNT)
    monkeypatch.setenv("EDITOR", "sed -i -e s/20,,/20,/ -e s/30/20,/")
    ran = await cloche("approvals", "approve", "apr_0001", "--edit")
    assert ran.status == 0
    assert [question.partition(":")[0] for question in questions] == ["that is no good JSON"]
    assert questions[0].endswith("; edit again")
    assert list(tmp_path.glob("*.json")) == []


async def test_deny_needs_a_reason(cloche: Cloche, hub: LocalHub) -> None:
    hub.approvals.ask("pay.send", AMOUNT)
    assert (await cloche("approvals", "deny", "apr_0001")).status == 2
    ran = await cloche("approvals", "deny", "apr_0001", "--reason", "too much\x1b")
    assert ran.out == "apr_0001  denied by tok_me  pay.send of box: too much\\x1b\n"
    hub.approvals.ask("pay.send", AMOUNT)
    ran = await cloche("approvals", "deny", "apr_0002", "-r", "no", "--json")
    assert json.loads(ran.out)["reason"] == "no"


async def test_watch_tells_what_waits_how_to_decide_it_and_what_became_of_it(hub: LocalHub) -> None:
    first = hub.approvals.ask("pay.send", {"to": "\x1b[2J"}, reason="see")
    process = await start("approvals", "watch")
    assert process.stdout is not None
    async with asyncio.timeout(30):
        lines = [(await process.stdout.readline()).decode().rstrip() for _ in range(4)]
        assert re.fullmatch(
            r"apr_0001  pay\.send of box \(alice\), rule 'by hand': see, in \d+ d( \d+ h)?: deny", lines[0]
        )
        assert lines[1:] == [
            '  {"to": "\\u001b[2J"}',
            "  cloche approvals approve apr_0001",
            "  cloche approvals deny apr_0001 --reason TEXT",
        ]
        await hub.approvals.change(first, state="abandoned", decided_by="hub", reason="its caller gave up")
        line = (await process.stdout.readline()).decode()
        assert line == "apr_0001  abandoned by hub  pay.send of box: its caller gave up\n"
        process.send_signal(signal.SIGINT)
        rest, err = await process.communicate()
    assert (process.returncode, rest, err) == (130, b"", b"")


async def test_watch_ends_quietly_when_nobody_reads(hub: LocalHub) -> None:
    hub.approvals.ask("a")
    reader, writer = os.pipe()
    process = await start("approvals", "watch", "--json", "--sandbox", "box", stdout=writer)
    os.close(writer)
    async with asyncio.timeout(30):
        piece = await asyncio.to_thread(os.read, reader, 1 << 16)
        assert json.loads(piece)["method"] == "a"
        os.close(reader)
        await hub.approvals.change(hub.approvals.ask("b"))
        _, err = await process.communicate()
    assert (process.returncode, err) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize(("count", "line"), [(1, "1 approval is"), (2, "2 approvals are")])
async def test_every_other_command_says_at_a_terminal_that_something_waits(
    cloche: Cloche, hub: LocalHub, monkeypatch: pytest.MonkeyPatch, count: int, line: str
) -> None:
    monkeypatch.setattr(session, "is_at_terminal", lambda: True)
    hub.info["waiting"] = count
    told = f"cloche: {line} waiting; see: cloche approvals ls\n"
    assert (await cloche("hub", "status", "--json")).err == told
    failed = await cloche("show", "none")
    assert failed.err.startswith(told), "and then why it failed"
    assert (await cloche("approvals", "ls")).err == ""


@pytest.mark.parametrize("words", [("ls",), ("show", "box"), ("exec", "box", "--", "true"), ("run", "true")])
async def test_a_script_s_errors_are_its_own(cloche: Cloche, hub: LocalHub, words: tuple[str, ...]) -> None:
    hub.info["waiting"] = 1
    await cloche("create", "--name", "box")
    ran = await cloche(*words)
    assert (ran.status, "waiting" in ran.err) == (0, False)


async def test_ids_are_offered(hub: LocalHub) -> None:
    from cloche.cli.complete import complete_approvals

    hub.approvals.ask("pay.send")
    offered: Any = await asyncio.to_thread(complete_approvals, "apr")
    assert offered == [("apr_0001", "pay.send of box")]
