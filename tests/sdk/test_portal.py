"""The thread through which blocking code uses asynchronous objects."""

from __future__ import annotations

import asyncio
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from cloche.errors import WrongState
from cloche.portal import Portal


@pytest.fixture
def portal() -> Iterator[Portal]:
    held = Portal.acquire()
    yield held
    held.release()


async def _value() -> int:
    await asyncio.sleep(0)
    return 7


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "cloche"]


def test_work_is_done_in_the_loop_and_its_result_comes_back(portal: Portal) -> None:
    assert portal.call(_value) == 7


def test_an_error_is_raised_where_the_call_was_made(portal: Portal) -> None:
    async def fail() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        portal.call(fail)
    assert portal.call(_value) == 7


def test_several_threads_wait_side_by_side(portal: Portal) -> None:
    both = threading.Barrier(2, timeout=10)
    met: list[int] = []

    async def meet() -> int:
        return await asyncio.to_thread(both.wait)

    threads = [threading.Thread(target=lambda: met.append(portal.call(meet))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(met) == [0, 1]


def test_one_thread_serves_everybody_and_ends_with_the_last() -> None:
    first, second = Portal.acquire(), Portal.acquire()
    assert first is second
    assert _threads() == ["cloche"]
    first.release()
    assert second.call(_value) == 7
    second.release()
    assert _threads() == []


def test_after_the_last_release_a_call_says_that_the_connection_is_closed() -> None:
    portal = Portal.acquire()
    portal.release()
    with pytest.raises(WrongState, match="closed"):
        portal.call(_value)


def test_a_new_one_is_started_when_it_is_needed_again() -> None:
    for _ in range(2):
        portal = Portal.acquire()
        assert portal.call(_value) == 7
        portal.release()


def test_stopping_calls_off_what_others_wait_for(portal: Portal) -> None:
    begun = threading.Event()
    outcome: list[Exception] = []

    async def for_ever() -> None:
        begun.set()
        await asyncio.Event().wait()

    def wait() -> None:
        try:
            portal.call(for_ever)
        except WrongState as error:
            outcome.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert begun.wait(10)
    portal.stop()
    waiting.join(10)
    assert [str(error) for error in outcome] == ["the connection was closed while this call was underway"]


def test_a_blocking_call_from_within_the_loop_is_refused(portal: Portal) -> None:
    async def call_again() -> None:
        portal.call(_value)

    with pytest.raises(WrongState, match="would wait for itself"):
        portal.call(call_again)


def test_an_interrupt_cleans_up_in_the_loop_before_it_goes_on(portal: Portal) -> None:
    story: list[str] = []
    main = threading.main_thread().ident
    assert main is not None

    async def work() -> None:
        try:
            signal.pthread_kill(main, signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            story.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        portal.call(work)
    assert story == ["cleaned up"]
    assert portal.call(_value) == 7


def test_an_interrupt_before_the_work_has_begun_does_not_wait_for_it(
    portal: Portal, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = threading.main_thread().ident
    assert main is not None
    # A signal may come in the middle of `put`: a queue of this kind bears that, a semaphore does not.
    held, asked = threading.Event(), queue.SimpleQueue[None]()
    soon = portal._soon

    def tell(function: Callable[[], object]) -> None:
        soon(function)
        asked.put(None)

    def interrupt() -> None:
        asked.get(timeout=10)  # the work is asked for, and the loop is held up
        signal.pthread_kill(main, signal.SIGINT)
        asked.get(timeout=10)  # it is called off
        held.set()

    soon(lambda: held.wait(10))
    monkeypatch.setattr(portal, "_soon", tell)
    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        portal.call(_value)
    interrupting.join(10)
    assert time.monotonic() - began < 5, "it does not wait for work that never began"


def _run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-W",
            "ignore:This process:DeprecationWarning",
            "-c",
            script,
        ],
        capture_output=True,
        text=True,
        timeout=30,
    )


def test_a_program_that_forgets_to_release_ends_without_a_word() -> None:
    done = _run(
        "import asyncio, threading\n"
        "from cloche.portal import Portal\n"
        "portal = Portal.acquire()\n"
        "begun = threading.Event()\n"
        "async def work():\n"
        "    begun.set()\n"
        "    await asyncio.sleep(60)\n"
        "def wait():\n"
        "    try: portal.call(work)\n"
        "    except Exception: pass\n"
        "threading.Thread(target=wait, daemon=True).start()\n"
        "begun.wait()\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_after_a_fork_the_child_is_told_and_can_begin_anew() -> None:
    done = _run(
        "import asyncio, os\n"
        "from cloche.portal import Portal\n"
        "async def work(): return 7\n"
        "portal = Portal.acquire()\n"
        "portal.call(work)\n"
        "if os.fork() == 0:\n"
        "    try: portal.call(work)\n"
        "    except Exception as error: print(type(error).__name__, error, flush=True)\n"
        "    portal.release()\n"
        "    fresh = Portal.acquire()\n"
        "    print(fresh.call(work), flush=True)\n"
        "    fresh.release()\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "print(portal.call(work))\n"
        "portal.release()\n"
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "WrongState this was opened before a fork; open a connection of its own in the child process",
        "7",
        "7",
    ]
