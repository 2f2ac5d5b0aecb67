"""Requests about the policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.domain.policy_text import BUILT_IN
from cloche_hub.domain.tokens import Scope
from cloche_hub.errors import BadRequest, Forbidden, TooLarge
from tests.support.hub import running_hub

TEXT = """
[[rule]]
name = "small payments"
methods = ["pay.*"]
owners = ["alice"]
labels = { team = "ml*" }
params = [{ at = "amount", at_most = 100 }]
verdict = "ask"
deadline = "2m"
reason = "somebody should see it"

[[rule]]
name = "reading"
methods = ["read"]
verdict = "allow"
"""
CALL: dict[str, Any] = {
    "method": "pay.send",
    "params": '{"amount": 5}',
    "owner": "alice",
    "labels": {"team": "ml-infra"},
}


async def test_the_policy_in_force_is_shown(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        shown = await client.call("policy.show")
        assert (shown["source"], shown["text"], shown["rules"], shown["error"]) == (
            "built-in",
            BUILT_IN,
            0,
            None,
        )
        (event,) = await hub.events(AuditName.POLICY_LOADED)
        assert (event.actor, event.detail["digest"]) == ("hub", shown["digest"])
        assert shown["loaded_at"].endswith("Z")


async def test_a_policy_in_the_home_is_read_at_the_start_and_when_told(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "policy.toml").write_text(TEXT)
    async with running_hub(home) as hub, hub.client() as client:
        shown = await client.call("policy.show")
        assert (shown["source"], shown["text"], shown["rules"]) == (f"{home}/policy.toml", TEXT, 2)
        (home / "policy.toml").write_text("rul = 3")
        with pytest.raises(BadRequest, match=r"home/policy\.toml: unknown key 'rul'; did you mean 'rule'"):
            await client.call("policy.reload")
        wrong = await client.call("policy.show")
        assert (wrong["text"], wrong["error"]) == (
            TEXT,
            f"{home}/policy.toml: unknown key 'rul'; did you mean 'rule'?",
        )
        (home / "policy.toml").write_text("")
        shown = await client.call("policy.reload")
        assert (shown["text"], shown["rules"], shown["error"]) == ("", 0, None)
        assert shown == await client.call("policy.show")
        events = await hub.events(AuditName.POLICY_LOADED, AuditName.POLICY_REFUSED)
        assert [event.event for event in events] == ["policy.loaded", "policy.refused", "policy.loaded"]
        assert [event.actor == "hub" for event in events] == [True, False, False]


async def test_a_policy_elsewhere_is_named_by_a_setting_and_must_be_there(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home", policy=str(tmp_path / "p.toml")) as hub, hub.client() as client:
        assert (await client.call("policy.show"))["error"] == f"{tmp_path}/p.toml: there is no such file"
        (tmp_path / "p.toml").write_text(TEXT)
        assert (await client.call("policy.reload"))["rules"] == 2


async def test_a_text_is_checked_and_changes_nothing(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        assert await client.call("policy.check", text=TEXT) == {"rules": 2, "problems": []}
        wrong = await client.call("policy.check", text=TEXT + "verdct = 1\n[[rule]]\n", call=CALL)
        assert wrong == {
            "rules": 0,
            "problems": [
                "rule 2 'reading': unknown key 'verdct'; did you mean 'verdict'?",
                "rule 3: name: is missing",
                "rule 3: verdict: is missing",
                "rule 3: methods: is missing",
            ],
        }
        assert (await client.call("policy.show"))["source"] == "built-in"
        assert len(await hub.events(AuditName.POLICY_LOADED, AuditName.POLICY_REFUSED)) == 1


async def test_a_call_is_decided_by_the_text(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:

        async def said(**changes: Any) -> dict[str, Any]:
            answer = await client.call("policy.check", text=TEXT, call={**CALL, **changes})
            return {key: value for key, value in answer.items() if key not in ("rules", "problems")}

        assert await said() == {
            "verdict": "ask",
            "rule": "small payments",
            "reason": "somebody should see it",
            "deadline_s": 120.0,
            "on_deadline": "deny",
        }
        assert await said(method="read") == {"verdict": "allow", "rule": "reading", "reason": ""}
        unmatched = {"verdict": "deny", "rule": "default", "reason": "no rule matches 'pay.send'"}
        changes: list[dict[str, Any]] = [{"params": "{}"}, {"params": None}, {"owner": "bob"}, {"labels": {}}]
        for change in changes:
            assert await said(**change) == unmatched


async def test_a_call_that_says_no_owner_is_the_askers(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        token = await hub.mint("alice", Scope.OPERATOR)
        call = {key: value for key, value in CALL.items() if key != "owner"}
        async with hub.client(token) as client:
            assert (await client.call("policy.check", text=TEXT, call=call))["rule"] == "small payments"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "text is missing"),
        ({"text": 3}, "text must be a text"),
        ({"text": "", "call": 3}, "the parameters must be a map"),
        ({"text": "", "call": {}}, "method is missing"),
        ({"text": "wrong", "call": {"method": "a", "params": "{"}}, "params must be good JSON"),
        ({"text": "", "call": {"method": "a", "params": {}}}, "params must be a text"),
        ({"text": "", "call": {"method": "a", "labels": {"A": "b"}}}, "labels has a key 'A'"),
        ({"text": "", "call": {"method": "a", "sandbox": "b"}}, "unknown field 'sandbox'"),
    ],
)
async def test_a_wrong_question_is_refused_by_name(
    tmp_path: Path, params: dict[str, Any], words: str
) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        with pytest.raises(BadRequest, match=words):
            await client.call("policy.check", **params)


async def test_parameters_over_the_limit_are_too_large(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub, hub.client() as client:
        with pytest.raises(TooLarge, match="params is 131075 bytes"):
            await client.call("policy.check", text="", call={"method": "a", "params": f'"{"a" * 131073}"'})


async def test_operators_look_and_only_admins_reload(tmp_path: Path) -> None:
    async with running_hub(tmp_path / "home") as hub:
        async with hub.client(await hub.mint("ops", Scope.OPERATOR)) as operator:
            await operator.call("policy.show")
            with pytest.raises(Forbidden, match=r"does not allow policy\.reload: it takes scope admin"):
                await operator.call("policy.reload")
        async with hub.client(await hub.mint("alice")) as owner:
            with pytest.raises(Forbidden, match="it takes scope admin or operator"):
                await owner.call("policy.check", text="")
