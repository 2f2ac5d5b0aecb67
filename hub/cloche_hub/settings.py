"""Every setting of the hub: its name, its default, its bounds and what it is for.

A setting is taken from the command line, then from the environment (`CLOCHE_` + the name in capitals), then from
`<home>/hub.toml`, then from its default here. Where things lie on disk is no setting of its own:
`cloche_wire.rendezvous` decides that from `CLOCHE_HOME` and `CLOCHE_CACHE`, for hub and client alike.

Rule: settings are read once, at the start, and never change.
Rule: a wrong value is one line that names the setting, the value and what would do.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from cloche_hub.errors import SettingsError
from cloche_hub.setting_values import (
    ListenAddress,
    UidRange,
    parse_listen_address,
    parse_uid_range,
    require_absolute,
    split_list,
)
from cloche_wire.rendezvous import Locations, locations

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

SETTINGS_FILE = "hub.toml"
POLICY_FILE = "policy.toml"
ENV_PREFIX = "CLOCHE_"
_SHOWN = 60
_ADVICE = {
    **dict.fromkeys(("bool_parsing", "bool_type"), "give true or false"),
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "give a whole number, without a unit"),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), "give a number, without a unit"),
    "string_type": "give a text in quotes",
    "path_type": "give an absolute path in quotes",
    "tuple_type": 'give a list of texts, such as ["a", "b"]',
    "literal_error": "give {expected}",
    "greater_than": "give more than {gt}",
    "greater_than_equal": "give at least {ge}",
    "less_than_equal": "give at most {le}",
}
"""What would do, by the validating library's word for what is wrong."""


Addresses = Annotated[
    tuple[Annotated[ListenAddress, BeforeValidator(parse_listen_address)], ...],
    NoDecode,
    BeforeValidator(split_list),
]
Texts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_list)]
Uids = Annotated[UidRange, NoDecode, BeforeValidator(parse_uid_range)]
File = Annotated[Path, AfterValidator(require_absolute)]


