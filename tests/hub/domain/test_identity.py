"""Who a clone becomes."""

from __future__ import annotations

from cloche_hub.domain.identity import ENTROPY_SIZE, Identity, identity_of
from cloche_hub.domain.masking import Secrets
from tests.hub.domain.examples import sandbox

ENTROPY = bytes(range(ENTROPY_SIZE))


def identity(**changes: str) -> Identity:
    return identity_of(sandbox(env={"TOKEN": "secret"}, **changes), entropy=ENTROPY, clock_ns=5)


def test_a_clone_takes_its_sandboxes_name_environment_and_the_hosts_clock() -> None:
    assert identity().params() == {
        "sandbox": "sb_7k2m9qx4tn0c",
        "hostname": "mossy-acorn",
        "machine_id": identity().machine_id,
        "clock_ns": 5,
        "entropy": ENTROPY,
        "env": {"TOKEN": "secret"},
    }


def test_secrets_stand_beside_the_environment() -> None:
    told = identity_of(
        sandbox(env={"A": "b"}), entropy=ENTROPY, clock_ns=5, secrets=Secrets({"TOKEN": "hunter2"})
    )
    assert told.env == {"A": "b", "TOKEN": "hunter2"}


def test_a_machine_id_has_the_form_of_etc_machine_id_and_is_the_sandboxs_own() -> None:
    one, other = identity().machine_id, identity(id="sb_000000000000").machine_id
    assert one == identity().machine_id
    assert one != other
    assert len(one) == 32
    assert int(one, 16) >= 0


def test_a_host_name_is_a_label_even_of_the_longest_name() -> None:
    assert identity(name="a" * 62 + "-b").hostname == "a" * 62


def test_neither_entropy_nor_environment_shows_in_a_log() -> None:
    shown = repr(identity())
    assert "secret" not in shown
    assert "entropy" not in shown
