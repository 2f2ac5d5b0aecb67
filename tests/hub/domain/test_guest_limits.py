"""What fits a link to a guest: the agent holds itself to the same bounds, and the largest requests are within them."""

from __future__ import annotations

from typing import Any

import pytest

from cloche_guest.agent import LIMITS
from cloche_hub.domain.guest_limits import GUEST_LIMITS, MOST_CALLBACKS
from cloche_hub.domain.identity import ENTROPY_SIZE, identity_of
from cloche_hub.domain.requests import MAX_ARGUMENT, MAX_ARGUMENTS, parse_create, parse_exec
from cloche_hub.services.execs import guest_params
from cloche_wire.frames import Open, encode
from tests.hub.domain.examples import sandbox

_LONGEST = {"cwd": "/" + "x" * 4094, "user": "u" * 32, "timeout_s": 86399.5}


def _filled(size: int, *, most: int, piece: int) -> list[str]:
    """Arguments of `size` bytes in all with their final NULs, as `most` pieces at most."""
    texts: list[str] = []
    while size > 1 and len(texts) < most:
        texts.append("x" * (min(piece, size) - 1))
        size -= len(texts[-1]) + 1
    return texts


def _variables(size: int) -> dict[str, str]:
    """As many variables as there may be, of `size` bytes in all with their final NULs."""
    each = size // 512
    return {f"A{number:03}": "x" * (each - 6) for number in range(512)}


def test_hub_and_agent_hold_each_other_to_the_same_frames() -> None:
    assert (LIMITS.max_frame, LIMITS.max_message) == (GUEST_LIMITS.max_frame, GUEST_LIMITS.max_message)


def test_neither_waits_for_an_acknowledgement_that_the_other_still_gathers() -> None:
    assert GUEST_LIMITS.least_peer_window <= LIMITS.least_window
    assert LIMITS.least_peer_window <= GUEST_LIMITS.least_window


def test_a_sound_agent_opens_no_more_callbacks_than_the_hub_takes() -> None:
    assert MOST_CALLBACKS == GUEST_LIMITS.max_channels == LIMITS.max_own_channels


@pytest.mark.parametrize("piece", [2, 33, 56, 257, 1000, MAX_ARGUMENT + 1])
def test_the_largest_command_fits_a_frame_however_its_arguments_are_cut(piece: int) -> None:
    params: dict[str, Any] = {
        "sandbox": "web",
        "argv": _filled(MAX_ARGUMENTS, most=4096, piece=piece),
        **_LONGEST,
    }
    request = parse_exec(params)
    opened = Open(2**40 + 1, "exec", guest_params("ex_" + "x" * 26, request), 4 << 20)
    assert len(encode(opened, GUEST_LIMITS)) <= GUEST_LIMITS.max_frame


def test_the_largest_environment_fits_a_frame_of_a_command() -> None:
    env = _variables(MAX_ARGUMENTS - 1024)
    request = parse_exec({"sandbox": "web", "argv": ["true"], "env": env, **_LONGEST})
    opened = Open(2**40 + 1, "exec", guest_params("ex_" + "x" * 26, request), 4 << 20)
    assert len(encode(opened, GUEST_LIMITS)) <= GUEST_LIMITS.max_frame


def test_the_largest_environment_with_every_secret_fits_a_frame_of_a_new_machine() -> None:
    secrets = {f"B{number:02}": "x" * 10 for number in range(64)}
    created = parse_create(
        {"env": _variables(MAX_ARGUMENTS - 1024), "secrets": secrets}, default_lease_s=60, max_lease_s=60
    )
    become = identity_of(
        sandbox(env=created.env),
        entropy=bytes(ENTROPY_SIZE),
        clock_ns=1 << 62,
        secrets=created.secrets,
    )
    opened = Open(2**40 + 1, "become", become.params(), 4 << 20)
    assert len(encode(opened, GUEST_LIMITS)) <= GUEST_LIMITS.max_frame
