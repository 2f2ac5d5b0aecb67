"""Whom a command runs as."""

from __future__ import annotations

import pytest

from cloche_guest import users
from cloche_guest.users import Account, Accounts, look_up
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
