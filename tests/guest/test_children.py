"""Who is told of which child's end. Real children of this process; no other test of it may reap at the same time."""

from __future__ import annotations

import os
import select

import pytest

from cloche_guest.children import Children


def _child(code: int) -> int:
    """A child that has ended with a code, not yet reaped."""
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", f"exit {code}"], {})
    handle = os.pidfd_open(pid)
    try:
        assert select.select([handle], [], [], 10)[0]
    finally:
        os.close(handle)
    return pid


@pytest.fixture
def errors() -> list[Exception]:
    return []


def test_each_child_s_end_is_told_to_whom_it_concerns_once(errors: list[Exception]) -> None:
    children = Children()
    told: list[tuple[str, int]] = []
    children.expect(
        _child(3), lambda status: told.append(("a", os.waitstatus_to_exitcode(status))), errors.append
    )
    children.expect(
        _child(4), lambda status: told.append(("b", os.waitstatus_to_exitcode(status))), errors.append
    )

    children.reap()
    children.reap()

    assert sorted(told) == [("a", 3), ("b", 4)]
    assert not errors
    assert len(children) == 0


def test_a_child_nobody_waits_for_is_reaped() -> None:
    pid = _child(0)

    Children().reap()

    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def test_an_error_in_one_ending_keeps_no_other_from_being_told(errors: list[Exception]) -> None:
    children = Children()
    told: list[int] = []

    def fail(_status: int) -> None:
        raise ValueError("broken")

    children.expect(_child(0), fail, errors.append)
    children.expect(_child(0), told.append, errors.append)

    children.reap()

    assert told == [0]
    assert [str(error) for error in errors] == ["broken"]
