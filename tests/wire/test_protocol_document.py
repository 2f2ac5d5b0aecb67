"""PROTOCOL.md says what the code does."""

from __future__ import annotations

from tests.wire.protocol_tables import DOCUMENT, written_into


def test_the_tables_of_the_document_are_those_of_the_code() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert written_into(text) == text, "renew them with: python -m tests.wire.protocol_tables"
