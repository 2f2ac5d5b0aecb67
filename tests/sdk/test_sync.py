"""The blocking SDK: nothing but the asynchronous one, for those who wait."""

from __future__ import annotations

import asyncio
import inspect
import pydoc
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cloche
from cloche import Hub, Sandbox, aio, sync
from cloche.errors import CommandFailed, HubNotRunning, WrongState
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import answer

_PAIRS = [
    (getattr(aio, name), getattr(sync, name))
    for name in (
        "Approvals", "CallbackHandler", "Console", "Files", "Hub", "Output", "Policy", "Process", "Recordings",
        "Sandbox", "Tokens",
    )
]  # fmt: skip

_BLOCKING_NAMES = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
}


def _public(cls: type) -> dict[str, Any]:
    """What users call or read, by its name in blocking code."""
    return {
        _BLOCKING_NAMES.get(name, name): inspect.getattr_static(cls, name)
        for base in cls.__mro__[:-1]
        for name in vars(base)
        if not name.startswith("_") or name in _BLOCKING_NAMES or name in _BLOCKING_NAMES.values()
    }


def _parameters(member: Any) -> list[inspect.Parameter]:
    function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    parameters = list(inspect.signature(function).parameters.values())
    return [parameter for parameter in parameters if parameter.name not in ("self", "cls")]


@pytest.mark.parametrize(("asynchronous", "blocking"), _PAIRS, ids=lambda cls: cls.__name__)
def test_both_have_the_same_methods_with_the_same_parameters(asynchronous: type, blocking: type) -> None:
    ours, theirs = _public(blocking), _public(asynchronous)
    # `close` of what holds a connection of its own is there in both; __enter__ of the others is inherited.
    missing = theirs.keys() - ours.keys()
    extra = {name for name in ours.keys() - theirs.keys() if name not in ("__enter__", "__exit__")}
    assert (missing, extra) == (set(), set())
    different = [
        name
        for name, member in theirs.items()
        if not isinstance(member, property) and _parameters(member) != _parameters(ours[name])
    ]
    assert different == []


@pytest.mark.parametrize(("asynchronous", "blocking"), _PAIRS, ids=lambda cls: cls.__name__)
def test_both_say_the_same_of_themselves(asynchronous: type, blocking: type) -> None:
    assert blocking.__doc__ == asynchronous.__doc__
    told = {name: member for name, member in _public(asynchronous).items() if not name.startswith("__")}
    ours = _public(blocking)
    assert [
        name for name, member in told.items() if inspect.getdoc(member) != inspect.getdoc(ours[name])
    ] == []


async def test_what_belongs_to_a_hub_is_asked_through_its_connection(hub: LocalHub) -> None:
    hub.handlers["policy.check"] = answer({"rules": 3, "problems": []})

    def work() -> int:
        with Hub.connect() as client:
            return client.policy.check("").rules

    assert await asyncio.to_thread(work) == 3


def test_help_shows_signatures_as_they_are_for_blocking_callers() -> None:
    # Newer Pythons break long signatures and print annotations without quotes.
    text = "".join(pydoc.plain(pydoc.render_doc(Sandbox)).replace("'", "").replace("|", "").split())
    assert "run(self,cmd:strSequence[str],*,input:" in text
    assert "create(recipe:str=python,flavor:str=small,*,name:" in text
    assert "->Process" in text
    assert "Pending" not in text
    assert "async" not in text


def test_the_package_shows_its_public_names_only() -> None:
    assert dir(cloche) == sorted(cloche.__all__)
    assert all(hasattr(cloche, name) for name in dir(cloche))


async def _elsewhere(work: Callable[[], object]) -> object:
    """Runs blocking work in a thread: the hub it talks to lives in this one."""
    async with asyncio.timeout(30):
        return await asyncio.to_thread(work)


