"""A sandbox as a program holds it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from cloche.aio import Hub, Sandbox
from cloche.background import Started
from cloche.errors import (
    CommandFailed,
    CommandNotStarted,
    Conflict,
    HubNotRunning,
    LinkLost,
    NotFound,
    TooLarge,
    WrongState,
)
from tests.support.local_hub import LocalHub, local_hub, out_of_time
from tests.support.scripted_hub import refuse


async def test_a_text_is_a_line_for_the_shell(sandbox: Sandbox) -> None:
    completed = await sandbox.run("echo out; echo err >&2; exit 3")
    assert (completed.stdout, completed.stderr, completed.exit_code) == ("out\n", "err\n", 3)
    assert (completed.signal, completed.timed_out, completed.ok) == (None, False, False)


async def test_a_list_is_a_command_without_a_shell(sandbox: Sandbox) -> None:
    assert (await sandbox.run(["echo", "$HOME;", "a b"])).stdout == "$HOME; a b\n"


@pytest.mark.parametrize("given", ["héllo", "héllo".encode()])
async def test_input_is_text_or_bytes(sandbox: Sandbox, given: str | bytes) -> None:
    assert (await sandbox.run("cat", input=given)).stdout == "héllo"


async def test_input_larger_than_any_buffer_goes_in_while_output_comes_out(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * 20_000
    assert (await sandbox.run(["cat"], input=data)).stdout_bytes == data


async def test_a_command_that_reads_nothing_of_its_input_is_no_error(sandbox: Sandbox) -> None:
    assert (await sandbox.run("true", input=b"x" * (4 << 20))).ok


async def test_variables_and_folder_reach_the_command(client: Hub, hub: LocalHub) -> None:
    async with client.create(env={"A": "1", "B": "1"}) as sandbox:
        completed = await sandbox.run("echo $A $B; pwd", env={"B": "2"}, cwd="/")
    assert completed.stdout == "1 2\n/\n"


async def test_only_what_was_said_is_asked_for(sandbox: Sandbox, hub: LocalHub) -> None:
    await sandbox.run(["true"])
    await sandbox.run(["true"], user="root", timeout_s=5, cwd="/", env={"A": "1"}, input="", record=True)
    plain, full = [params for kind, params in hub.asked if kind == "exec"]
    assert plain == {"sandbox": sandbox.id, "argv": ["true"], "env": {}, "stdin": False}
    assert full == {
        "sandbox": sandbox.id,
        "argv": ["true"],
        "env": {"A": "1"},
        "cwd": "/",
        "user": "root",
        "timeout_s": 5,
        "stdin": True,
        "record": True,
    }


async def test_a_recorded_command_names_its_recording(sandbox: Sandbox, hub: LocalHub) -> None:
    assert (await sandbox.run(["true"])).recording is None
    completed = await sandbox.run(["true"], record=True)
    async with sandbox.exec(["true"], record=True) as process:
        await process.wait()
    assert [completed.recording, process.recording] == list(hub.recordings.recordings)


async def test_a_command_that_takes_too_long_is_killed_and_says_so(sandbox: Sandbox, hub: LocalHub) -> None:
    hub.handlers["exec"] = out_of_time
    completed = await sandbox.run("echo begun; sleep 60", timeout_s=0.2)
    assert (completed.stdout, completed.timed_out, completed.ok) == ("begun\n", True, False)


async def test_a_command_that_must_succeed_raises_with_its_last_words(sandbox: Sandbox) -> None:
    with pytest.raises(CommandFailed, match="exit code 3: bad") as caught:
        await sandbox.run("echo bad >&2; exit 3", check=True)
    assert caught.value.completed.exit_code == 3
    assert (await sandbox.run("true", check=True)).ok


async def test_a_command_there_is_not_says_so(sandbox: Sandbox) -> None:
    with pytest.raises(CommandNotStarted, match="nosuch"):
        await sandbox.run(["nosuch"])


async def test_output_without_end_is_ended(sandbox: Sandbox) -> None:
    with pytest.raises(TooLarge, match="more than 100000 bytes"):
        await sandbox.run(["yes"], max_output_bytes=100_000)


async def test_a_text_is_no_list_of_arguments(sandbox: Sandbox) -> None:
    with pytest.raises(TypeError, match=r"run\('ls -l'\)"):
        sandbox.exec("ls -l")


async def test_cancelling_a_run_ends_its_command(sandbox: Sandbox, hub: LocalHub) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await sandbox.run("sleep 60")
    # The hub serves on, and nothing is underway: its own clean-up would wait for the command otherwise.
    assert (await sandbox.run("echo on")).stdout == "on\n"


async def test_the_boot_log_is_bytes(sandbox: Sandbox) -> None:
    assert (await sandbox.boot_log()).startswith(b"Linux")
    assert await sandbox.boot_log(max_bytes=5) == b"Linux"


async def test_what_is_known_of_it_can_be_asked_again(sandbox: Sandbox, hub: LocalHub) -> None:
    assert (sandbox.name, sandbox.info.state) == ("box", "running")
    hub.sandboxes[sandbox.id]["state"] = "failed"
    assert sandbox.info.state == "running"
    assert (await sandbox.refresh()).state == "failed"
    assert sandbox.info.state == "failed"
    assert repr(sandbox) == f"<Sandbox box ({sandbox.id}), failed>"


async def test_leaving_removes_it(client: Hub, hub: LocalHub) -> None:
    async with client.create() as sandbox:
        assert hub.sandboxes.keys() == {sandbox.id}
    assert hub.sandboxes == {}
    assert sandbox.info.state == "removed"


async def test_leaving_with_an_error_removes_it_and_keeps_the_error(client: Hub, hub: LocalHub) -> None:
    with pytest.raises(LookupError, match="mine"):
        async with client.create():
            raise LookupError("mine")
    assert hub.sandboxes == {}


@pytest.mark.parametrize("error", [NotFound("gone"), WrongState("going")])
async def test_one_that_is_gone_already_can_be_left(client: Hub, hub: LocalHub, error: Exception) -> None:
    async with client.create():
        hub.handlers["sandbox.remove"] = refuse(error)  # type: ignore[arg-type]


async def test_a_removal_that_fails_is_told_unless_something_else_already_has(
    client: Hub, hub: LocalHub
) -> None:
    failing = refuse(LinkLost("who knows"))
    with pytest.raises(LinkLost):
        async with client.create():
            hub.handlers["sandbox.remove"] = failing
    with pytest.raises(LookupError):
        async with client.create():
            raise LookupError


async def test_a_sandbox_can_be_made_with_a_connection_of_its_own(hub: LocalHub) -> None:
    async with Sandbox.create(name="alone", labels={"a": "b"}, secrets={"KEY": "abcd"}) as sandbox:
        assert (await sandbox.run("echo hi")).stdout == "hi\n"
        assert hub.sandboxes[sandbox.id]["labels"] == {"a": "b"}
        assert (await sandbox.run("echo $KEY")).stdout == "abcd\n"
    assert hub.sandboxes == {}
    with pytest.raises(Exception, match="closed"):
        await sandbox.run("true")


async def test_a_failed_making_ends_the_connection_that_was_for_it(hub: LocalHub) -> None:
    hub.handlers["sandbox.create"] = refuse(Conflict("taken"))
    with pytest.raises(Conflict, match="taken"):
        await Sandbox.create(name="alone")
    async with asyncio.timeout(5):
        while hub._sockets:
            await asyncio.sleep(0.01)


async def test_its_own_connection_can_be_closed_and_the_sandbox_stays(hub: LocalHub) -> None:
    sandbox = await Sandbox.create(name="stays")
    await sandbox.close()
    await sandbox.close()
    assert len(hub.sandboxes) == 1


async def test_without_a_hub_there_is_no_sandbox(home: object) -> None:
    with pytest.raises(HubNotRunning):
        await Sandbox.create(start=False)


async def test_without_a_hub_this_user_s_own_is_started_for_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:

        async def start() -> Started:
            running = await stack.enter_async_context(local_hub(home))
            return Started(running.address, 1)

        monkeypatch.setattr("cloche.background.start_hub", start)
        async with Sandbox.create() as sandbox:
            assert (await sandbox.run("echo hi")).stdout == "hi\n"
