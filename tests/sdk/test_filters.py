"""The grammar behind `/`: what each word asks, what it is put to, and what is said of a text that is no filter."""

from __future__ import annotations

import pytest

from cloche.errors import BadRequest
from cloche.filters import (
    FIELDS,
    MAX_FILTER,
    MAX_SEARCHED,
    MAX_WORDS,
    Fields,
    Kind,
    Term,
    is_like,
    parse_filter,
)

WEB = Fields.of(
    "sb_1",
    "exited by itself",
    None,
    name="Web-1",
    state="running",
    owner="Ann",
    labels={"Team": "Blue", "gpu": ""},
)
DB = Fields.of("sb_2", name="db", state="failed", owner="bob", labels={})


def _wanted(text: str) -> str:
    """Which of the two things a filter wants, by their initials."""
    wanted = parse_filter(text)
    assert wanted is not None
    return "".join(initial for initial, fields in (("w", WEB), ("d", DB)) if wanted.matches(fields))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("web", "w"),
        ("WEB sb_", "w"),
        ("web db", ""),
        ("sb_", "wd"),
        ('"by itself"', "w"),
        ("team=blue", None),
        ('"team=blue"', "w"),
        ('"state:running"', ""),
        ("state:", ""),
        ("label=team.b/c-d_e*", ""),
        ("states:web", ""),
        ("!web", "d"),
        ('!"by itself"', "d"),
        ("/^sb_[2-9]$/", "d"),
        ("/WEB-\\d/", "w"),
        ("!/web|x/", "d"),
        ("/by itself/", "w"),
        ("re:we.", "w"),
        ('re:"by .tself"', "w"),
        ("state=running", "w"),
        ("state=RUN*", "w"),
        ("state=running,failed", "wd"),
        ("state!=running", "d"),
        ("!state=running", "d"),
        ("!state!=running", "w"),
        ("STATE=failed", "d"),
        ("owner=a*", "w"),
        ("method=pay", ""),
        ("method!=pay", "wd"),
        ("label=team", "w"),
        ("label=team=blue", "w"),
        ("label=te*=b*e", "w"),
        ("label=team=red,blue", "w"),
        ("label=team=red", ""),
        ("label=gpu", "w"),
        ("label!=team", "d"),
        ("label!=team=red", "wd"),
        ("state=running !label=team", ""),
    ],
)
def test_a_filter_wants_the_things_its_words_hold_for(text: str, wanted: str | None) -> None:
    if wanted is None:
        with pytest.raises(BadRequest):
            parse_filter(text)
    else:
        assert _wanted(text) == wanted


@pytest.mark.parametrize("text", ["", "   ", "\t"])
def test_nothing_typed_is_no_filter(text: str) -> None:
    assert parse_filter(text) is None


def test_a_path_is_a_text_and_no_expression() -> None:
    found = parse_filter("/etc/passwd !/var/log")
    assert found is not None
    assert [(term.kind, term.values, term.is_inverse) for term in found.terms] == [
        (Kind.TEXT, ("/etc/passwd",), False),
        (Kind.TEXT, ("/var/log",), True),
    ]


