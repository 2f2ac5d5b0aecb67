"""Callbacks through a whole agent: programs at one end, a hub at the other."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cloche_guest.callbacks import MOST_CALLBACKS, Callbacks
from cloche_guest.callers import listen
from cloche_guest.loop import Loop
from cloche_wire.connection import Connection
from cloche_wire.errors import Cancelled, Forbidden, TimedOut
from cloche_wire.events import Failed, Opened
from tests.support.agent_process import AgentProcess, running_agent
from tests.support.blocking_link import BlockingLink

BOUND_S = 10.0


@dataclass(frozen=True, slots=True)
class Machine:
    """An agent, its hub, and where its programs call."""

    agent: AgentProcess
    hub: BlockingLink
    path: Path

    @contextlib.contextmanager
    def call(self, **request: Any) -> Iterator[socket.socket]:
        """A program's connection that has sent a request."""
        with self.connect() as caller:
            caller.sendall(json.dumps(request).encode() + b"\n")
            yield caller

    def connect(self) -> socket.socket:
        """A program's connection."""
        caller = socket.socket(socket.AF_UNIX)
        caller.settimeout(BOUND_S)
        caller.connect(str(self.path))
        return caller

    def offered(self, count: int = 1) -> list[Opened]:
        """The channels the agent has opened, as soon as there are so many."""
        self.hub.wait_until(lambda: len(self.hub.offered) >= count, f"{count} callbacks")
        return self.hub.offered

    def close(self, opened: Opened, result: Any) -> None:
        """The hub answers."""
        self.hub.connection.close(opened.channel, {"result": json.dumps(result).encode()})
        self.hub.send_pending()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    path = tmp_path / "callback.sock"
    with running_agent(tmp_path, "--is-somebody", "--callbacks", str(path)) as agent, BlockingLink() as hub:
        hub.connect(agent.socket)
        yield Machine(agent, hub, path)


def answer(caller: socket.socket) -> Any:
    """What a program gets by the end of its connection."""
    with caller.makefile("rb") as file:
        return json.loads(file.read())


def test_a_call_reaches_the_hub_and_its_result_the_caller(machine: Machine) -> None:
    with machine.call(method="pay.send", params={"to": "Zoë"}, timeout_s=20) as caller:
        (opened,) = machine.offered()
        params = dict(opened.params)
        assert params.pop("callback").startswith("cb_")
        assert opened.kind == "callback"
        assert params == {
            "method": "pay.send",
            "params": '{"to":"Zoë"}'.encode(),
            "timeout_s": 20.0,
            "wait": True,
            "caller": {
                "pid": os.getpid(),
                "uid": os.getuid(),
                "program": Path("/proc/self/comm").read_text().strip(),
            },
        }
        machine.hub.connection.accept(opened.channel)
        machine.close(opened, {"paid": True})
        assert answer(caller) == {"result": {"paid": True}}


def test_the_hubs_refusal_reaches_the_caller_with_its_code(machine: Machine) -> None:
    with machine.call(method="a") as caller:
        (opened,) = machine.offered()
        machine.hub.connection.reset(opened.channel, Forbidden("the rule 'no' denies it", rule="no"))
        machine.hub.send_pending()
        assert answer(caller) == {"error": {"code": "forbidden", "message": "the rule 'no' denies it"}}


def test_an_answer_that_is_none_is_an_error_of_this_call(machine: Machine) -> None:
    with machine.call(method="a") as caller:
        (opened,) = machine.offered()
        machine.hub.connection.close(opened.channel, {"result": 3})
        machine.hub.send_pending()
        assert answer(caller)["error"]["code"] == "senseless_answer"


def test_a_caller_that_leaves_takes_its_call_back(machine: Machine) -> None:
    with machine.call(method="a"):
        (opened,) = machine.offered()
    machine.hub.wait_until(lambda: opened.channel in machine.hub.given_up, "a reset")
    assert isinstance(machine.hub.given_up[opened.channel], Cancelled)


def test_the_agent_keeps_the_callers_time(machine: Machine) -> None:
    with machine.call(method="a", timeout_s=0.05) as caller:
        (opened,) = machine.offered()
        machine.hub.wait_until(lambda: opened.channel in machine.hub.given_up, "a reset")
        assert isinstance(machine.hub.given_up[opened.channel], TimedOut)
        assert answer(caller)["error"]["code"] == "timed_out"


def test_who_does_not_wait_is_answered_when_the_hub_has_taken_the_call_which_goes_on(
    machine: Machine,
) -> None:
    with machine.call(method="a", wait=False) as caller:
        (opened,) = machine.offered()
        machine.hub.connection.accept(opened.channel)
        machine.hub.send_pending()
        assert answer(caller) == {"result": None}
    machine.hub.ping()
    assert machine.hub.given_up == {}
    machine.close(opened, "nobody hears it")
    machine.hub.ping()


@pytest.mark.parametrize("accepts", [True, False])
def test_who_does_not_wait_never_sees_a_result(machine: Machine, *, accepts: bool) -> None:
    with machine.call(method="a", wait=False) as caller:
        (opened,) = machine.offered()
        if accepts:
            machine.hub.connection.accept(opened.channel)
        machine.close(opened, "secret")
        assert answer(caller) == {"result": None}


def test_without_a_hub_a_call_waits_for_one(machine: Machine) -> None:
    machine.hub.drop()
    with machine.call(method="a") as caller, BlockingLink() as other:
        other.connect(machine.agent.socket)
        later = Machine(machine.agent, other, machine.path)
        (opened,) = later.offered()
        later.close(opened, 1)
        assert answer(caller) == {"result": 1}


