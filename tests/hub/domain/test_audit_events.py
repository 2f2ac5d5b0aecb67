"""The table of audit events."""

from __future__ import annotations

import re

import pytest

from cloche_hub.domain.audit_events import WORKS, AuditName


@pytest.mark.parametrize("name", list(AuditName))
def test_an_event_is_a_noun_and_a_past_verb_with_a_sentence(name: AuditName) -> None:
    assert re.fullmatch(r"[a-z]+\.([a-z]+_)*[a-z]+", name)
    assert name.value.split("_")[-1].endswith(("ed", "built", "driven", "read", "written"))
    assert name.meaning[0].isupper()
    assert name.meaning.endswith(".")


def test_a_name_is_its_text() -> None:
    assert f"{AuditName.HUB_STARTED}" == "hub.started"
    assert {str(name): name for name in AuditName}["hub.started"] is AuditName.HUB_STARTED


def test_what_begins_has_ends_of_its_own_kind() -> None:
    for work in WORKS:
        assert work.failed in work.ends
        kinds = {event.split(".")[0] for event in (work.begun, *work.ends)}
        assert len(kinds) == 1
        # Several may be attached to one console.
        assert work.key in (*kinds, "attachment")
        assert work.begun not in work.ends
