"""The command line on real machines."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from tests.support.real_hub import Ran, RealHub

pytestmark = pytest.mark.machine

Quick = Callable[..., Ran]


def test_a_command_in_a_fresh_machine(real_hub: RealHub) -> None:
    ran = real_hub.cloche("run", "--", "python3", "-c", "print(6 * 7)")
    assert (ran.status, ran.out) == (0, b"42\n"), ran.err


def test_output_and_error_stay_apart_and_the_status_is_the_command_s_own(real_hub: RealHub, box: str) -> None:
    ran = real_hub.cloche("exec", box, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (ran.status, ran.out, ran.err) == (7, b"out\n", "err\n")


def test_bytes_pass_both_ways_untouched(real_hub: RealHub, box: str) -> None:
    data = os.urandom(3 << 20)
    ran = real_hub.cloche("exec", box, "--", "cat", stdin=data)
    assert (ran.status, ran.err) == (0, "")
    assert hashlib.sha256(ran.out).digest() == hashlib.sha256(data).digest()


def test_a_program_can_come_by_standard_input(real_hub: RealHub, box: str) -> None:
    assert real_hub.cloche("exec", "box", "--", "python3", "-", stdin=b"print(1 + 1)").out == b"2\n"


def test_user_folder_and_variables(quick: Quick, box: str) -> None:
    script = "id -u; pwd; echo $A"
    plain = quick("exec", box, "--", "sh", "-c", script)
    root = quick("exec", box, "--user", "root", "--cwd", "/tmp", "-e", "A=1", "--", "sh", "-c", script)
    assert plain.text.split("\n")[0] == "1000"
    assert root.text == "0\n/tmp\n1\n"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--", "sh", "-c", "kill -9 $$"), 137),
        (("--timeout", "1s", "--", "sleep", "60"), 124),
        (("--", "nosuch"), 127),
        (("--", "/etc/passwd"), 126),
        (("--user", "nobody-there", "--", "true"), 126),
    ],
)
def test_endings_have_the_documented_status(
    quick: Quick, box: str, words: tuple[str, ...], status: int
) -> None:
    assert quick("exec", box, *words).status == status


def test_an_interrupt_ends_the_command_and_everything_it_started(real_hub: RealHub, box: str) -> None:
    script = "sleep 12345 & echo ready; wait"
    with subprocess.Popen(
        real_hub.command("exec", box, "--", "sh", "-c", script),
        env=real_hub.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    left = real_hub.cloche("exec", box, "--", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert "sleep 12345" not in left.text


def test_a_client_that_is_killed_takes_its_command_along(real_hub: RealHub, box: str) -> None:
    process = subprocess.Popen(
        real_hub.command("exec", box, "--", "sh", "-c", "echo ready; sleep 23456"),
        env=real_hub.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
    # The hub keeps the session for a moment, in case the client comes back; then its command is ended.
    deadline = time.monotonic() + 60
    while (
        "sleep 23456"
        in real_hub.cloche("exec", box, "--", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").text
    ):
        assert time.monotonic() < deadline


def test_sandboxes_are_found_shown_and_listed(quick: Quick, box: str) -> None:
    for reference in (box, "box", box[:8]):
        shown = json.loads(quick("show", reference, "--json").out)
        assert (shown["id"], shown["name"], shown["state"]) == (box, "box", "running")
    assert shown["labels"] == {"for": "tests"}
    assert shown["accelerator"] in ("kvm", "tcg")
    assert box in [info["id"] for info in json.loads(quick("ls", "--json").out)]
    assert "box" in quick("ls").text


def test_a_removed_sandbox_is_listed_only_with_all(quick: Quick) -> None:
    created = json.loads(quick("create", "--json").out)
    assert quick("rm", created["name"]).status == 0
    assert created["id"] not in quick("ls", "--json").text
    assert created["id"] in quick("ls", "--all", "--json").text
    gone = quick("exec", created["id"], "--", "true")
    assert gone.status == 125
    assert gone.err.startswith("cloche: ")
    assert len(gone.err.splitlines()) == 1


def test_two_sandboxes_are_not_alike(quick: Quick) -> None:
    script = "cat /etc/machine-id; hostname; head -c 16 /dev/urandom | od -An -tx1; python3 -c 'import random; print(random.random())'"
    first, second = (quick("run", "--", "sh", "-c", script).text.splitlines() for _ in range(2))
    assert len(first) == len(second) == 4
    assert [line for line, other in zip(first, second, strict=True) if line == other] == []


def test_the_boot_log_is_the_machine_s(quick: Quick, box: str) -> None:
    assert b"Linux version" in quick("logs", box, "--boot").out or quick("logs", box, "--boot").status == 0


def test_everything_is_in_the_audit_and_the_audit_holds(quick: Quick, real_hub: RealHub, box: str) -> None:
    quick("exec", box, "--", "echo", "for the record")
    ran = quick("audit", "tail", "-n", "500", "--json", "--sandbox", "box")
    events = [json.loads(line) for line in ran.out.splitlines()]
    assert events[0]["event"] == "sandbox.created", ran.err
    assert ["echo", "for the record"] in [event["detail"].get("argv") for event in events]
    verified = json.loads(quick("audit", "verify", "--json").out)
    offline = json.loads(real_hub.cloche("audit", "verify", str(real_hub.home / "hub.db"), "--json").out)
    assert verified == offline
    export = real_hub.home / "audit.jsonl"
    assert quick("audit", "export", str(export)).status == 0
    assert real_hub.cloche("audit", "verify", str(export)).status == 0


def test_the_hub_says_how_it_is(quick: Quick, real_hub: RealHub, box: str) -> None:
    status = json.loads(quick("hub", "status", "--json").out)
    assert real_hub.process is not None
    assert status["pid"] == real_hub.process.pid
    assert status["address"] == f"unix://{real_hub.socket}"
    assert status["accelerator"] in ("kvm", "tcg")
    assert status["machines"] >= 1


def test_what_is_on_disk_is_told(quick: Quick, box: str) -> None:
    usage = json.loads(quick("df", "--json").out)
    kinds = {entry["kind"] for entry in usage["entries"]}
    assert {"image", "template", "machine"} <= kinds
    images = json.loads(quick("image", "ls", "--json").out)
    assert "python" in [image["recipe"] for image in images]


def test_a_wrong_token_is_one_line(real_hub: RealHub) -> None:
    ran = real_hub.cloche("ls", env={"CLOCHE_TOKEN": "wrong"})
    assert (ran.status, ran.out) == (125, b"")
    assert ran.err.startswith("cloche: ")
    assert len(ran.err.splitlines()) == 1


def test_the_host_is_examined(real_hub: RealHub) -> None:
    findings = json.loads(real_hub.cloche("doctor", "--json").out)
    assert "qemu" in [finding["name"] for finding in findings]
    assert real_hub.cloche("doctor").text