async def test_a_sandbox_in_five_lines(hub: LocalHub) -> None:
    def work() -> str:
        with Sandbox.create(name="box") as sandbox:
            assert (sandbox.name, sandbox.id, sandbox.info.state) == ("box", "sb_0001", "running")
            assert repr(sandbox) == "<Sandbox box (sb_0001), running>"
            return sandbox.run("echo hi").stdout

    assert await _elsewhere(work) == "hi\n"
    assert hub.sandboxes == {}
    assert [thread.name for thread in threading.enumerate() if thread.name == "cloche"] == []


async def test_a_hub_and_what_it_has(hub: LocalHub) -> None:
    def work() -> None:
        with Hub.connect() as client:
            assert client.address == hub.address
            sandbox = client.create(labels={"a": "b"})
            assert [found.id for found in client.sandboxes()] == [sandbox.id]
            assert client.sandbox(sandbox.id).refresh() == sandbox.info
            assert [event.event for event in client.audit()] == ["sandbox.created"]
            assert client.build_image("python") == client.images()[0]
            assert client.status().machines == 1
            sandbox.remove()
            with pytest.raises(CommandFailed), client.create() as second:
                second.run("exit 3", check=True)

    await _elsewhere(work)
    assert hub.sandboxes == {}


async def test_a_command_is_read_while_it_runs(hub: LocalHub) -> None:
    def work() -> None:
        with Sandbox.create() as sandbox:
            with sandbox.exec(["sh", "-c", "echo a; read go; echo b >&2; exit 3"], stdin=True) as process:
                seen = []
                for stream, piece in process:
                    seen.append((stream, piece))
                    if stream == "stdout":
                        process.write(b"\n")
                assert seen == [("stdout", b"a\n"), ("stderr", b"b\n")]
                assert process.wait().exit_code == 3
            with sandbox.exec(["sh", "-c", "echo a; echo b"]) as process:
                assert list(process.stdout.lines()) == [b"a\n", b"b\n"]
            with sandbox.exec(["sh", "-c", "echo a"]) as process:
                assert list(process.stdout) == [b"a\n"]
            with sandbox.exec(["sleep", "60"]) as process:
                process.kill()
                assert process.wait().signal == "KILL"

    await _elsewhere(work)


async def test_a_console_is_driven_by_what_its_screen_shows(hub: LocalHub, tmp_path: Path) -> None:
    def work() -> None:
        with Sandbox.create(name="box") as sandbox, Hub.connect() as client:
            with sandbox.console(["sh"], env={"PS1": "$ ", "ENV": ""}, keep=True) as console:
                with pytest.raises(WrongState, match="not looked at"):
                    _ = console.screen
                console.until("$ ")
                console.write("echo in-$((1 + 1))\n")
                assert console.until("in-2").match is not None
                assert console.screen.lines[1] == "in-2"
                assert (console.name, console.viewer, console.is_driving) == ("1", "v1", True)
                assert repr(console) == f"<Console box/1 ({console.id}), open>"
            with sandbox.attach(scrollback=10) as again:
                kinds = [type(event).__name__ for event, _ in zip(again.events(), range(3), strict=False)]
                assert kinds == ["ScreenBegins", "Output", "Live"]
                again.write("exit 3\n")
                assert b"exit" in b"".join(again)
                assert again.wait().exit_code == 3
            assert [info.state for info in client.consoles(ended=True)] == ["ended", "open"]
            (recording,) = client.recordings.list()
            assert client.recordings.save(recording.id, tmp_path / "a.cast") == recording.text_bytes
            assert client.recordings.search("in-2")[0].recording == recording.id
            assert b"".join(client.recordings.read(recording.id)) == (tmp_path / "a.cast").read_bytes()

    await _elsewhere(work)


async def test_files_there_and_back(hub: LocalHub, tmp_path: Path) -> None:
    def work() -> None:
        with Sandbox.create() as sandbox:
            files = sandbox.files
            assert files.write("d/a", iter([b"hel", b"lo"]), parents=True).size_bytes == 5
            assert files.read_text("d/a") == "hello"
            assert b"".join(files.stream("d/a")) == b"hello"
            assert [entry.name for entry in files.scan("d")] == ["a"]
            assert [entry.name for entry in files.list("d")] == ["a"]
            assert files.download("d", tmp_path / "d").files == 1
            assert files.upload(tmp_path / "d", "e").bytes == 5
            assert files.remove("e", recursive=True) == 2

    await _elsewhere(work)


