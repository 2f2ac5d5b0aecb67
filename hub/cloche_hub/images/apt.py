"""How this host's apt reaches its mirrors, carried over to the apt that builds an image.

Parsing and choosing are pure; `read_host_apt` alone touches the system.
Rule: whatever lets the host's apt work (mirrors, proxies, certificates, passwords) works for a build,
so nothing here names an address.
Rule: passwords stay on the host: what goes into the image has none.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

_DEBIAN_SUITES = frozenset({"buster", "bullseye", "bookworm", "trixie", "forky", "sid", "stable", "testing"})
_POCKETS = ("", "-updates", "-security")
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Settings that shape what is downloaded rather than how it is reached.
_NOT_CARRIED = ("Acquire::IndexTargets", "Acquire::Languages", "Acquire::cdrom")
_SETTING = re.compile(r'(Acquire::[^\s"]+) "[^\n]*";')
_TRUE_OPTIONS = {"signed-by": "Signed-By", "trusted": "Trusted", "check-valid-until": "Check-Valid-Until"}


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of apt's sources."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    """deb822 fields that say how to trust it, such as Signed-By (its value may have several lines)."""


@dataclass(frozen=True, slots=True)
class HostApt:
    """What a build takes over from this host."""

    sources: tuple[Source, ...]
    settings: str
    """Lines of an apt.conf."""
    passwords: str
    """Lines of an auth.conf; must never reach an image."""


def parse_one_line(text: str) -> list[Source]:
    """The binary sources of a file in the format of sources.list(5), one line each."""
    sources = []
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].strip()
        match = re.fullmatch(r"deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<rest>.+)", line)
        if match is None:
            continue
        suite, *components = match["rest"].split()
        pairs = (part.partition("=") for part in (match["options"] or "").split())
        options = _carried((name, value) for name, _, value in pairs)
        sources.append(Source((match["uri"],), (suite,), tuple(components), options))
    return sources


def parse_deb822(text: str) -> list[Source]:
    """The enabled binary sources of a file in the deb822 format."""
    sources = []
    for stanza in re.split(r"\n[ \t]*\n", text):
        fields = _fields(stanza)
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").strip() == "no":
            continue
        sources.append(
            Source(
                tuple(fields.get("uris", "").split()),
                tuple(fields.get("suites", "").split()),
                tuple(fields.get("components", "").split()),
                _carried(fields.items()),
            )
        )
    return sources


def _fields(stanza: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1] in (" ", "\t") and name:
            fields[name] += "\n" + line
        elif ":" in line:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
    return fields


def _carried(options: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (_TRUE_OPTIONS[name.lower()], value) for name, value in options if name.lower() in _TRUE_OPTIONS
    )


def choose_sources(sources: Sequence[Source], suite: str) -> tuple[Source, ...]:
    """The sources that serve a suite, its updates and its security updates.

    A host of another Debian release lends its mirrors: their suite is replaced by the wanted one.
    Empty if the host has no Debian mirror at all.
    """
    own = _of_suite(sources, suite, suite)
    if own:
        return own
    for other in sorted(_DEBIAN_SUITES):
        lent = _of_suite(sources, other, suite)
        if lent:
            return lent
    return ()


def _of_suite(sources: Sequence[Source], theirs: str, wanted: str) -> tuple[Source, ...]:
    renamed = {theirs + pocket: wanted + pocket for pocket in _POCKETS}
    chosen = []
    for source in sources:
        suites = tuple(renamed[suite] for suite in source.suites if suite in renamed)
        uris = tuple(uri for uri in source.uris if not uri.startswith("cdrom:"))
        # Third parties publish for a suite too, but under components of their own.
        if suites and uris and "main" in source.components:
            chosen.append(replace(source, uris=uris, suites=suites, components=("main",)))
    return tuple(chosen)


def render_sources(sources: Sequence[Source]) -> str:
    """The sources as a deb822 file."""
    stanzas = []
    for source in sources:
        lines = [
            "Types: deb",
            f"URIs: {' '.join(source.uris)}",
            f"Suites: {' '.join(source.suites)}",
            f"Components: {' '.join(source.components)}",
            *(f"{name}: {value}" for name, value in source.options),
        ]
        stanzas.append("\n".join(lines) + "\n")
    return "\n".join(stanzas)


def sources_for_guest(sources: Sequence[Source]) -> tuple[Source, ...]:
    """The sources as an image may know them: without passwords, with the keyring the image has."""
    known = []
    for source in sources:
        uris = tuple(_without_password(uri) for uri in source.uris if "://" in uri)
        if uris:
            known.append(replace(source, uris=uris, options=(("Signed-By", _KEYRING),)))
    return tuple(known)


def _without_password(uri: str) -> str:
    # SAFETY: the guest is hostile; a mirror's password in its files would be its to use.
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def carried_settings(dump: str) -> str:
    """The lines of `apt-config dump` that say how mirrors are reached: proxies, certificates, time-outs."""
    lines = [
        line
        for line in dump.splitlines()
        if (match := _SETTING.fullmatch(line))
        and not match[1].startswith(_NOT_CARRIED)
        and not line.endswith(' "";')
    ]
    return "".join(line + "\n" for line in lines)


def read_host_apt(etc: Path = Path("/etc/apt")) -> HostApt:
    """What this host's apt is set up with; files the caller may not read are left out."""
    sources: list[Source] = []
    for file in [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]:
        if file.suffix == ".list":
            sources += parse_one_line(_text(file))
        elif file.suffix == ".sources":
            sources += parse_deb822(_text(file))
    auth = [etc / "auth.conf", *sorted((etc / "auth.conf.d").glob("*.conf"))]
    return HostApt(
        sources=tuple(sources),
        settings=carried_settings(_apt_config_dump()),
        passwords="".join(_text(file).rstrip("\n") + "\n" for file in auth if _text(file)),
    )


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _apt_config_dump() -> str:
    # SAFETY: a fixed command line; its output is filtered by `carried_settings`.
    try:
        done = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
