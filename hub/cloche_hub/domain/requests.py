"""What clients ask for, parsed and checked: `sandbox.create` and `exec`, and what every program that is started needs.

Parsed at the border, trusted inside: whoever holds one of these values need not check it again.
Rule: an environment's values never reach the audit or a log, its names do. So with secrets, which no error says either.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from cloche_hub.domain.audit import Json
from cloche_hub.domain.fields import Fields
from cloche_hub.domain.flavors import DEFAULT_FLAVOR, Flavor, flavor_named
from cloche_hub.domain.guest_limits import GUEST_LIMITS
from cloche_hub.domain.ids import new_id
from cloche_hub.domain.masking import MIN_SECRET, NO_SECRETS, Secrets
from cloche_hub.domain.names import check_name, friendly_name
from cloche_hub.domain.paths import parse_folder
from cloche_hub.domain.references import check_reference
from cloche_hub.domain.sandbox import Sandbox, State
from cloche_hub.errors import BadRequest

DEFAULT_RECIPE = "python"
MAX_ENV = 512
"""Variables."""
MAX_ENV_NAME = 128
"""Characters of a variable's name."""
MAX_SECRETS = 64
MAX_LABELS = 64
MAX_LABEL_VALUE = 256
"""Characters."""
MAX_ARGV = 4096
"""Arguments."""
MAX_ARGUMENT = (128 << 10) - 1
"""Bytes of one argument or `NAME=value`: what Linux takes (MAX_ARG_STRLEN with its final NUL)."""
MAX_ARGUMENTS = GUEST_LIMITS.max_frame * 7 // 8
"""Bytes of all arguments and variables together, each with its final NUL: they travel in one frame to the guest.

The rest is for what frames them, about 3 % of them, and for the other parameters. Linux would take 2 MiB.
"""
MIN_LEASE_S = 1.0
"""Below it a sandbox would be gone before its maker could use it."""
MAX_TIMEOUT_S = 30 * 86400.0
AUDITED_ARGV = 4096
"""Characters of a command line that the audit holds itself; its digest covers the rest."""

# SAFETY: a recipe's name becomes a folder's name: no slash, no leading dot.
_RECIPE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_LABEL = re.compile(r"[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?", re.ASCII)
# The names useradd accepts, or a number.
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}|[0-9]{1,10}", re.ASCII)


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """A checked `sandbox.create`."""

    recipe: str
    flavor: Flavor
    name: str | None
    """None: make one up."""
    env: Mapping[str, str]
    labels: Mapping[str, str]
    lease_s: float
    build: bool
    """Build the image first if there is none."""
    secrets: Secrets = field(default=NO_SECRETS, repr=False)
    """In the environment too, but no part of the sandbox that is stored."""

    def sandbox(self, *, owner: str, at: datetime, crowded: bool = False) -> Sandbox:
        """The sandbox asked for, in its first state, with a fresh id.

        Args:
            owner: whose it will be.
            at: when it is created.
            crowded: a name made up before was taken: make up one that is not.
        """
        return Sandbox(
            id=new_id("sb"),
            name=self.name or friendly_name(crowded=crowded),
            owner=owner,
            recipe=self.recipe,
            flavor=self.flavor.name,
            state=State.CREATING,
            created_at=at,
            lease_s=self.lease_s,
            labels=self.labels,
            env=self.env,
        )

    def audit_detail(self, sandbox: Sandbox) -> dict[str, Json]:
        """What `sandbox.created` says."""
        return {
            "name": sandbox.name,
            "owner": sandbox.owner,
            "recipe": self.recipe,
            "flavor": self.flavor.name,
            "labels": dict(self.labels),
            "env_names": sorted(self.env),
            "secret_names": sorted(self.secrets.variables),
            "lease_ms": round(self.lease_s * 1000),
        }


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """A checked `exec`."""

    sandbox: str
    """A reference, not yet resolved."""
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str | None
    user: str | None
    timeout_s: float | None
    stdin: bool
    record: bool = False
    """Keep what it writes as a recording."""

    def audit_detail(self) -> dict[str, Json]:
        """What `exec.started` says."""
        detail = program_detail(self.argv, self.env, cwd=self.cwd, user=self.user)
        if self.timeout_s is not None:
            detail["timeout_ms"] = round(self.timeout_s * 1000)
        return detail


