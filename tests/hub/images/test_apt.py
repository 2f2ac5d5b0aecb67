"""What a build takes over from the host's apt."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloche_hub.images.apt import (
    Source,
    carried_settings,
    choose_sources,
    parse_deb822,
    parse_one_line,
    read_host_apt,
    render_sources,
    sources_for_guest,
)

_DEB822 = """# a mirror
Types: deb deb-src
URIs: http://mirror/debian http://other/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/k.gpg

Types: deb
URIs: http://off/
Suites: bookworm
Components: main
Enabled: no

Types: deb-src
URIs: http://source/
Suites: bookworm
Components: main
"""


def _source(uri: str = "http://m/debian", suite: str = "bookworm", *components: str) -> Source:
    return Source((uri,), (suite,), components or ("main",))


def test_a_deb822_file_gives_its_enabled_binary_sources() -> None:
    assert parse_deb822(_DEB822) == [
        Source(
            ("http://mirror/debian", "http://other/debian"),
            ("bookworm", "bookworm-updates"),
            ("main", "contrib"),
            (("Signed-By", "/usr/share/keyrings/k.gpg"),),
        )
    ]


def test_a_key_inside_a_deb822_file_is_kept_whole() -> None:
    key = "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc=\n -----END PGP PUBLIC KEY BLOCK-----"
    text = f"Types: deb\nURIs: http://m/\nSuites: bookworm\nComponents: main\nSigned-By:{key}\n"

    assert parse_deb822(text)[0].options == (("Signed-By", key),)
    assert f"Signed-By: {key}" in render_sources(parse_deb822(text))


def test_a_one_line_file_gives_its_binary_sources() -> None:
    text = (
        "# deb http://off/ bookworm main\n"
        "deb http://m/debian bookworm main contrib  # comment\n"
        "deb [arch=amd64 signed-by=/k.gpg trusted=yes] https://s/debian bookworm-security main\n"
        "deb-src http://m/debian bookworm main\n"
    )

    assert parse_one_line(text) == [
        Source(("http://m/debian",), ("bookworm",), ("main", "contrib")),
        Source(
            ("https://s/debian",),
            ("bookworm-security",),
            ("main",),
            (("Signed-By", "/k.gpg"), ("Trusted", "yes")),
        ),
    ]


def test_the_sources_of_the_suite_its_updates_and_its_security_are_chosen() -> None:
    both = Source(("http://m/debian",), ("bookworm", "bookworm-updates", "bookworm-backports"), ("main", "x"))

    chosen = choose_sources([both, _source("http://s/", "bookworm-security")], "bookworm")

    assert chosen == (
        Source(("http://m/debian",), ("bookworm", "bookworm-updates"), ("main",)),
        _source("http://s/", "bookworm-security"),
    )


@pytest.mark.parametrize(
    "source",
    [
        _source("http://docker/", "bookworm", "stable"),
        _source("https://node/", "nodistro", "main"),
        _source("http://pg/", "bookworm-pgdg", "main"),
        _source("cdrom:[Debian]/", "bookworm", "main"),
    ],
)
def test_third_parties_and_discs_are_left_out(source: Source) -> None:
    assert choose_sources([source, _source()], "bookworm") == (_source(),)


def test_a_host_of_another_release_lends_its_mirrors() -> None:
    host = [_source(suite="trixie"), _source("http://s/", "trixie-security")]

    assert choose_sources(host, "bookworm") == (_source(), _source("http://s/", "bookworm-security"))


def test_a_host_without_debian_mirrors_lends_nothing() -> None:
    assert choose_sources([_source("http://ubuntu/", "noble")], "bookworm") == ()


def test_rendered_sources_read_back_as_they_were() -> None:
    sources = [_source(), Source(("https://s/",), ("bookworm-security",), ("main",), (("Signed-By", "/k"),))]

    assert parse_deb822(render_sources(sources)) == sources


def test_the_guest_learns_no_password_and_no_host_path() -> None:
    host = Source(
        ("https://me:secret@m:8443/debian", "file:/mirror"), ("bookworm",), ("main",), (("Signed-By", "/x"),)
    )

    guest = sources_for_guest([host, _source("file:/srv/debian")])

    assert guest == (
        Source(
            ("https://m:8443/debian",),
            ("bookworm",),
            ("main",),
            (("Signed-By", "/usr/share/keyrings/debian-archive-keyring.gpg"),),
        ),
    )


def test_settings_on_how_to_reach_mirrors_are_carried_over() -> None:
    dump = (
        'APT::Architecture "amd64";\n'
        'Acquire "";\n'
        'Acquire::http::Proxy "http://proxy:3128";\n'
        'Acquire::https::CaInfo "/etc/ssl/corp.pem";\n'
        'Acquire::Languages:: "none";\n'
        'Acquire::IndexTargets::deb::Packages::MetaKey "x";\n'
        'Acquire::Check-Valid-Until "false";\n'
        'DPkg::Post-Invoke:: "rm -rf /";\n'
    )

    assert carried_settings(dump) == (
        'Acquire::http::Proxy "http://proxy:3128";\n'
        'Acquire::https::CaInfo "/etc/ssl/corp.pem";\n'
        'Acquire::Check-Valid-Until "false";\n'
    )


def test_both_kinds_of_source_files_and_the_passwords_are_read(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text("deb http://one/ bookworm main\n")
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d/a.sources").write_text(
        "Types: deb\nURIs: http://two/\nSuites: bookworm\nComponents: main\n"
    )
    (tmp_path / "sources.list.d/b.list.disabled").write_text("deb http://off/ bookworm main\n")
    (tmp_path / "auth.conf").write_text("machine one login me password secret")

    host = read_host_apt(tmp_path)

    assert host.sources == (_source("http://one/"), _source("http://two/"))
    assert host.passwords == "machine one login me password secret\n"


def test_a_host_without_any_settings_is_read_as_empty(tmp_path: Path) -> None:
    host = read_host_apt(tmp_path)

    assert (host.sources, host.passwords) == ((), "")
