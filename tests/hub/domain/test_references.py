"""Which sandbox a reference means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloche_hub.domain.references import MAX_REFERENCE, gone, resolve
from cloche_hub.domain.sandbox import Sandbox, State
from cloche_hub.errors import BadRequest, NotFound
from tests.hub.domain.examples import sandbox

WEB = sandbox(id="sb_aaa1", name="web")
WEB2 = sandbox(id="sb_aab2", name="web-2")
DB = sandbox(id="sb_bbb3", name="db")
OURS = [WEB, WEB2, DB]

# Few letters, so that prefixes, equal names and equal beginnings are the rule.
short = st.text("ab", max_size=3)
population = st.lists(
    st.builds(
        lambda letters, name, owner, state: sandbox(
            id=f"sb_{letters}", name=f"s{name}", owner=owner, state=state
        ),
        short,
        short,
        st.sampled_from(["ann", "bob"]),
        st.sampled_from([State.RUNNING, State.FAILED, State.REMOVED]),
    ),
    max_size=8,
    unique_by=lambda one: one.id,
)
references = st.one_of(st.builds("s{}".format, short), st.builds("sb_{}".format, short))


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("sb_aaa1", WEB),
        ("sb_aaa", WEB),
        ("web", WEB),
        ("web-", WEB2),
        ("d", DB),
        ("sb_b", DB),
    ],
)
def test_an_id_a_name_or_a_beginning_that_only_one_has_means_that_one(reference: str, meant: Sandbox) -> None:
    assert resolve(reference, OURS, owner="admin") is meant


def test_a_beginning_that_several_have_is_refused_with_the_candidates() -> None:
    with pytest.raises(
        BadRequest, match=r"web \(sb_aaa1\) of admin, web-2 \(sb_aab2\) of admin; give more"
    ) as refusal:
        resolve("we", OURS, owner="admin")
    assert refusal.value.details == {"candidates": ["sb_aaa1", "sb_aab2"]}


def test_a_long_list_of_candidates_is_cut() -> None:
    many = [sandbox(id=f"sb_{number:02}", name=f"web-{number:02}") for number in range(20)]
    with pytest.raises(BadRequest, match=r"web-07 \(sb_07\) of admin and 12 more;"):
        resolve("web", many, owner="admin")


def test_what_nobody_has_is_not_found() -> None:
    with pytest.raises(NotFound, match="no sandbox 'nope'"):
        resolve("nope", OURS, owner="admin")


def test_the_callers_own_sandbox_comes_before_anothers_of_the_same_name() -> None:
    anns, bobs = sandbox(id="sb_a", owner="ann"), sandbox(id="sb_b", owner="bob")
    assert resolve("mossy-acorn", [anns, bobs], owner="bob") is bobs
    with pytest.raises(BadRequest, match="could be any of"):
        resolve("mossy-acorn", [anns, bobs], owner="eve")


def test_an_ended_sandbox_gives_its_name_away_but_is_found_by_its_id() -> None:
    ended = sandbox(id="sb_old1", name="web", state=State.REMOVED)
    assert resolve("web", [ended, WEB], owner="admin") is WEB
    assert resolve("sb_old1", [ended, WEB], owner="admin") is ended
    assert resolve("sb_o", [ended, WEB], owner="admin") is ended
    with pytest.raises(NotFound):
        resolve("web", [ended], owner="admin")


@pytest.mark.parametrize(
    ("reference", "said"), [("", "must not be empty"), ("x" * (MAX_REFERENCE + 1), "longer than")]
)
def test_what_can_name_nothing_is_refused(reference: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        resolve(reference, OURS, owner="admin")


@given(references, population, st.sampled_from(["ann", "bob"]), st.randoms(use_true_random=False))
def test_the_answer_fits_the_reference_and_does_not_depend_on_the_order(
    reference: str, sandboxes: list[Sandbox], owner: str, random: object
) -> None:
    answer = _answer(reference, sandboxes, owner)
    shuffled = list(sandboxes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert _answer(reference, shuffled, owner) == answer

    fitting = [
        one
        for one in sandboxes
        if one.id.startswith(reference) or (one.live and one.name.startswith(reference))
    ]
    if isinstance(answer, Sandbox):
        assert answer in fitting
    else:
        assert (answer == "not found") == (not fitting)


@given(population.filter(bool), st.sampled_from(["ann", "bob"]))
def test_a_whole_id_always_means_its_sandbox(sandboxes: list[Sandbox], owner: str) -> None:
    for one in sandboxes:
        assert resolve(one.id, sandboxes, owner=owner) is one


@given(references, population, st.sampled_from(["ann", "bob"]))
def test_a_reference_is_ambiguous_only_if_several_fit(
    reference: str, sandboxes: list[Sandbox], owner: str
) -> None:
    answer = _answer(reference, sandboxes, owner)
    if isinstance(answer, list):
        assert len(answer) > 1


def _answer(reference: str, sandboxes: list[Sandbox], owner: str) -> Sandbox | list[str] | str:
    try:
        return resolve(reference, sandboxes, owner=owner)
    except BadRequest as refusal:
        return list(refusal.details["candidates"])
    except NotFound:
        return "not found"


def test_of_one_that_is_gone_it_is_said_why_and_where_the_rest_is() -> None:
    ended = sandbox(id="sb_1", name="m2", end_reason="its lease ran out")
    assert str(gone("m2", ended)) == (
        "m2 (sb_1) is gone: its lease ran out; `cloche show sb_1` has what is left of it"
    )
    assert "m2 (sb_1) is gone: it was removed; " in gone("m2", sandbox(id="sb_1", name="m2")).message