def parse_create(params: object, *, default_lease_s: float, max_lease_s: float) -> CreateRequest:
    """A `sandbox.create` from its parameters.

    Args:
        params: {recipe, flavor, name?, env, secrets, labels, lease_s?, build}; what is absent has a default.
        default_lease_s: the lease of one that names none.
        max_lease_s: the longest lease there is.

    Raises:
        BadRequest: names the field and says what would do.
    """
    fields = Fields.of(params, ("recipe", "flavor", "name", "env", "secrets", "labels", "lease_s", "build"))
    recipe = parse_recipe(fields)
    name = fields.optional_text("name")
    lease_s = fields.seconds("lease_s", most=max_lease_s)
    if lease_s is not None and lease_s < MIN_LEASE_S:
        raise BadRequest(f"lease_s must be at least {MIN_LEASE_S:g} second, not {lease_s:g}")
    env = parse_env(fields)
    return CreateRequest(
        recipe=recipe,
        flavor=flavor_named(fields.text("flavor", DEFAULT_FLAVOR)),
        name=None if name is None else check_name(name),
        env=env,
        labels=parse_labels(fields),
        lease_s=default_lease_s if lease_s is None else lease_s,
        build=fields.flag("build", default=False),
        secrets=_parse_secrets(fields, env),
    )


def parse_exec(params: object) -> ExecRequest:
    """An `exec` from its parameters.

    Args:
        params: {sandbox, argv, env, cwd?, user?, timeout_s?, stdin, record}; what is absent has a default but the first
            two.

    Raises:
        BadRequest: names the field and says what would do.
    """
    fields = Fields.of(params, ("sandbox", "argv", "env", "cwd", "user", "timeout_s", "stdin", "record"))
    argv, env = parse_argv(fields), parse_env(fields)
    check_together(argv, env)
    return ExecRequest(
        sandbox=check_reference(fields.text("sandbox")),
        argv=argv,
        env=env,
        cwd=parse_folder(fields, "cwd"),
        user=parse_user(fields),
        timeout_s=fields.seconds("timeout_s", most=MAX_TIMEOUT_S),
        stdin=fields.flag("stdin", default=False),
        record=fields.flag("record", default=False),
    )


def parse_recipe(fields: Fields) -> str:
    """The `recipe` of a request.

    Raises:
        BadRequest: no recipe can be called that.
    """
    recipe = fields.text("recipe", DEFAULT_RECIPE)
    if not _RECIPE.fullmatch(recipe):
        raise BadRequest(
            f"recipe {recipe[:70]!r} will not do: a recipe's name has up to 64 of a-z, 0-9, '.', '_', '-'"
        )
    return recipe


def parse_env(fields: Fields) -> dict[str, str]:
    """The `env` of a request.

    Raises:
        BadRequest: a variable's name or size will not do, or all together are too large.
    """
    env = _parse_variables(fields, "env", most=MAX_ENV)
    if _size(env) > MAX_ARGUMENTS:
        raise BadRequest(
            f"env is {_size(env)} bytes; the limit is {MAX_ARGUMENTS}; pass data in files or by stdin"
        )
    return env


def parse_labels(fields: Fields) -> dict[str, str]:
    """The `labels` of a request.

    Raises:
        BadRequest: a key or a value will not do.
    """
    labels = fields.text_map("labels", most=MAX_LABELS)
    for key, value in labels.items():
        check_label_key(key)
        if len(value) > MAX_LABEL_VALUE or not value.isprintable():
            raise BadRequest(f"labels[{key!r}] must be at most {MAX_LABEL_VALUE} printable characters")
    return labels


def check_label_key(key: str) -> None:
    """Refuses what can be no label's key.

    Raises:
        BadRequest: it can not.
    """
    if not _LABEL.fullmatch(key):
        raise BadRequest(
            f"labels has a key {key[:64]!r}: a key has up to 63 of a-z, 0-9, '.', '_', '-', '/' "
            "and begins and ends with a letter or digit"
        )


