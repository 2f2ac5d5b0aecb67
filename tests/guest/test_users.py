"""Whom a command runs as."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cloche_guest import users
from cloche_guest.users import Account, Accounts, acting_as, look_up
from cloche_wire.errors import CommandNotStarted


def test_root_is_found_by_name_and_by_number() -> None:
    account = look_up("root")
    assert (account.name, account.uid, account.gid) == ("root", 0, 0)
    assert 0 in account.groups
    assert look_up("0") == account


def test_a_number_nobody_has_is_a_user_without_a_home() -> None:
    assert look_up("4123456789") == Account("4123456789", 4123456789, 4123456789, (), "/", "/bin/sh")


def test_a_name_nobody_has_is_refused() -> None:
    with pytest.raises(CommandNotStarted, match="no user 'nosuchuser'") as refusal:
        look_up("nosuchuser")
    assert refusal.value.details == {"reason": "no_such_user"}


def test_an_account_is_looked_up_once_until_the_databases_change(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    version: list[object] = [1]

    def counting(user: str) -> Account:
        asked.append(user)
        return look_up(user)

    monkeypatch.setattr(users, "look_up", counting)
    monkeypatch.setattr(users, "version_of_databases", lambda: version)
    accounts = Accounts()
    accounts.find("root")
    accounts.find("root")
    assert asked == ["root"]
    version = [2]
    accounts.find("root")
    assert asked == ["root", "root"]


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


@needs_root
def test_acting_as_a_user_ends_with_the_own_identity_back(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    before = (os.getresuid(), os.getresgid(), os.getgroups())
    with acting_as(Account("u", 4242, 4243, (4244,), "/", "/bin/sh")):
        assert (os.geteuid(), os.getegid(), os.getgroups()) == (4242, 4243, [4244])
        with pytest.raises(PermissionError):
            secret.read_text()
    assert (os.getresuid(), os.getresgid(), os.getgroups()) == before


@needs_root
def test_an_identity_that_can_not_be_put_on_leaves_the_own_one() -> None:
    before = (os.getresuid(), os.getresgid(), os.getgroups())
    with pytest.raises(OverflowError), acting_as(Account("u", -2, 4243, (4244,), "/", "/bin/sh")):
        pytest.fail("acted as nobody")
    assert (os.getresuid(), os.getresgid(), os.getgroups()) == before


def test_an_agent_that_is_not_root_acts_as_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    with (
        pytest.raises(PermissionError, match="can not act as 'u'"),
        acting_as(Account("u", 1, 1, (), "/", "")),
    ):
        pytest.fail("acted as somebody else")
