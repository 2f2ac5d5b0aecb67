"""The hub's settings: where they come from, and what is said about a wrong one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from cloche_hub.errors import SettingsError
from cloche_hub.setting_values import ListenAddress, UidRange
from cloche_hub.settings import Settings, load_settings, settings_file


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in [name for name in os.environ if name.upper().startswith("CLOCHE_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("CLOCHE_HOME", str(tmp_path))
    return tmp_path


def test_by_default_the_hub_listens_on_its_unix_socket_only() -> None:
    assert load_settings().listen == ()


def test_every_setting_says_what_it_is_for() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        assert field.description.endswith("."), name


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "hub.toml").write_text("max_sandboxes = 1\nmax_connections = 1\nresume_grace_s = 1\n")
    monkeypatch.setenv("CLOCHE_MAX_CONNECTIONS", "2")
    monkeypatch.setenv("CLOCHE_RESUME_GRACE_S", "2")
    settings = load_settings(resume_grace_s=3)
    assert (settings.max_sandboxes, settings.max_connections, settings.resume_grace_s) == (1, 2, 3)


def test_a_list_is_one_text_with_commas_in_the_environment_and_a_list_in_the_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOCHE_LISTEN", "127.0.0.1:7070, [::1]:0")
    (home / "hub.toml").write_text('allowed_origins = ["https://a.example", "https://b.example"]\n')
    settings = load_settings()
    assert settings.listen == (ListenAddress("127.0.0.1", 7070), ListenAddress("::1", 0))
    assert settings.allowed_origins == ("https://a.example", "https://b.example")
    assert [str(address) for address in settings.listen] == ["127.0.0.1:7070", "[::1]:0"]


def test_a_command_is_a_list_of_words(home: Path) -> None:
    (home / "hub.toml").write_text('on_waiting = ["notify-send", "--", "an approval waits, look"]\n')
    assert load_settings().on_waiting == ("notify-send", "--", "an approval waits, look")


def test_values_of_our_own_types_are_taken_as_they_are() -> None:
    address, uids = ListenAddress("localhost", 1), UidRange(2000, 3000)
    settings = load_settings(listen=(address,), machine_uids=uids)
    assert (settings.listen, settings.machine_uids) == ((address,), uids)


def test_a_range_of_user_ids_is_read_from_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCHE_MACHINE_UIDS", "2000-3000")
    assert load_settings().machine_uids == UidRange(2000, 3000)


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCHE_MAX_SANDBOXES", "")
    assert load_settings().max_sandboxes == Settings.model_fields["max_sandboxes"].default


def test_variables_that_are_not_the_hubs_do_not_disturb_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOCHE_TOKEN", "clt_x")
    monkeypatch.setenv("CLOCHE_HUB", "ws://localhost:7070")
    load_settings()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("listen", "7070", "give HOST:PORT"),
        ("listen", ":7070", "give HOST:PORT"),
        ("listen", "::1:7070", "give HOST:PORT"),
        ("listen", "[localhost]:7070", "give HOST:PORT"),
        ("listen", "localhost:http", "give HOST:PORT"),
        ("listen", "localhost:70707", "a port is at most 65535"),
        ("tls_cert", "cert.pem", "give an absolute path"),
        ("max_frame_bytes", "1", "give at least 4096"),
        ("max_connections", "many", "give a whole number, without a unit"),
        ("default_lease_s", "0.5", "give at least 1"),
        ("default_lease_s", "nan", "give a number, without a unit"),
        ("max_lease_s", "1e99", "give at most"),
        ("tcg_scale", "0.5", "give at least 1"),
        ("machine_uids", "0-10", "two user ids above 1000"),
        ("machine_uids", "3000-2000", "the smaller one first"),
        ("machine_uids", "4294967290-4294967295", "two user ids"),
        ("machine_uids", "2000", "give FIRST-LAST"),
        ("machine_uids", "a-b", "give FIRST-LAST"),
        ("log_level", "loud", "'debug', 'info', 'warning' or 'error'"),
        ("plain_tcp", "perhaps", "give true or false"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_the_setting_its_place_and_the_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"CLOCHE_{name.upper()}", value)
    line = refusal()
    assert line.startswith(f"setting {name} (CLOCHE_{name.upper()}) is wrong: ")
    assert said in line
    assert value in line
    assert "\n" not in line


def test_a_wrong_value_is_traced_to_the_file_or_the_command_line(home: Path) -> None:
    assert refusal(max_sandboxes=0).startswith("setting max_sandboxes (from the command line) is wrong")
    (home / "hub.toml").write_text("max_sandboxes = 0\n")
    assert refusal().startswith(f"setting max_sandboxes (in {home}/hub.toml) is wrong")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"tls_cert": "/cert.pem"}, "tls_cert and tls_key go together"),
        ({"listen": "0.0.0.0:7070"}, "listen has 0.0.0.0:7070, which other hosts can reach"),
        ({"listen": "hub.example:7070"}, "which other hosts can reach"),
        (
            {"max_frame_bytes": 8192, "max_message_bytes": 4096},
            "max_message_bytes must be at least max_frame_bytes (8192)",
        ),
        ({"default_lease_s": 10, "max_lease_s": 5}, "default_lease_s must be at most max_lease_s (5)"),
        (
            {"silent_after_s": 5, "heartbeat_interval_s": 5},
            "silent_after_s must be above heartbeat_interval_s (5)",
        ),
        ({"machine_uids": "2000-2009"}, "machine_uids must hold at least max_sandboxes (64) user ids"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused_by_name(values: dict[str, Any], said: str) -> None:
    line = refusal(**values)
    assert line.startswith("settings do not fit together: ")
    assert said in line


@pytest.mark.parametrize(
    "values",
    [
        {"listen": "127.0.0.1:1,localhost:1,[::1]:1"},
        {"listen": "0.0.0.0:1", "plain_tcp": True},
        {"listen": "0.0.0.0:1", "tls_cert": "/cert.pem", "tls_key": "/key.pem"},
    ],
)
def test_loopback_needs_no_tls_and_the_rest_needs_it_or_a_word(values: dict[str, Any]) -> None:
    load_settings(**values)


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("max_sandbox = 3", "did you mean 'max_sandboxes'?"),
        ("log-level = 'info'", "did you mean 'log_level'?"),
        ("CLOCHE_LISTEN = []", "did you mean 'listen'?"),
        ("zzz = 3", "the README lists them"),
        ("[hub]\nlisten = []", "settings stand at its top, under no [heading]"),
    ],
)
def test_an_unknown_setting_in_the_file_is_named_with_what_may_be_meant(
    home: Path, line: str, advice: str
) -> None:
    (home / "hub.toml").write_text(f"{line}\n")
    key = line.partition(" ")[0].partition("]")[0].strip("[")
    assert refusal() == f"no setting is called {key!r}, as {home}/hub.toml has it; {advice}"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("listen = 5", 'give a list of texts, such as ["a", "b"]; it is 5'),
        ("allowed_origins = [3]", "give a text in quotes; it is 3"),
        ("tls_cert = 5", "give an absolute path in quotes; it is 5"),
        ("max_sandboxes = true", "give a number; it is True"),
        ("max_sandboxes = 1.5", "give a whole number, without a unit; it is 1.5"),
        ("default_lease_s = '1h'", "give a number, without a unit; it is '1h'"),
        ("plain_tcp = 3", "give true or false; it is 3"),
        ("log_format = {a = 1}", "give 'console' or 'json'; it is {'a': 1}"),
        (f"listen = '{'x' * 99}'", f"such as 127.0.0.1:7070 or [::1]:7070; it is '{'x' * 59}…"),
    ],
)
def test_a_value_of_another_type_in_the_file_is_one_line_with_what_would_do(
    home: Path, line: str, said: str
) -> None:
    (home / "hub.toml").write_text(f"{line}\n")
    told = refusal()
    assert told.startswith(f"setting {line.partition(' ')[0]} (in {home}/hub.toml) is wrong: ")
    assert told.endswith(said)


def test_a_file_that_is_not_good_toml_is_named_with_the_place(home: Path) -> None:
    (home / "hub.toml").write_text("listen = [\n")
    assert refusal().startswith(f"{home}/hub.toml is not good TOML: ")
    (home / "hub.toml").write_bytes(b"\xff")
    assert refusal().startswith(f"{home}/hub.toml is not good TOML: ")


def test_a_file_that_cannot_be_read_is_named(home: Path) -> None:
    (home / "hub.toml").mkdir()
    assert refusal() == f"cannot read the settings in {home}/hub.toml: Is a directory"


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load_settings().max_sandboxes = 1


def test_the_file_and_the_places_follow_the_environments_home(home: Path) -> None:
    assert settings_file() == home / "hub.toml"
    assert load_settings().locations.home == home


def test_the_policy_is_in_the_home_unless_it_is_named(home: Path) -> None:
    assert (load_settings().policy, load_settings().policy_file) == (None, home / "policy.toml")
    (home / "hub.toml").write_text("policy = '/etc/cloche/policy.toml'\n")
    assert load_settings().policy_file == Path("/etc/cloche/policy.toml")
    assert "give an absolute path" in refusal(policy="policy.toml")


def test_waits_for_a_machine_in_software_emulation_are_longer() -> None:
    settings = load_settings(tcg_scale=3)
    assert (settings.scale_for("kvm"), settings.scale_for("tcg"), settings.scale_for("unproven")) == (1, 3, 3)


def test_the_caches_bound_is_given_in_gib() -> None:
    assert load_settings(max_cache_gib=1.5).max_cache_bytes == 3 << 29
    assert load_settings(record_max_mib=1.5).max_recording_bytes == 3 << 19
    assert load_settings(record_total_gib=1.5).max_recordings_bytes == 3 << 29


def refusal(**overrides: Any) -> str:
    with pytest.raises(SettingsError) as error:
        load_settings(**overrides)
    return str(error.value)