class Settings(BaseSettings):
    """The hub's settings; make one with `load_settings`."""

    model_config: ClassVar[SettingsConfigDict] = SettingsConfigDict(
        env_prefix=ENV_PREFIX, frozen=True, extra="forbid", env_ignore_empty=True, allow_inf_nan=False
    )

    listen: Addresses = Field(
        (),
        description="TCP addresses to listen on, HOST:PORT with commas between; none: only the Unix socket.",
    )
    tls_cert: File | None = Field(None, description="Certificate chain (PEM) for the TCP addresses.")
    tls_key: File | None = Field(None, description="Private key (PEM) of the certificate.")
    plain_tcp: bool = Field(
        default=False,
        description="Allow TCP addresses beyond loopback without TLS; tokens then cross the network in the clear.",
    )
    allowed_origins: Texts = Field(
        (),
        description="Origins whose web pages may connect, with commas between; programs send none and always may.",
    )
    max_frame_bytes: int = Field(
        1 << 20, ge=1 << 12, le=1 << 26, description="The longest protocol frame a client may send."
    )
    max_message_bytes: int = Field(
        2 << 20,
        ge=1 << 12,
        le=1 << 27,
        description="The longest websocket message; at least max_frame_bytes.",
    )
    max_connections: int = Field(256, ge=1, le=65536, description="Clients connected at once.")
    max_token_connections: int = Field(
        32, ge=1, le=65536, description="Clients connected at once with one token that is no admin's."
    )
    max_sandboxes: int = Field(
        64, ge=1, le=65536, description="Sandboxes that are not removed, of everybody together."
    )
    default_lease_s: float = Field(
        3600, ge=1, description="Seconds a sandbox lives after its last use, unless its maker says otherwise."
    )
    max_lease_s: float = Field(
        30 * 86400, ge=1, le=10 * 365 * 86400, description="The longest lease; at least default_lease_s."
    )
    resume_grace_s: float = Field(
        30,
        ge=0,
        le=3600,
        description="Seconds a client's session is kept for it to come back after a lost link.",
    )
    heartbeat_interval_s: float = Field(
        5,
        gt=0,
        le=600,
        description="Quiet seconds after which the other end of a link is asked for a sign of life.",
    )
    silent_after_s: float = Field(
        20,
        gt=0,
        le=3600,
        description="Quiet seconds after which a link counts as silent; above heartbeat_interval_s.",
    )
    usage_interval_s: float = Field(
        2,
        ge=0.1,
        le=600,
        description="Seconds between two looks at what machines use, while somebody wants to know.",
    )
    tcg_scale: float = Field(
        4,
        ge=1,
        le=100,
        description="How many times longer the hub waits for a machine in software emulation (tcg).",
    )
    max_cache_gib: float = Field(
        20,
        gt=0,
        le=1 << 20,
        description="GiB of images and templates to keep; those not used for longest go first.",
    )
    record_days: float = Field(
        30, gt=0, le=36500, description="Days recordings of consoles and commands are kept after their end."
    )
    record_max_mib: float = Field(
        64, ge=1, le=1 << 20, description="MiB of one recording on disk, compressed; a longer one is cut."
    )
    record_total_gib: float = Field(
        10, gt=0, le=1 << 20, description="GiB of recordings to keep; beyond them the oldest go first."
    )
    machine_uids: Uids = Field(
        UidRange(1_900_000_000, 1_900_009_999),
        description="User ids machines run as when the hub is root, FIRST-LAST; at least max_sandboxes of them.",
    )
    policy: File | None = Field(
        None,
        description="The file that says what may leave sandboxes; none: policy.toml in the hub's home, if it is there.",
    )
    on_waiting: Texts = Field(
        (),
        description="Command, as a list of words, run for each approval that begins to wait; it gets it as JSON on stdin.",
    )
    callback_burst: int = Field(
        512,
        ge=1,
        le=1_000_000,
        description="Callbacks a sandbox may make at once; beyond it is callbacks_per_s.",
    )
    callbacks_per_s: float = Field(
        10,
        ge=0.001,
        le=1_000_000,
        description="Callbacks a second that a sandbox may make for as long as it likes.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="The least severe log lines to write: debug, info, warning or error."
    )
    log_format: Literal["console", "json"] = Field(
        "console", description="How log lines look: console (for people) or json (one object a line)."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Where settings come from, the first one winning (called by pydantic-settings)."""
        return init_settings, env_settings, InitSettingsSource(settings_cls, _read_file(settings_file()))

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_flags_as_numbers(cls, value: object, info: ValidationInfo) -> object:
        # TOML's true would pass for 1.
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation in (int, float):
            raise ValueError("give a number")
        return value

    @model_validator(mode="after")
    def _fit_together(self) -> Settings:
        for problem in self._misfits():
            raise ValueError(problem)
        return self

    def _misfits(self) -> Iterator[str]:
        if bool(self.tls_cert) != bool(self.tls_key):
            yield "tls_cert and tls_key go together: set both or neither"
        beyond = ", ".join(str(address) for address in self.listen if not address.is_loopback)
        if beyond and not self.tls_cert and not self.plain_tcp:
            yield f"listen has {beyond}, which other hosts can reach: set tls_cert and tls_key, or plain_tcp"
        if self.max_message_bytes < self.max_frame_bytes:
            yield f"max_message_bytes must be at least max_frame_bytes ({self.max_frame_bytes})"
        if self.default_lease_s > self.max_lease_s:
            yield f"default_lease_s must be at most max_lease_s ({self.max_lease_s:g})"
        if self.silent_after_s <= self.heartbeat_interval_s:
            yield f"silent_after_s must be above heartbeat_interval_s ({self.heartbeat_interval_s:g})"
        if self.machine_uids.last - self.machine_uids.first + 1 < self.max_sandboxes:
            yield f"machine_uids must hold at least max_sandboxes ({self.max_sandboxes}) user ids"

    @property
    def locations(self) -> Locations:
        """Where state, cache and socket lie, as the environment says now."""
        return locations()

    @property
    def policy_file(self) -> Path:
        """Where the policy is, which need not exist unless it is set."""
        return self.policy or self.locations.home / POLICY_FILE

    @property
    def max_cache_bytes(self) -> int:
        """`max_cache_gib` in bytes."""
        return int(self.max_cache_gib * (1 << 30))

    @property
    def max_recording_bytes(self) -> int:
        """`record_max_mib` in bytes."""
        return int(self.record_max_mib * (1 << 20))

    @property
    def max_recordings_bytes(self) -> int:
        """`record_total_gib` in bytes."""
        return int(self.record_total_gib * (1 << 30))

    def scale_for(self, accelerator: str) -> float:
        """How many times longer to wait for a machine with this accelerator (kvm or tcg)."""
        return 1.0 if accelerator == "kvm" else self.tcg_scale


def settings_file() -> Path:
    """The file of settings, which need not exist."""
    return locations().home / SETTINGS_FILE


def load_settings(**overrides: Any) -> Settings:
    """The settings of this process.

    Args:
        overrides: settings from the command line, by their names; they win over the environment and the file.

    Raises:
        SettingsError: a value will not do, or the file cannot be read; one line that names the setting.
    """
    try:
        return Settings(**overrides)
    except ValidationError as error:
        raise SettingsError(_told(error, overrides)) from None


def _read_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"cannot read the settings in {path}: {error.strerror}") from None
    except ValueError as error:
        raise SettingsError(f"{path} is not good TOML: {error}") from None


def _told(error: ValidationError, overrides: dict[str, Any]) -> str:
    first = error.errors(include_url=False)[0]
    if not first["loc"]:
        return f"settings do not fit together: {_advice(first)}"
    name = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return _unknown(name, first["input"])
    value = repr(first["input"])
    shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
    return f"setting {name} ({_place(name, overrides)}) is wrong: {_advice(first)}; it is {shown}"


def _advice(error: ErrorDetails) -> str:
    """What would do, in the words of whoever writes settings."""
    advice = _ADVICE.get(error["type"])
    if advice is not None:
        return advice.format(**error.get("ctx", {}))
    message = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return f"{message[:1].lower()}{message[1:]}"


def _unknown(key: str, value: object) -> str:
    where = f"no setting is called {key[:_SHOWN]!r}, as {settings_file()} has it"
    if isinstance(value, dict):
        return f"{where}; settings stand at its top, under no [heading]"
    # People write what they know from the environment, or from other programs.
    plain = key.lower().removeprefix(ENV_PREFIX.lower()).replace("-", "_")
    near = difflib.get_close_matches(plain, Settings.model_fields, n=1)
    return f"{where}; " + (f"did you mean {near[0]!r}?" if near else "the README lists them")


def _place(name: str, overrides: dict[str, Any]) -> str:
    if name in overrides:
        return "from the command line"
    variable = ENV_PREFIX + name.upper()
    # As pydantic-settings reads it: whatever its case, and not when it is empty.
    if any(key.upper() == variable and value for key, value in os.environ.items()):
        return variable
    return f"in {settings_file()}"
