"""The hub's values as clients get them: plain msgpack maps with the fields of ARCHITECTURE.md."""

from __future__ import annotations

import re
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cloche_hub.domain.audit import GENESIS, chain
from cloche_hub.domain.tokens import Scope, mint
from cloche_hub.ports import CacheUse, Image, Progress
from cloche_hub.server.messages import (
    audit_message,
    cache_use_message,
    console_message,
    image_message,
    progress_message,
    sandbox_message,
    token_message,
)
from cloche_wire.frames import Close, check
from cloche_wire.limits import Limits
from tests.hub.domain.examples import MOMENT, console, sandbox, viewer

ARCHITECTURE = (Path(__file__).resolve().parents[3] / "ARCHITECTURE.md").read_text()
AT = "2026-01-02T03:04:05.678901Z"


def travels(message: dict[str, Any]) -> dict[str, Any]:
    """The message, proven to fit a frame."""
    check(Close(1, message), Limits())
    return message


def test_a_sandbox_has_the_fields_that_the_architecture_lists() -> None:
    listed = re.search(r"^\*sandbox\*: \{([^}]*)\}", ARCHITECTURE, re.MULTILINE)
    assert listed is not None
    message = travels(sandbox_message(sandbox(labels=MappingProxyType({"a": "b"}))))
    assert list(message) == re.split(r",\s*", listed[1])
    assert (message["labels"], message["created_at"], message["expires_at"]) == ({"a": "b"}, AT, None)


def test_a_console_and_its_viewers_have_the_fields_that_the_architecture_lists() -> None:
    message = travels(console_message(console(viewers=(viewer(1),))))
    for name, told in (("console", message), ("viewer", message["viewers"][0])):
        listed = re.search(rf"^\*{name}\*: \{{([^}}]*)\}}", ARCHITECTURE, re.MULTILINE)
        assert listed is not None
        assert list(told) == re.split(r",\s*", listed[1])


def test_a_token_has_the_fields_that_the_architecture_lists_and_no_secret() -> None:
    listed = re.search(r"^\*token\*: \{([^}]*)\}", ARCHITECTURE, re.MULTILINE)
    assert listed is not None
    token, _ = mint(name="laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)
    message = travels(token_message(token))
    assert list(message) == re.split(r",\s*", listed[1])
    assert (message["scope"], message["created_at"], message["revoked_at"]) == ("owner", AT, None)
    assert token.secret_hash not in str(message)


def test_an_image_a_step_and_a_use_of_the_cache_are_plain_values() -> None:
    image = Image("d" * 64, "python", "x86_64", "a" * 64, 5, MOMENT)
    assert travels(image_message(image))["built_at"] == AT
    assert travels(progress_message(Progress("x", "y"))) == {"step": "x", "message": "y", "fraction": None}
    use = CacheUse("image", "n", 1, MOMENT, in_use=True)
    assert travels(cache_use_message(use, title="python", recipe="python"))["used_at"] == AT


def test_an_audit_event_holds_what_its_hash_is_made_of() -> None:
    event = chain(GENESIS, at=MOMENT, event="hub.started", actor="hub", sandbox=None, detail={"pid": 1})
    assert travels(audit_message(event)) == {
        "seq": 1,
        "at": AT,
        "event": "hub.started",
        "actor": "hub",
        "sandbox": None,
        "detail": {"pid": 1},
        "prev_hash": "0" * 64,
        "hash": event.hash,
    }
