"""Which request about files starts what.

Rule: so many take time at once, and no more: what each keeps in memory is bounded, and so are all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from cloche_guest.fields import Params
from cloche_guest.files import changes, messages, paths
from cloche_guest.files.listing import listing
from cloche_guest.files.reading import reading
from cloche_guest.files.refusals import naming
from cloche_guest.files.removal import removing
from cloche_guest.files.slices import Sliced, Steps
from cloche_guest.files.writing import Writing
from cloche_guest.users import Account, acting_as
from cloche_guest.works import Open, Surroundings
from cloche_wire.errors import CommandNotStarted, NoSpace, NotFound

MOST_AT_ONCE = 64
"""Files on their way, folders being listed and trees being removed."""

_R = TypeVar("_R", bound=messages.Request)
_Steps = Callable[[int, bytes, _R], Steps]


class Files:
    """All work on the machine's files.

    Args:
        around: where it runs.
        most: how much of it may be under way at once.
    """

    def __init__(self, around: Surroundings, *, most: int = MOST_AT_ONCE) -> None:
        self._around, self._most = around, most
        self._under_way = 0

    def opens(self) -> dict[str, Open]:
        """Kind of request → what starts it."""
        return {
            "file.read": self._in_steps(messages.parse_read, self._reading),
            "file.write": self._write,
            "file.stat": self._at_once(messages.parse_stat, changes.look),
            "file.list": self._in_steps(messages.parse_list, self._listing),
            "file.make_dir": self._at_once(messages.parse_make_dir, changes.make_dir),
            "file.remove": self._in_steps(messages.parse_remove, self._removing),
            "file.rename": self._at_once(messages.parse_rename, changes.rename),
            "file.set_mode": self._at_once(messages.parse_set_mode, changes.set_mode),
            "file.link": self._at_once(messages.parse_link, changes.link),
        }

    def _at_once(self, parse: Callable[[Params], _R], change: Callable[[_R, str], dict[str, Any]]) -> Open:
        def start(channel: int, params: Params, _env: Mapping[str, str]) -> None:
            request = parse(params)
            account = self._account(request)
            with naming(request.path.encode(errors="replace")), acting_as(account):
                answer = change(request, account.home)
            self._around.connection.close(channel, answer)

        return start

    def _in_steps(self, parse: Callable[[Params], _R], steps: _Steps[_R]) -> Open:
        def start(channel: int, params: Params, _env: Mapping[str, str]) -> None:
            request = parse(params)
            account = self._account(request)
            path = paths.resolve(request.path, account.home)
            self._begin_one()
            work = Sliced(
                self._around, channel, account, steps(channel, path, request), on_end=self._one_is_over
            )
            # Before it begins: it may be over at once.
            self._around.works.add(channel, work)
            try:
                with naming(path):
                    work.begin()
            except BaseException:
                work.kill()
                raise

        return start

    def _write(self, channel: int, params: Params, _env: Mapping[str, str]) -> None:
        request = messages.parse_write(params)
        account = self._account(request)
        path = paths.resolve(request.path, account.home)
        self._begin_one()
        try:
            work = Writing(self._around, channel, account, path, request, on_end=self._one_is_over)
        except BaseException:
            self._one_is_over()
            raise
        self._around.works.add(channel, work)

    def _reading(self, channel: int, path: bytes, request: messages.ReadRequest) -> Steps:
        connection = self._around.connection
        return reading(connection, channel, path, offset=request.offset, length=request.length)

    def _listing(self, channel: int, path: bytes, _request: messages.Request) -> Steps:
        return listing(self._around.connection, channel, path)

    def _removing(self, channel: int, path: bytes, request: messages.RemoveRequest) -> Steps:
        if request.recursive:
            # The hub gives up what nobody takes, and a tree may take long.
            self._around.connection.accept(channel)
        yield from removing(path, recursive=request.recursive)

    def _account(self, request: messages.Request) -> Account:
        try:
            return self._around.accounts.find(request.user or self._around.default_user)
        except CommandNotStarted as error:
            raise NotFound(error.message) from None

    def _begin_one(self) -> None:
        if self._under_way >= self._most:
            raise NoSpace(
                f"{self._most} files and folders are worked on at once in this machine; wait until one is done"
            )
        self._under_way += 1

    def _one_is_over(self) -> None:
        self._under_way -= 1