async def test_an_error_in_the_block_removes_the_sandbox_and_goes_on(hub: LocalHub) -> None:
    def work() -> None:
        with pytest.raises(LookupError), Sandbox.create():
            raise LookupError

    await _elsewhere(work)
    assert hub.sandboxes == {}


async def test_without_a_block_what_was_opened_is_closed_by_hand(hub: LocalHub) -> None:
    def work() -> None:
        kept = Sandbox.create(name="kept")
        kept.close()
        kept.close()
        with pytest.raises(WrongState, match="closed"):
            kept.run("true")
        client = Hub.connect()
        client.sandbox("kept").remove()
        client.close()

    await _elsewhere(work)
    assert hub.sandboxes == {}


def test_without_a_hub_nothing_is_left_running(home: Path) -> None:
    with pytest.raises(HubNotRunning):
        Sandbox.create(start=False)
    with pytest.raises(HubNotRunning):
        Hub.connect()
    assert [thread.name for thread in threading.enumerate() if thread.name == "cloche"] == []


# --- whole programs ----------------------------------------------------------------------------------------------

_STRICT = [sys.executable, "-W", "error", "-W", "ignore:This process:DeprecationWarning", "-c"]


async def _program(script: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *_STRICT, script, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    async with asyncio.timeout(30):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_a_program_that_forgets_everything_ends_without_a_word(hub: LocalHub) -> None:
    script = (
        "from cloche import Hub, Sandbox\n"
        "hub = Hub.connect()\n"
        "sandbox = Sandbox.create()\n"
        "process = sandbox.exec(['sleep', '60'])\n"
        "print(sandbox.run('echo hi').stdout, end='')\n"
    )
    assert await _program(script) == (0, "hi\n", "")
    assert len(hub.sandboxes) == 1, "a sandbox nobody removed lives until its lease ends"


async def test_ctrl_c_ends_the_command_in_the_sandbox_and_removes_it(hub: LocalHub) -> None:
    script = (
        "from cloche import Sandbox\n"
        "with Sandbox.create() as sandbox:\n"
        "    print('ready', flush=True)\n"
        "    sandbox.run('echo begun; sleep 60')\n"
    )
    process = await asyncio.create_subprocess_exec(
        *_STRICT, script, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    async with asyncio.timeout(30):
        await process.stdout.readline()
        while not any(kind == "exec" for kind, _ in hub.asked):
            await asyncio.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
    assert process.returncode in (-signal.SIGINT, 130)
    assert err.decode().splitlines()[-1] == "KeyboardInterrupt"
    assert hub.sandboxes == {}


async def test_a_fork_is_told_to_open_its_own(hub: LocalHub) -> None:
    script = (
        "import os, sys\n"
        "from cloche import Hub\n"
        "hub = Hub.connect()\n"
        "if os.fork() == 0:\n"
        "    try: hub.status()\n"
        "    except Exception as error: print(type(error).__name__, flush=True)\n"
        "    with Hub.connect() as own: print(own.status().accelerator, flush=True)\n"
        "    hub.close()\n"
        "    sys.exit(0)\n"
        "os.wait()\n"
        "print(hub.status().accelerator)\n"
        "hub.close()\n"
    )
    code, out, err = await _program(script)
    assert (code, out.splitlines(), err) == (0, ["WrongState", "tcg", "tcg"], "")


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import sys, cloche; print(*sorted({'asyncio', 'websockets', 'typer', 'rich', 'msgpack'} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "\n"


def test_every_name_of_the_package_is_there() -> None:
    assert [name for name in cloche.__all__ if not hasattr(cloche, name)] == []
    assert set(cloche.__all__) <= set(dir(cloche))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = cloche.nonsense


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name == "cloche"] == []