def test_quotes_keep_blanks_commas_and_escaped_quotes() -> None:
    found = parse_filter(r'"say \"hi\" \\o/" sandbox="a,b c"')
    assert found is not None
    assert found.terms == (
        Term(Kind.TEXT, (r'say "hi" \o/',)),
        Term(Kind.FIELD, ("a,b c",), "sandbox"),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("!", "nothing stands behind the !"),
        ("a ! b", "nothing stands behind the !"),
        ('""', "nothing in the quotes"),
        ('"never closed', "a quote is not closed"),
        ('"a"b', "a quote is not closed"),
        ("stat=running", "there is no field stat; there are: label, actor"),
        ("state=", "say what state is to be"),
        ("state=,", None),
        ("label=", "say which label"),
        ("label==blue", "say which label"),
        ("label=team=", "say which label"),
        ("label=team:blue", "no label's key has a ':' in it; say label=team=blue"),
        ("!label=Te*:", "no label's key has a ':' in it; say label=KEY=VALUE"),
        ("label!=größe=3", "no label's key has a 'ö' in it; say label=KEY=VALUE"),
        ("label:team=blue", "what label is to be stands behind =: label=team=blue; a text is quoted"),
        ("web !label:team:blue", "stands behind =: label=team=blue;"),
        ("LABEL:team", "stands behind =: label=team;"),
        ('State:"a b"', 'stands behind =: state="a b"; a text is quoted: "state:…"'),
        ("/(/", "is no expression: missing )"),
        ("re:", "the expression is empty"),
        ("/(a+)+$/", "could take for ever"),
        ("/(a|aa)*b/", "could take for ever"),
        (r"/(?:x\d*){2,}/", "could take for ever"),
        (r"/((a+))*/", "could take for ever"),
        (r"/(a)\1/", "could take for ever"),
        ("x" * (MAX_FILTER + 1), f"at most {MAX_FILTER} characters"),
        ("x " * (MAX_WORDS + 1), f"at most {MAX_WORDS} words"),
    ],
)
def test_what_is_no_filter_is_refused_in_one_line(text: str, says: str | None) -> None:
    if says is None:
        assert parse_filter(text) is not None
        return
    with pytest.raises(BadRequest) as refused:
        parse_filter(text)
    assert says in refused.value.message
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("text", ["/(ab)+c*/", "/[a+*](x){3}/", "/a{,}b?c+/", r"/\(a+\)+/", "/(?i:fail)ed*/"])
def test_an_expression_that_repeats_simply_is_taken(text: str) -> None:
    found = parse_filter(text)
    assert found is not None
    assert found.terms[0].kind is Kind.REGEX


def test_an_expression_looks_only_at_the_beginning_of_a_long_text() -> None:
    wanted = parse_filter("/end$/")
    assert wanted is not None
    assert wanted.matches(Fields.of("x" * (MAX_SEARCHED - 3) + "end"))
    assert not wanted.matches(Fields.of("x" * MAX_SEARCHED + "end"))


def test_every_field_can_be_asked_for() -> None:
    for name in FIELDS:
        wanted = parse_filter(f"{name}=it")
        assert wanted is not None
        assert wanted.matches(Fields.of(**{name: "it"}))  # type: ignore[arg-type]


def test_two_ways_to_type_one_filter_are_equal_and_each_remembers_how_it_was_typed() -> None:
    one, other = parse_filter("!state=running"), parse_filter(" state!=running ")
    assert one is not None
    assert other is not None
    assert one == other
    assert (one.source, other.source) == ("!state=running", "state!=running")


def test_a_filter_travels_as_plain_values() -> None:
    wanted = parse_filter("!web label=team=blue,red")
    assert wanted is not None
    assert wanted.message() == [
        {"kind": "text", "name": "", "values": ["web"], "inverse": True},
        {"kind": "label", "name": "team", "values": ["blue", "red"], "inverse": False},
    ]


@pytest.mark.parametrize(
    ("pattern", "text", "is_so"),
    [
        ("a", "a", True), ("a", "ab", False), ("*", "", True), ("a*", "a", True), ("a*a", "a", False),
        ("*b*", "abc", True), ("a*b*c", "aXbYc", True), ("a*b*c", "acb", False), ("*x*", "abc", False),
        ("a.c", "abc", False),
    ],
)  # fmt: skip
def test_a_pattern_is_like_a_whole_text(pattern: str, text: str, is_so: bool) -> None:
    assert is_like(pattern, text) is is_so


@pytest.mark.parametrize(
    ("expression", "searched"),
    [
        ("a.*b", 4096),
        ("a.*b.*c", 512),
        (r"a\S+b[^x]{2,}c", 512),
        ("a.*b.*c.*d", 160),
        (".*a" * 9, 64),
        (r"\d+-\d+-\d+", 4096),
    ],
)
def test_the_more_an_expression_may_run_over_the_less_of_a_text_is_searched(
    expression: str, searched: int
) -> None:
    wanted = parse_filter(f"/(?:{expression}|end)/")
    assert wanted is not None
    assert wanted.matches(Fields.of("\n" * (searched - 3) + "end"))
    assert not wanted.matches(Fields.of("\n" * (searched - 2) + "end"))


def test_what_may_stand_first_costs_no_time() -> None:
    # With it, this would take a minute.
    wanted = parse_filter("/.*error.*timeout/")
    assert wanted is not None
    assert not wanted.matches(Fields.of("error" * 819))
    assert wanted.matches(Fields.of("an error, then a timeout"))
