"""The README: every snippet runs, every table says what the code says."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cloche.cli import failures
from cloche.config import DEFAULT_RECONNECT_S
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.ports import Image
from cloche_hub.setting_values import UidRange
from cloche_hub.settings import ENV_PREFIX, Settings
from cloche_tui.themes import OWN
from cloche_tui.themes.files import read_theme
from cloche_tui.themes.hubs import hub_mark, read_hub_marks
from tests.support.real_hub import RealHub

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text()


def _snippets(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return [snippet for named, snippet in found if named == language]


def _policies() -> list[str]:
    return [snippet for snippet in _snippets("toml") if "[[rule]]" in snippet]


# What each program of the README has in it and no other one has.
BLOCKING, ASYNCHRONOUS, CONSOLE, FILES = (
    "stream, piece in process",
    "aio.Hub.connect",
    "console.wait",
    "sandbox.files",
)
RECORDINGS = "hub.recordings"
POLICY, APPROVALS, TOKENS, EVENTS = "hub.policy", "hub.approvals", "hub.tokens", "hub.events"
PROGRAMS = (BLOCKING, ASYNCHRONOUS, CONSOLE, RECORDINGS, FILES, POLICY, APPROVALS, TOKENS, EVENTS)


def _run_program(hub: RealHub, words_in_it: str, *, cwd: Path | None = None) -> str:
    """Runs the program of the README that has these words in it, to a good end; returns what it shows."""
    (program,) = (snippet for snippet in _snippets("python") if words_in_it in snippet)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=hub.env, cwd=cwd, capture_output=True, text=True, timeout=80,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_every_program_is_one_that_the_tests_here_run() -> None:
    assert [[words for words in PROGRAMS if words in snippet] for snippet in _snippets("python")] == [
        [words] for words in PROGRAMS
    ]


def _rows() -> dict[str, str]:
    """The second cell of each row of a table, by the first one in code quotes."""
    return dict(re.findall(r"^\| `(CLOCHE_\w+)` \| (.*?) ?\|", TEXT, re.MULTILINE))


@pytest.fixture
def hub(python_image: Image, tmp_path: Path) -> Iterator[RealHub]:
    """What the commands of the README start by themselves, ended whatever happens."""
    hub = RealHub(tmp_path)
    try:
        yield hub
    finally:
        hub.cloche("hub", "stop")
        hub.stop()


@pytest.mark.machine
def test_the_commands_do_what_they_say(hub: RealHub) -> None:
    script = "\n".join(_snippets("sh"))
    path = f"{Path(sys.executable).parent}:{hub.env['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env={**hub.env, "PATH": path}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=170,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in ("42", "out", "2", "root", "a note") if line not in lines] == []
    assert "cloche: started a hub in the background" in done.stderr
    assert "err" in done.stderr.splitlines()
    assert hub.cloche("hub", "status").status == failures.FAILED, "it was stopped"
    assert hub.cloche("hub", "logs").out, "and has left its log"


@pytest.mark.machine
def test_the_programs_do_what_they_say(hub: RealHub) -> None:
    hub.start()
    for words_in_it, words in (
        (BLOCKING, ["hi", "stdout b'working\\n'", "stderr b'done\\n'", "0"]),
        (ASYNCHRONOUS, ["hello "]),
        (CONSOLE, [">>> 6 * 7\n42\n>>>\n0\n"]),
    ):
        shown = _run_program(hub, words_in_it)
        assert [word for word in words if word not in shown] == []


@pytest.mark.machine
def test_the_program_with_recordings_does_what_it_says(hub: RealHub, tmp_path: Path) -> None:
    hub.start()
    same, line = _run_program(hub, RECORDINGS, cwd=tmp_path).splitlines()
    saved = (tmp_path / "console.cast").read_bytes()
    assert same == f"True {hashlib.sha256(saved).hexdigest()}"
    assert line.endswith("the key is ********")
    assert b"hunter22" not in saved


@pytest.mark.machine
def test_the_program_with_files_does_what_it_says(hub: RealHub, tmp_path: Path) -> None:
    hub.start()
    (tmp_path / "here").mkdir()
    assert (
        _run_program(hub, FILES, cwd=tmp_path / "here")
        == "2\n ['input.txt', 'lines.txt']\n2 files, 10 bytes\n"
    )
    assert (tmp_path / "here/job/lines.txt").read_text() == "2\n"


@pytest.mark.machine
def test_the_policy_decides_as_it_says(tmp_path: Path) -> None:
    text, _ = _policies()
    (session,) = (snippet for snippet in _snippets("console") if "policy check" in snippet)
    (tmp_path / "policy.toml").write_text(text)
    hub = RealHub(tmp_path)
    hub.start()
    try:
        for asked in session.removeprefix("$ ").split("\n$ "):
            command, _, answer = asked.partition("\n")
            words = [str(tmp_path / word) if word == "policy.toml" else word for word in shlex.split(command)]
            assert hub.cloche(*words[1:]).text.rstrip() == answer.rstrip()
        assert _run_program(hub, POLICY).splitlines() == [
            f"{tmp_path}/policy.toml", "5 allow small payments", "500 deny default"
        ]  # fmt: skip
    finally:
        hub.stop()


def test_the_dashboard_s_own_files_are_understood() -> None:
    hubs, theme = (snippet for snippet in _snippets("toml") if "[[rule]]" not in snippet)
    rules, problems = read_hub_marks(hubs)
    assert problems == ()
    assert hub_mark("wss://cloche.example:7070", rules).name == "production"
    (own,) = (one for one in OWN if one.name == "cloche-dark")
    mine = read_theme("mine", theme, {own.name: own})
    assert (mine.primary, mine.background) == ("#7db3ea", own.background)


@pytest.fixture
def asking_hub(hub: RealHub, tmp_path: Path) -> RealHub:
    """A hub that asks a person about payments."""
    _, text = _policies()
    (tmp_path / "policy.toml").write_text(text)
    hub.start()
    return hub


@pytest.mark.machine
def test_a_call_is_held_edited_and_answered_in_one_program(asking_hub: RealHub) -> None:
    assert _run_program(asking_hub, APPROVALS).splitlines() == [
        "asked for pay.send {'amount': 30, 'to': 'alice'} by rule payments", "the guest got {'paid': 20}", ""
    ]  # fmt: skip


@pytest.mark.machine
def test_a_person_decides_on_the_command_line(asking_hub: RealHub, tmp_path: Path) -> None:
    serve, decide = (
        snippet for snippet in _snippets("console") if "cloche callbacks" in snippet or "approv" in snippet
    )
    (tmp_path / "pay.py").write_text("import json; print(json.dumps({'paid': json.load(open(0))['amount']}))")
    assert asking_hub.cloche("create", "--name", "box").status == 0
    call = ["exec", "box", "--", "cloche-callback", "pay.send", '{"amount": 30, "to": "alice"}']
    words = shlex.split(serve.removeprefix("$ cloche"), comments=True)
    pipe: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": asking_hub.env}
    with _started(asking_hub.command(*words), cwd=tmp_path, **pipe) as serving:
        assert serving.stderr is not None
        assert serving.stderr.readline().startswith(b"cloche: answering pay.* of box")
        with _started(asking_hub.command(*call), **pipe) as calling:
            asked = _first_approval(asking_hub)
            commands = re.findall(r"^\$ cloche (.*)\n((?:(?!\$ ).*\n)+)", decide, re.MULTILINE)
            assert len(commands) == 2
            for command, expected in commands:
                told = asking_hub.cloche(*shlex.split(command.replace("apr_9e64", asked))).text
                assert _without_what_varies(told) == _without_what_varies(expected)
            assert calling.communicate(timeout=60)[0] == b'{"paid": 20}\n'
        serving.send_signal(signal.SIGINT)
        assert b"answered" in serving.communicate(timeout=60)[1]


@contextlib.contextmanager
def _started(words: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the context, also where that is left by an error."""
    with subprocess.Popen(words, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def _first_approval(hub: RealHub) -> str:
    """The id of the first call that waits."""
    watch = hub.command("approvals", "watch", "--json")
    with _started(watch, stdout=subprocess.PIPE, env=hub.env) as watching:
        assert watching.stdout is not None
        approval = json.loads(watching.stdout.readline())
        watching.terminate()
    return str(approval["id"])


def _without_what_varies(text: str) -> str:
    return re.sub(r"\d+ s ago", "N s ago", re.sub(r"(apr|tok)_\w+", r"\1_", text))


@pytest.mark.machine
def test_a_token_is_good_until_it_is_revoked(tmp_path: Path) -> None:
    (session,) = (snippet for snippet in _snippets("console") if "token create" in snippet)
    hub = RealHub(tmp_path)
    hub.start()
    try:
        words = session.removeprefix("$ export CLOCHE_TOKEN=$(").rstrip(")\n").split()
        made = hub.cloche(*words[1:])
        assert hub.cloche("hub", "status", env={"CLOCHE_TOKEN": made.text.strip()}).status == 0
        first, second = _run_program(hub, TOKENS).splitlines()
        assert (first, "was revoked" in second) == ("owner []", True)
    finally:
        hub.stop()


@pytest.mark.machine
def test_the_events_of_a_sandbox_are_its_life(hub: RealHub) -> None:
    hub.start()
    shown = _run_program(hub, EVENTS)
    assert shown.splitlines()[-1] == "gone removed"
    assert "changed running" in shown


def test_what_make_is_asked_for_is_there() -> None:
    (plain,) = _snippets("")
    assert [
        line
        for line in plain.splitlines()
        if f"\n{line.removeprefix('make ')}:" not in (ROOT / "Makefile").read_text()
    ] == []


def test_the_defaults_of_the_settings_are_those_of_the_code() -> None:
    told = _rows()
    expected = {
        f"{ENV_PREFIX}{name.upper()}": _default(field.default)
        for name, field in Settings.model_fields.items()
    }
    assert {name: told.get(name) for name in expected} == expected
    assert told["CLOCHE_RECONNECT_S"] == f"{DEFAULT_RECONNECT_S:g}"


def _default(value: object) -> str:
    match value:
        case None | ():
            return ""
        case bool():
            return str(value).lower()
        case UidRange():
            return f"{value.first}-{value.last}"
    return str(value)


def test_the_audit_events_are_those_of_the_code() -> None:
    told = dict(re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \| (.*?) \|$", TEXT, re.MULTILINE))
    assert told == {name.value: name.meaning for name in AuditName}


def test_the_exit_statuses_are_those_of_the_code() -> None:
    told = set(re.findall(r"^\| ([\d, +N]+) \|", TEXT, re.MULTILINE))
    assert told == {
        f"{failures.BY_SIGNAL} + N",
        f"{failures.INCOMPLETE}",
        f"{failures.TIMED_OUT}",
        f"{failures.FAILED}",
        f"{failures.CANNOT_RUN}, {failures.NO_SUCH_COMMAND}",
        f"{failures.USAGE}",
    }


def test_every_link_leads_somewhere() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", TEXT) if "://" not in target]
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