def parse_argv(fields: Fields) -> tuple[str, ...]:
    """The `argv` of a request.

    Raises:
        BadRequest: it names no command, or has an argument that is too long.
    """
    argv = fields.texts("argv", most=MAX_ARGV)
    if not argv or not argv[0]:
        raise BadRequest("argv must begin with a command")
    for index, argument in enumerate(argv):
        if len(argument.encode()) > MAX_ARGUMENT:
            raise BadRequest(f"argv[{index}] is longer than {MAX_ARGUMENT} bytes; pass data by stdin")
    return argv


def parse_user(fields: Fields) -> str | None:
    """The `user` of a request; None: the machine's ordinary user.

    Raises:
        BadRequest: no user can be called that.
    """
    user = fields.optional_text("user")
    if user is not None and not _USER.fullmatch(user):
        raise BadRequest(f"user {user[:40]!r} will not do: give a user's name or number")
    return user


def check_together(argv: tuple[str, ...], env: Mapping[str, str]) -> None:
    """Raises BadRequest where arguments and variables are too large together."""
    total = sum(len(argument.encode()) + 1 for argument in argv) + _size(env)
    if total > MAX_ARGUMENTS:
        raise BadRequest(
            f"argv and env are {total} bytes together; the limit is {MAX_ARGUMENTS}; pass data by stdin"
        )


def program_detail(
    argv: tuple[str, ...], env: Mapping[str, str], *, cwd: str | None, user: str | None
) -> dict[str, Json]:
    """What the audit says of a program that is started: its command line, cut if it is long, and then its digest.

    The digest is sha256 over the arguments in UTF-8, each with a NUL behind it.
    """
    cut = cut_argv(argv)
    detail: dict[str, Json] = {"argv": list(cut), "env_names": sorted(env)}
    if cut != argv:
        detail["argv_sha256"] = hashlib.sha256(b"".join(arg.encode() + b"\0" for arg in argv)).hexdigest()
    if cwd is not None:
        detail["cwd"] = cwd
    if user is not None:
        detail["user"] = user
    return detail


def cut_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """A command line as it is kept: its first `AUDITED_ARGV` characters."""
    kept: list[str] = []
    room = AUDITED_ARGV
    for argument in argv:
        if room <= 0:
            break
        kept.append(argument[:room])
        room -= len(argument) + 1
    return tuple(kept)


def _parse_secrets(fields: Fields, env: Mapping[str, str]) -> Secrets:
    """The `secrets` of a request, which are variables beside those of `env`."""
    variables = _parse_variables(fields, "secrets", most=MAX_SECRETS)
    for name, value in variables.items():
        if name in env:
            raise BadRequest(f"{name} is in env and in secrets; give it once")
        if len(value.strip().encode()) < MIN_SECRET:
            raise BadRequest(
                f"secrets[{name!r}] is shorter than {MIN_SECRET} bytes: it could not be hidden; give it as a plain variable"
            )
    if _size(env) + _size(variables) > MAX_ARGUMENTS:
        raise BadRequest(f"env and secrets are more than {MAX_ARGUMENTS} bytes together; pass data in files")
    return Secrets(variables)


def _parse_variables(fields: Fields, name: str, *, most: int) -> dict[str, str]:
    variables = fields.text_map(name, most=most)
    for variable in variables.items():
        if len(variable[0]) > MAX_ENV_NAME or not _VARIABLE.fullmatch(variable[0]):
            raise BadRequest(
                f"{name} has a variable {variable[0][:60]!r}: a name has up to {MAX_ENV_NAME} letters, digits and '_'"
            )
        if _variable_size(variable) > MAX_ARGUMENT:
            raise BadRequest(f"{name}[{variable[0][:60]!r}] is longer than {MAX_ARGUMENT} bytes")
    return variables


def _size(env: Mapping[str, str]) -> int:
    return sum(map(_variable_size, env.items()))


def _variable_size(variable: tuple[str, str]) -> int:
    return sum(len(part.encode()) + 1 for part in variable)
