"""Parsing `sandbox.create` and `exec`."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from cloche_hub.domain import requests
from cloche_hub.domain.audit import GENESIS, MAX_EVENT, chain, event_to_line
from cloche_hub.domain.flavors import FLAVORS
from cloche_hub.domain.masking import Secrets
from cloche_hub.domain.requests import CreateRequest, ExecRequest, parse_create, parse_exec
from cloche_hub.domain.sandbox import State
from cloche_hub.errors import BadRequest
from tests.hub.domain.examples import MOMENT, sandbox


def create(**params: Any) -> CreateRequest:
    return parse_create(params, default_lease_s=3600, max_lease_s=86400)


def exec_(**params: Any) -> ExecRequest:
    return parse_exec({"sandbox": "web", "argv": ["true"], **params})


def test_an_empty_create_has_every_default() -> None:
    assert create() == CreateRequest("python", FLAVORS["small"], None, {}, {}, 3600, build=False)


def test_a_full_create_is_taken_over() -> None:
    full = create(
        recipe="minimal",
        flavor="large",
        name="web",
        env={"A_1": "x=y", "_": ""},
        labels={"app": "shop", "a.b/c-d_e": ""},
        lease_s=90,
        build=True,
    )
    assert full == CreateRequest(
        "minimal",
        FLAVORS["large"],
        "web",
        {"A_1": "x=y", "_": ""},
        {"app": "shop", "a.b/c-d_e": ""},
        90.0,
        build=True,
    )


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"recipe": "../etc"}, "recipe '../etc' will not do"),
        ({"recipe": ".hidden"}, "recipe"),
        ({"recipe": "a" * 65}, "recipe"),
        ({"recipe": 1}, "recipe must be a text"),
        ({"flavor": "huge"}, "no flavor 'huge'; there are: small, medium, large"),
        ({"name": "Web"}, "name 'Web' will not do"),
        ({"name": ""}, "name '' will not do"),
        ({"env": {"1A": ""}}, "env has a variable '1A'"),
        ({"env": {"A=B": ""}}, "env has a variable 'A=B'"),
        ({"env": {"A" * 129: ""}}, "env has a variable 'AAA"),
        ({"env": {"A": "x" * (128 << 10)}}, r"env\['A'\] is longer than 131071 bytes"),
        ({"env": {f"A{n}": "" for n in range(513)}}, "env has 513 entries; the limit is 512"),
        ({"env": {"A": "x" * 114_685, "B": "x" * 114_686}}, "env is 229377 bytes; the limit is 229376"),
        ({"secrets": {"1A": "hunter2"}}, "secrets has a variable '1A'"),
        ({"secrets": {"A": "x" * (128 << 10)}}, r"secrets\['A'\] is longer than 131071 bytes"),
        ({"secrets": {"A": "abc"}}, r"secrets\['A'\] is shorter than 4 bytes"),
        ({"secrets": {"A": " \nabc\n"}}, "shorter than 4 bytes"),
        ({"secrets": {"A": "hunter2"}, "env": {"A": ""}}, "A is in env and in secrets; give it once"),
        ({"secrets": {f"A{n}": "hunter2" for n in range(65)}}, "secrets has 65 entries; the limit is 64"),
        (
            {"secrets": {"A": "x" * 114_685}, "env": {"B": "x" * 114_686}},
            "env and secrets are more than 229376 bytes together",
        ),
        ({"labels": {"-a": ""}}, "labels has a key '-a'"),
        ({"labels": {"a": "x" * 257}}, r"labels\['a'\] must be at most 256"),
        ({"labels": {"a": "x\ny"}}, "printable"),
        ({"labels": {f"a{n}": "" for n in range(65)}}, "labels has 65 entries; the limit is 64"),
        ({"lease_s": 0}, "lease_s must be above 0 and at most 86400 seconds"),
        ({"lease_s": 86401}, "lease_s"),
        ({"lease_s": 0.5}, "lease_s must be at least 1 second, not 0.5"),
        ({"build": 1}, "build must be true or false"),
        ({"network": "off"}, "unknown field 'network'"),
    ],
)
def test_a_create_that_will_not_do_is_refused_by_the_fields_name(params: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        create(**params)


def test_a_new_sandbox_has_what_was_asked_for() -> None:
    new = create(name="web", env={"A": "b"}, labels={"c": "d"}).sandbox(owner="ann", at=MOMENT)
    assert new == sandbox(
        id=new.id,
        name="web",
        owner="ann",
        env={"A": "b"},
        labels={"c": "d"},
        lease_s=3600,
        state=State.CREATING,
    )
    assert new.id.startswith("sb_")


def test_secrets_are_beside_the_sandbox_and_neither_in_it_nor_in_a_log() -> None:
    request = create(env={"A": "b"}, secrets={"TOKEN": "hunter2"})
    assert request.secrets == Secrets({"TOKEN": "hunter2"})
    assert request.sandbox(owner="ann", at=MOMENT).env == {"A": "b"}
    assert "hunter2" not in repr(request)


@pytest.mark.parametrize(
    "params",
    [
        {"secrets": "hunter2"},
        {"secrets": ["hunter2"]},
        {"secrets": {"A": ["hunter2"]}},
        {"secrets": {"A": "hunter2\0"}},
        {"secrets": {"A": "hunter2", "B": 1}},
        {"secrets": {"A": "hunter2"}, "env": {"A": "hunter2"}},
        {"secrets": {"A": "hunter2" + "x" * (128 << 10)}},
    ],
)
def test_no_error_says_a_secret(params: dict[str, Any]) -> None:
    with pytest.raises(BadRequest) as raised:
        create(**params)
    assert "hunter2" not in str([raised.value, raised.value.details])


def test_a_sandbox_nobody_named_gets_a_name_and_a_longer_one_where_that_was_taken() -> None:
    assert create().sandbox(owner="ann", at=MOMENT).name.count("-") == 1
    assert create().sandbox(owner="ann", at=MOMENT, crowded=True).name.count("-") == 2


def test_the_audit_of_a_create_names_variables_but_not_their_values() -> None:
    request = create(
        name="web", env={"TOKEN": "secret"}, secrets={"KEY": "hunter2"}, labels={"c": "d"}, lease_s=1.5
    )
    assert request.audit_detail(request.sandbox(owner="ann", at=MOMENT)) == {
        "name": "web",
        "owner": "ann",
        "recipe": "python",
        "flavor": "small",
        "labels": {"c": "d"},
        "env_names": ["TOKEN"],
        "secret_names": ["KEY"],
        "lease_ms": 1500,
    }


def test_the_least_exec_has_every_default() -> None:
    assert exec_() == ExecRequest("web", ("true",), {}, None, None, None, stdin=False)


def test_a_full_exec_is_taken_over() -> None:
    full = exec_(
        argv=["sh", "-c", "", "é"],
        env={"A": "b"},
        cwd="/tmp/x y",
        user="root",
        timeout_s=0.5,
        stdin=True,
        record=True,
    )
    assert full == ExecRequest(
        "web", ("sh", "-c", "", "é"), {"A": "b"}, "/tmp/x y", "root", 0.5, stdin=True, record=True
    )


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"sandbox": None}, "sandbox is missing"),
        ({"sandbox": ""}, "sandbox must not be empty"),
        ({"argv": None}, "argv must begin with a command"),
        ({"argv": []}, "argv must begin with a command"),
        ({"argv": ["", "x"]}, "argv must begin with a command"),
        ({"argv": "ls -l"}, "argv must be a list of texts, not a text"),
        ({"argv": ["ls", 1]}, r"argv\[1\] must be a text"),
        ({"argv": ["ls", "a\0b"]}, r"argv\[1\] holds a character"),
        ({"argv": ["x"] * 4097}, "argv has 4097 elements; the limit is 4096"),
        ({"argv": ["x", "é" * (64 << 10)]}, r"argv\[1\] is longer than 131071 bytes"),
        ({"argv": ["x" * 100_000] * 6}, "argv and env are 600006 bytes together; the limit is 229376"),
        ({"cwd": "tmp"}, "cwd must be an absolute path"),
        ({"cwd": "/" + "x" * 4095}, "cwd must be an absolute path of at most 4095 bytes"),
        ({"user": "a b"}, "user 'a b' will not do"),
        ({"user": ""}, "user"),
        ({"user": "-x"}, "user"),
        ({"timeout_s": 0}, "timeout_s must be above 0 and at most 2592000 seconds"),
        ({"timeout_s": True}, "timeout_s"),
        ({"stdin": "yes"}, "stdin must be true or false"),
        ({"record": 1}, "record must be true or false"),
        ({"env": {"": "x"}}, "env has a variable ''"),
        ({"tty": True}, "unknown field 'tty'"),
    ],
)
def test_an_exec_that_will_not_do_is_refused_by_the_fields_name(params: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        exec_(**params)


@pytest.mark.parametrize("user", ["root", "user", "_apt", "1000", "a-b_c1"])
def test_a_user_is_a_name_or_a_number(user: str) -> None:
    assert exec_(user=user).user == user


def test_the_audit_of_an_exec_has_the_command_line_but_not_the_environments_values() -> None:
    assert exec_(argv=["ls", "-l"], env={"TOKEN": "secret"}).audit_detail() == {
        "argv": ["ls", "-l"],
        "env_names": ["TOKEN"],
    }
    assert exec_(cwd="/", user="root", timeout_s=1.5).audit_detail() == {
        "argv": ["true"],
        "env_names": [],
        "cwd": "/",
        "user": "root",
        "timeout_ms": 1500,
    }


@pytest.mark.parametrize("argv", [["python3", "-c", "x" * 5000], ["x"] * 4096])
def test_the_audit_cuts_a_long_command_line_and_keeps_its_digest(argv: list[str]) -> None:
    detail = exec_(argv=argv).audit_detail()
    assert detail["argv_sha256"] == hashlib.sha256(b"".join(arg.encode() + b"\0" for arg in argv)).hexdigest()
    cut = detail["argv"]
    assert isinstance(cut, list)
    assert sum(map(len, cut)) <= requests.AUDITED_ARGV
    assert [arg[: len(part)] for arg, part in zip(argv, cut, strict=False)] == cut


def test_the_largest_requests_fit_into_an_audit_event() -> None:
    env = {f"A{n:03}" + "x" * 124: "" for n in range(512)}
    labels = {f"a{n:02}" + "x" * 60: "\U0001f33b" * 256 for n in range(64)}
    secrets = {f"B{n:03}" + "x" * 124: "xxxx" for n in range(64)}
    largest_create = create(env=env, labels=labels, secrets=secrets)
    largest_exec = exec_(argv=["\x1b" * 4096, "x"], cwd="/" + "\x1b" * 4094, env=env)
    for detail in (
        largest_create.audit_detail(largest_create.sandbox(owner="ann", at=MOMENT)),
        largest_exec.audit_detail(),
    ):
        event = chain(GENESIS, at=MOMENT, event="x", actor="a", sandbox=None, detail=detail)
        assert len(event_to_line(event).encode()) < MAX_EVENT
