"""The hub's policy from Python."""

from __future__ import annotations

import pytest

from cloche.aio import Hub
from cloche.errors import BadRequest
from tests.sdk.test_policy_messages import SHOWN
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import answer, refuse


async def test_what_is_in_force_is_shown(hub: LocalHub, client: Hub) -> None:
    hub.handlers["policy.show"] = answer(SHOWN)
    assert (await client.policy.show()).text == SHOWN["text"]
    assert hub.asked == [("policy.show", {})]


async def test_a_text_alone_is_checked_without_a_call(hub: LocalHub, client: Hub) -> None:
    hub.handlers["policy.check"] = answer({"rules": 0, "problems": ["rule 1: name: is missing"]})
    assert (await client.policy.check("[[rule]]")).problems == ("rule 1: name: is missing",)
    assert hub.asked == [("policy.check", {"text": "[[rule]]"})]


async def test_a_call_is_asked_about_with_its_parameters_as_json(hub: LocalHub, client: Hub) -> None:
    hub.handlers["policy.check"] = answer({"rules": 0, "problems": [], "verdict": "deny", "rule": "default"})
    checked = await client.policy.check("", method="pay", params={"é": [1, None]}, labels={"team": "ml"})
    assert (checked.verdict, checked.rule) == ("deny", "default")
    await client.policy.check("", method="pay", owner="alice")
    assert [params["call"] for _, params in hub.asked] == [
        {"method": "pay", "params": '{"é": [1, null]}', "owner": None, "labels": {"team": "ml"}},
        {"method": "pay", "params": "null", "owner": "alice", "labels": {}},
    ]


@pytest.mark.parametrize("params", [{1, 2}, float("nan"), b"bytes"])
async def test_parameters_json_has_not_are_refused_here(hub: LocalHub, client: Hub, params: object) -> None:
    with pytest.raises(BadRequest, match="params must be something JSON has"):
        await client.policy.check("", method="pay", params=params)
    assert hub.asked == []


async def test_a_reload_says_what_is_in_force_or_why_it_is_not(hub: LocalHub, client: Hub) -> None:
    hub.handlers["policy.reload"] = answer(SHOWN)
    assert (await client.policy.reload()).digest == SHOWN["digest"]
    hub.handlers["policy.reload"] = refuse(BadRequest("policy.toml: unknown key 'rul'"))
    with pytest.raises(BadRequest, match="unknown key 'rul'"):
        await client.policy.reload()
