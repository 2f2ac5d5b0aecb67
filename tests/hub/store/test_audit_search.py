"""Finding audit events by what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from cloche_hub.domain.audit import GENESIS, Json, chain
from cloche_hub.domain.audit_filter import FIELDS, Term, TermKind, parse_terms
from cloche_hub.domain.sandbox import Sandbox, State
from cloche_hub.domain.tokens import Scope, mint
from cloche_hub.store import audit, audit_search, sandboxes, tokens
from tests.hub.domain.examples import MOMENT
from tests.hub.store.memory import Memory, memory

BOX = Sandbox(
    id="sb_1",
    name="Box",
    owner="ann",
    recipe="python",
    flavor="small",
    state=State.RUNNING,
    created_at=MOMENT,
    lease_s=60,
    labels={"team": "blue"},
    env={},
)
TOKEN, _ = mint(name="laptop", owner="ann", scope=Scope.OWNER, at=MOMENT)

EVENTS: tuple[tuple[str, str, str | None, dict[str, Json]], ...] = (
    ("hub.started", "hub", None, {}),
    ("exec.started", TOKEN.id, "sb_1", {"argv": ["echo", '100% "sure"\n']}),
    ("exec.exited", "hub", "sb_1", {"exit_code": 0}),
    ("file.read", "tok_x", "sb_2", {"path": "/home/[a]/Straße.txt"}),
    ("file.read", "tok_x", "sb_2", {"path": "/home/a/x.txt", "recipe": "web"}),
)


@pytest.fixture
def database() -> Iterator[Memory]:
    with memory() as opened:
        audit_search.add_functions(opened.connection)
        sandboxes.insert(opened, BOX)
        sandboxes.insert(opened, replace(BOX, id="sb_2", name="web", owner="bob", labels={}, recipe="node"))
        tokens.insert(opened, TOKEN)
        head = GENESIS
        for event, actor, sandbox, detail in EVENTS:
            chained = chain(head, at=MOMENT, event=event, actor=actor, sandbox=sandbox, detail=detail)
            audit.insert(opened, chained)
            head = chained.head
        yield opened


async def found(database: Memory, *terms: Term, owner: str | None = None) -> list[int]:
    return list(await audit_search.numbers(database, terms, first=1, last=9, owner=owner))


def text(wanted: str, *, inverse: bool = False) -> Term:
    return Term(TermKind.TEXT, (wanted,), is_inverse=inverse)


def has(name: str, *values: str, inverse: bool = False) -> Term:
    return Term(TermKind.FIELD, values, name, is_inverse=inverse)


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ("exec.", [2, 3]),
        ("hub", [1, 3]),
        ("sb_2", [4, 5]),
        ("box", [2, 3]),
        ("laptop", [2]),
        ("2026", [1, 2, 3, 4, 5]),
        ("echo", [2]),
        ('100% "sure"\n', [2]),
        ("0%", [2]),
        ("e_ho", []),
        ("ECHO", [2]),
        ("nowhere", []),
    ],
)
async def test_a_text_is_found_wherever_it_is_shown(
    database: Memory, wanted: str, numbers: list[int]
) -> None:
    assert await found(database, text(wanted)) == numbers
    assert await found(database, text(wanted, inverse=True)) == [n for n in range(1, 6) if n not in numbers]


async def test_letters_outside_ascii_lose_their_case_as_clients_fold_them(database: Memory) -> None:
    head = audit.load_head(database)
    audit.insert(
        database, chain(head, at=MOMENT, event="x.y", actor="ÄNN", sandbox=None, detail={"path": "Öl"})
    )
    assert await found(database, text("änn")) == [6]
    assert await found(database, has("path", "ö*")) == [6]
    assert await found(database, has("actor", "änn")) == [6]


@pytest.mark.parametrize(
    ("term", "numbers"),
    [
        (has("event", "exec.*"), [2, 3]),
        (has("event", "hub.started", "file.read"), [1, 4, 5]),
        (has("event", "exec"), []),
        (has("event", "exec.*", inverse=True), [1, 4, 5]),
        (has("actor", TOKEN.id), [2]),
        (has("actor", "lap*"), [2]),
        (has("sandbox", "box"), [2, 3]),
        (has("sandbox", "sb_*"), [2, 3, 4, 5]),
        (has("sandbox", "sb_*", inverse=True), [1]),
        (has("owner", "bob"), [4, 5]),
        (has("recipe", "node"), [4, 5]),
        (has("recipe", "web"), [5]),
        (has("path", "/home/[a]/*"), [4]),
        (has("path", "/home/?/*"), []),
        (has("path", "*.txt"), [4, 5]),
    ],
)
async def test_a_field_is_one_of_the_patterns(database: Memory, term: Term, numbers: list[int]) -> None:
    assert await found(database, term) == numbers


async def test_a_label_is_the_sandboxs(database: Memory) -> None:
    def label(key: str, value: str, *, inverse: bool = False) -> Term:
        return Term(TermKind.LABEL, (value,), key, is_inverse=inverse)

    assert await found(database, label("team", "b*")) == [2, 3]
    assert await found(database, label("t*", "*")) == [2, 3]
    assert await found(database, label("team", "red")) == []
    assert await found(database, label("team", "blue", inverse=True)) == [1, 4, 5]


async def test_all_terms_hold_and_only_what_is_looked_at_is_found(database: Memory) -> None:
    terms = (has("sandbox", "box"), text("exit"))
    assert await found(database, *terms) == [3]
    assert await audit_search.numbers(database, (), first=2, last=4, owner=None) == [2, 3, 4]


async def test_an_owner_finds_what_is_about_its_own_sandboxes(database: Memory) -> None:
    assert await found(database, owner="ann") == [2, 3]
    assert await found(database, has("event", "file.*"), owner="ann") == []
    assert await found(database, has("event", "file.*"), owner="bob") == [4, 5]


async def test_every_field_there_is_can_be_asked_for_with_as_many_values_as_there_may_be(
    database: Memory,
) -> None:
    terms = parse_terms(
        [{"kind": "field", "name": name, "values": ["*"] * 64, "inverse": True} for name in sorted(FIELDS)]
    )
    assert await found(database, *terms) == []
    assert await found(database, *[text(str(n), inverse=True) for n in "abcdefgh" * 4]) == []


async def test_a_detail_that_was_altered_ends_no_search(database: Memory) -> None:
    database.execute("DROP TRIGGER audit_is_never_changed")
    database.execute("UPDATE audit SET detail = '{' WHERE seq = 5")
    assert await found(database, has("path", "*")) == [4]


async def test_events_are_read_by_their_numbers_in_order(database: Memory) -> None:
    async def read(*numbers: int, owner: str | None = None) -> list[int]:
        return [row["seq"] for row in await audit_search.rows(database, numbers, owner=owner)]

    assert await read(3, 1, 99, 3) == [1, 3]
    assert await read(*range(1, 6), owner="ann") == [2, 3]
    assert await read() == []


async def test_ids_of_sandboxes_and_tokens_have_names(database: Memory) -> None:
    assert await audit_search.names(database, ["sb_1", TOKEN.id, "hub"]) == {
        "sb_1": "Box",
        TOKEN.id: "laptop",
    }
