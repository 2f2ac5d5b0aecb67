"""`cloche token create | ls | revoke`."""

from __future__ import annotations

import json

from cloche.errors import BadRequest, WrongState
from tests.sdk.cli.conftest import Cloche
from tests.sdk.test_token_messages import TOLD
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import answer, refuse

TEXT = "clt_7k2m9qx4tn0c_secret"


async def test_create_writes_the_text_alone_and_says_in_passing_what_it_is(
    cloche: Cloche, hub: LocalHub
) -> None:
    hub.handlers["token.create"] = answer({"token": TOLD, "text": TEXT})
    ran = await cloche("token", "create", "laptop", "--owner", "ann", "--scope", "operator")
    assert (ran.status, ran.out) == (0, f"{TEXT}\n")
    assert "laptop (tok_7k2m9qx4tn0c) of ann, scope owner" in ran.err
    assert "CLOCHE_TOKEN" in ran.err
    assert "secret" not in ran.err
    assert hub.asked == [("token.create", {"name": "laptop", "owner": "ann", "scope": "operator"})]


async def test_create_in_json_is_the_token_and_its_text(cloche: Cloche, hub: LocalHub) -> None:
    hub.handlers["token.create"] = answer({"token": TOLD, "text": TEXT})
    ran = await cloche("token", "create", "laptop", "--json")
    assert (json.loads(ran.out), ran.err) == ({"token": TOLD, "text": TEXT}, "")
    assert hub.asked == [("token.create", {"name": "laptop", "scope": "owner"})]


async def test_what_will_not_do_is_told_in_the_words_of_the_command_line(
    cloche: Cloche, hub: LocalHub
) -> None:
    hub.handlers["token.create"] = refuse(BadRequest("scope must be one of admin, operator, owner, not 'x'"))
    ran = await cloche("token", "create", "laptop", "--scope", "x")
    assert (ran.status, ran.out) == (125, "")
    assert ran.err == "cloche: --scope must be one of admin, operator, owner, not 'x'\n"


async def test_ls_shows_good_tokens_and_all_of_them_when_asked(cloche: Cloche, hub: LocalHub) -> None:
    gone = {**TOLD, "id": "tok_gone", "name": "ci\n", "revoked_at": TOLD["created_at"]}
    hub.handlers["token.list"] = answer({"tokens": [TOLD, gone]})
    heading, line = (await cloche("token", "ls")).out.splitlines()
    assert heading.split() == ["ID", "NAME", "OWNER", "SCOPE", "CREATED", "STATE"]
    assert line.split()[:4] == ["tok_7k2m9qx4tn0c", "laptop", "ann", "owner"]
    assert line.endswith("good")
    lines = (await cloche("token", "ls", "--all")).out.splitlines()
    assert (len(lines), lines[2].split()[1]) == (3, "ci\\n")
    assert "revoked" in lines[2]
    assert json.loads((await cloche("token", "ls", "--json")).out) == [TOLD]


async def test_revoke_says_which_one_it_was(cloche: Cloche, hub: LocalHub) -> None:
    hub.handlers["token.revoke"] = answer({**TOLD, "revoked_at": TOLD["created_at"]})
    assert await cloche("token", "revoke", "lap") == (0, "tok_7k2m9qx4tn0c\n", "")
    assert json.loads((await cloche("token", "revoke", "lap", "--json")).out)["revoked_at"] is not None
    hub.handlers["token.revoke"] = refuse(WrongState("it is the last good admin token"))
    assert await cloche("token", "revoke", "lap") == (125, "", "cloche: it is the last good admin token\n")