def test_without_a_hub_a_call_waits_no_longer_than_its_caller(machine: Machine) -> None:
    machine.hub.drop()
    with machine.call(method="a", timeout_s=0.05) as caller:
        assert answer(caller)["error"]["code"] == "timed_out"
    assert machine.hub.connect(machine.agent.socket).resumed
    machine.hub.ping()
    assert machine.hub.offered == []


def test_a_call_goes_on_over_a_broken_link(machine: Machine) -> None:
    with machine.call(method="a") as caller:
        (opened,) = machine.offered()
        machine.hub.drop()
        assert machine.hub.connect(machine.agent.socket).resumed
        machine.close(opened, 1)
        assert answer(caller) == {"result": 1}


def test_a_hub_that_has_forgotten_the_call_costs_an_error_and_not_a_hang(machine: Machine) -> None:
    with machine.call(method="a") as caller:
        machine.offered()
        machine.hub.drop()
        with BlockingLink() as other:
            other.connect(machine.agent.socket)
            assert answer(caller)["error"]["code"] == "link_lost"


def test_nobody_is_served_before_the_machine_is_somebody(tmp_path: Path) -> None:
    path = tmp_path / "callback.sock"
    with running_agent(tmp_path, "--callbacks", str(path)) as agent, BlockingLink() as hub:
        hub.connect(agent.socket)
        machine = Machine(agent, hub, path)
        with machine.call(method="a") as caller:
            hub.ping()
            assert hub.offered == []
            hub.become()
            (opened,) = machine.offered()
            machine.close(opened, 1)
            assert answer(caller) == {"result": 1}


def test_a_call_that_was_answered_has_no_deadline_any_more(tmp_path: Path) -> None:
    errors: list[Exception] = []
    loop = Loop(errors.append)
    connection = Connection(leader=False, software="test")
    listening = listen(str(tmp_path / "callback.sock"))
    callbacks = Callbacks(loop, connection, listening, lambda error, _what: errors.append(error))
    callbacks.serve()
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(BOUND_S)
        caller.connect(str(tmp_path / "callback.sock"))
        caller.sendall(b'{"method": "a", "timeout_s": 0.01}\n')
        while not connection.channels:
            loop.turn()
        callbacks.heard(Failed(next(iter(connection.channels)), Forbidden("no")))
        assert answer(caller)["error"]["code"] == "forbidden"
        late: list[bool] = []
        loop.call_later(0.02, lambda: late.append(True))
        while not late:
            loop.turn()
    listening.close()
    assert errors == []


def test_two_hundred_calls_at_once_each_get_their_own_answer(machine: Machine) -> None:
    with contextlib.ExitStack() as stack:
        callers = {n: stack.enter_context(machine.call(method="a", params=n)) for n in range(200)}
        opened = list(machine.offered(200))
        assert len({one.params["callback"] for one in opened}) == 200
        for one in reversed(opened):
            machine.close(one, int(one.params["params"]) * 2)
        assert {n: answer(caller)["result"] for n, caller in callers.items()} == {
            n: 2 * n for n in range(200)
        }


def test_one_call_too_many_is_refused_and_room_is_made_by_an_end(machine: Machine) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_CALLBACKS):
            stack.enter_context(machine.call(method="a"))
        opened = list(machine.offered(MOST_CALLBACKS))
        with machine.call(method="a") as refused:
            refusal = answer(refused)["error"]
            assert refusal["code"] == "too_large"
            assert "256 callbacks under way" in refusal["message"]
        machine.close(opened[0], 1)
        machine.hub.ping()
        with machine.call(method="a"):
            machine.offered(MOST_CALLBACKS + 1)


def send_as_much_as_goes(caller: socket.socket, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        caller.sendall(data)


def test_hostile_callers_harm_nobody(machine: Machine) -> None:
    files_before = machine.agent.open_files()
    with contextlib.ExitStack() as stack:
        for _ in range(500):
            stack.enter_context(machine.connect())
        for garbage in (
            b"\xff" * 1000 + b"\n",
            b"[" * 100_000 + b"\n",
            b"{}" * 1000 + b"\n",
            b'{"method":\n',
        ):
            with machine.connect() as caller:
                caller.sendall(garbage)
                assert answer(caller)["error"]["code"] == "bad_request"
        for _ in range(2):
            with machine.connect() as flood:
                send_as_much_as_goes(flood, b"x" * (100 << 20))
        for half in (b"", b'{"met', b'{"method": "a"}'):
            with machine.connect() as caller:
                caller.sendall(half)
        with machine.call(method="a") as caller:
            (opened,) = machine.offered()
            machine.close(opened, "well")
            assert answer(caller) == {"result": "well"}
        assert memory_mib(machine.agent.pid) < 100
    machine.hub.wait_until(lambda: no_more_files(machine, files_before), "the descriptors to be closed")


def no_more_files(machine: Machine, count: int) -> bool:
    # Each look is a turn of the agent's loop.
    machine.hub.connection.ping(1)
    return machine.agent.open_files() <= count


def memory_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def test_a_caller_that_floods_behind_its_line_costs_no_processor(machine: Machine) -> None:
    with machine.call(method="a") as caller:
        machine.offered()
        caller.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                caller.send(b"y" * 65536)
        before = machine.agent.processor_s()
        # Time itself is what is waited for: one that spun would use all of it.
        machine.hub.run("sleep", "0.3")
        assert machine.agent.processor_s() - before < 0.1


def test_commands_do_not_inherit_callers(machine: Machine) -> None:
    with machine.call(method="a"):
        machine.offered()
        assert b"socket" not in machine.hub.run("sh", "-c", "ls -l /proc/$$/fd").stdout
