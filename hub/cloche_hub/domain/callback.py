"""A callback as a value: what a program in a sandbox asks of the outside, and who offers to answer. Pure.

Everything in a callback but its sandbox is the guest's word: it is checked for its form here, and believed for nothing.

Rule: parameters travel on as canonical JSON, so that policy, operator, handler and audit speak of the same bytes.
Rule: the audit has digests and sizes of parameters and results, never the values.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cloche_hub.domain.audit import Json
from cloche_hub.domain.callback_json import JsonValue, parse_canonical
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.references import check_reference
from cloche_hub.errors import BadRequest

MAX_TIMEOUT_S = 1e9
"""What the agent takes too."""
MAX_PROGRAM = 64
"""Characters of a program's name."""
MAX_METHODS = 64
"""Patterns of one registration."""
MAX_REGISTRATION = 100
"""Characters of a registration's name."""

_CALLBACK = re.compile(r"cb_[a-z0-9]{1,40}", re.ASCII)
_METHOD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}", re.ASCII)
_PATTERN = re.compile(r"[A-Za-z0-9_*?][A-Za-z0-9_.:/*?-]{0,99}", re.ASCII)
_LARGEST_PID = 1 << 22
_LARGEST_UID = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class CallbackRequest:
    """A checked `callback` of a guest."""

    callback: str
    """`cb_…`, made by the agent, unique in its sandbox."""
    method: str
    text: str
    """The parameters as canonical JSON."""
    sha256: str
    """Of the text in UTF-8."""
    size: int
    """Bytes of the text in UTF-8."""
    timeout_s: float | None
    """How long the caller waits; None: for as long as it takes."""
    wait: bool
    """Whether the caller waits for the result."""
    caller: Mapping[str, object]
    """What the guest says of the program that calls: pid, uid, program."""

    def audit_detail(self) -> dict[str, Json]:
        """What `callback.requested` says of it."""
        return {
            "callback": self.callback,
            "method": self.method,
            "params_sha256": self.sha256,
            "params_bytes": self.size,
            "wait": self.wait,
        }


@dataclass(frozen=True, slots=True)
class ServeRequest:
    """A checked `callback.serve` of a client."""

    sandbox: str | None
    """A reference, not yet resolved; None: every sandbox the client may see."""
    methods: tuple[str, ...]
    """Patterns (`globs`), one of which must match."""
    registration: str
    """The client's name for it, told with each call."""


def parse_callback(params: object) -> tuple[CallbackRequest, JsonValue]:
    """A `callback` from its parameters, and what it is called with: apart, for that is many times as large as its text.

    Raises:
        BadRequest: names the field and says what would do.
        TooLarge: the parameters of the call are.
    """
    fields = Fields.of(params, ("callback", "method", "params", "timeout_s", "wait", "caller"))
    callback, method = fields.text("callback"), fields.text("method")
    if not _CALLBACK.fullmatch(callback):
        raise BadRequest(f"callback must be cb_ and up to 40 of a-z and 0-9, not {callback[:60]!r}")
    if not _METHOD.fullmatch(method):
        raise BadRequest(
            "method must be up to 100 letters, digits and any of '_.:/-', and begin with none of '.:/-'; "
            f"it is {method[:60]!r}"
        )
    data = fields.values.get("params")
    if not isinstance(data, bytes):
        raise BadRequest("params must be JSON text as bytes")
    value, text = parse_canonical(data, what="params")
    encoded = text.encode()
    request = CallbackRequest(
        callback=callback,
        method=method,
        text=text,
        sha256=hashlib.sha256(encoded).hexdigest(),
        size=len(encoded),
        timeout_s=fields.seconds("timeout_s", most=MAX_TIMEOUT_S),
        wait=fields.flag("wait", default=True),
        caller=_parse_caller(fields.values.get("caller")),
    )
    return request, value


def parse_serve(params: object) -> ServeRequest:
    """A `callback.serve` from its parameters.

    Raises:
        BadRequest: names the field and says what would do.
    """
    fields = Fields.of(params, ("sandbox", "methods", "registration"))
    methods = fields.texts("methods", most=MAX_METHODS)
    if not methods:
        raise BadRequest("methods must name at least one method, or a pattern such as 'pay.*'")
    for pattern in methods:
        if not _PATTERN.fullmatch(pattern):
            raise BadRequest(
                "methods must be up to 100 letters, digits and any of '_.:/-', with '*' and '?' for any text and any "
                f"character; one is {pattern[:60]!r}"
            )
    registration = fields.text("registration", "")
    if len(registration) > MAX_REGISTRATION:
        raise BadRequest(f"registration is longer than {MAX_REGISTRATION} characters")
    sandbox = fields.optional_text("sandbox")
    return ServeRequest(None if sandbox is None else check_reference(sandbox), methods, registration)


def digest_of(text: str, *, what: str = "params") -> dict[str, Json]:
    """What the audit says of a JSON text: its sha256 and its size in UTF-8."""
    data = text.encode()
    return {f"{what}_sha256": hashlib.sha256(data).hexdigest(), f"{what}_bytes": len(data)}


def _parse_caller(said: object) -> Mapping[str, object]:
    if said is None:
        return MappingProxyType({})
    fields = Fields.of(said, ("pid", "uid", "program"))
    program = fields.text("program", "")
    if len(program) > MAX_PROGRAM:
        raise BadRequest(f"the caller's program is longer than {MAX_PROGRAM} characters")
    return MappingProxyType(
        {
            "pid": fields.whole("pid", default=0, least=0, most=_LARGEST_PID),
            "uid": fields.whole("uid", default=_LARGEST_UID, least=0, most=_LARGEST_UID),
            # SAFETY: a process chooses its own name, and operators read it on their terminals.
            "program": "".join(letter if letter.isprintable() else "?" for letter in program),
        }
    )
