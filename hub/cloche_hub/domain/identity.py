"""Who a clone becomes: what makes it differ from every other clone of its template. A value and one pure function."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cloche_hub.domain.masking import NO_SECRETS, Secrets
from cloche_hub.domain.sandbox import Sandbox

ENTROPY_SIZE = 64
"""Bytes that seed the guest's random generator: twice what its pool needs."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a guest is told before anybody may use it."""

    sandbox: str
    hostname: str
    machine_id: str
    """32 hex digits, as /etc/machine-id holds them."""
    clock_ns: int
    """Wall clock, nanoseconds since 1970."""
    entropy: bytes = field(repr=False)
    env: Mapping[str, str] = field(repr=False)

    def params(self) -> dict[str, Any]:
        """As the request `become` carries it."""
        return {
            "sandbox": self.sandbox,
            "hostname": self.hostname,
            "machine_id": self.machine_id,
            "clock_ns": self.clock_ns,
            "entropy": self.entropy,
            "env": dict(self.env),
        }


def identity_of(
    sandbox: Sandbox, *, entropy: bytes, clock_ns: int, secrets: Secrets = NO_SECRETS
) -> Identity:
    """The identity of a sandbox's machine.

    Args:
        sandbox: whose machine it is; its name becomes the host name.
        entropy: `ENTROPY_SIZE` fresh random bytes.
        clock_ns: the wall clock now.
        secrets: the sandbox's, which stand beside its environment.
    """
    return Identity(
        sandbox=sandbox.id,
        hostname=sandbox.name[:63].rstrip("-."),
        machine_id=hashlib.sha256(b"cloche machine " + sandbox.id.encode()).hexdigest()[:32],
        clock_ns=clock_ns,
        entropy=entropy,
        env={**sandbox.env, **secrets.variables},
    )
