"""A viewer of a console, as a test drives it: what it is told, in order, and the screen that this makes.

    viewer = await attach(client, mode="drive")
    await viewer.type(b"ls\r")
    await viewer.until_shown("$ ")

It checks the order of what it is told: a screen is whole before anything else happens on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from cloche_term import Terminal, open_terminal
from cloche_wire.aio import Channel
from tests.support.hub import BOUND_S, Client, within

MESSAGES, KEYS = 0, 1


class Viewing:
    """One viewer.

    Args:
        channel: accepted.
        info: what was said then.
        backend: of its emulator; `bittty` where what is shown would crash the native one, and the test with it.
    """

    def __init__(self, channel: Channel, info: dict[str, Any], *, backend: str | None = None) -> None:
        self.channel, self._backend = channel, backend
        self.console: dict[str, Any] = info["console"]
        """As it was when it attached."""
        self.id: str = info["viewer"]
        self.told: list[dict[str, Any]] = []
        """Everything but output, in order."""
        self.output = b""
        """What has been shown since the last screen was whole."""
        self.screens = 0
        self.lost_bytes = 0
        """By the newest screen."""
        self.viewers: list[dict[str, Any]] = []
        self.driver: str | None = None
        self.offset: int | None = None
        """Where the newest screen was whole, and what has come since."""
        self.terminal: Terminal | None = None
        self._is_whole = False
        self._messages = channel.messages()

    @property
    def notices(self) -> list[str]:
        """What it was told as a person."""
        return [message["notice"] for message in self.told if "notice" in message]

    @property
    def text(self) -> list[str]:
        """The rows of the screen that are not blank."""
        assert self.terminal is not None
        return [row for row in self.terminal.text() if row]

    async def type(self, keys: bytes) -> None:
        """Types, as far as there is room."""
        await within(self.channel.write(KEYS, keys))

    async def say(self, **message: Any) -> None:
        """Says something on stream 0."""
        await within(self.channel.send_message(message))

    async def next(self) -> dict[str, Any]:
        """Takes the next message."""
        message: dict[str, Any] = await within(anext(self._messages))
        self._take(message)
        return message

    async def until(self, condition: Callable[[], object]) -> None:
        """Takes messages until the condition holds."""
        async with asyncio.timeout(BOUND_S):
            while not condition():
                await self.next()

    async def until_whole(self) -> None:
        """Takes messages until the screen is whole and who is there is known."""
        await self.until(lambda: self._is_whole and self.viewers)

    async def until_shown(self, text: str) -> None:
        """Takes messages until the screen has a text."""
        await self.until(lambda: self._is_whole and any(text in row for row in self.text))

    async def until_told(self, word: str) -> Any:
        """Takes messages until one of a kind has come; its value."""
        seen = len(self.told)
        await self.until(lambda: any(word in message for message in self.told[seen:]))
        return self.told[-1][word]

    async def result(self) -> dict[str, Any]:
        """Takes what is left, then the result."""
        async with asyncio.timeout(BOUND_S):
            async for message in self._messages:
                self._take(message)
            return await self.channel.result()

    def close(self) -> None:
        """Gives the emulator back."""
        if self.terminal is not None:
            self.terminal.close()

    def _take(self, message: dict[str, Any]) -> None:
        word, value = next(iter(message.items()))
        assert word == "screen" or self.terminal is not None, f"{word} before a screen"
        if word == "output":
            self._show(value)
            return
        self.told.append(message)
        match word:
            case "screen":
                self._begin_screen(value)
            case "live":
                assert not self._is_whole, "a screen that is whole twice"
                self._is_whole, self.offset, self.output = True, value, b""
            case "resize":
                assert self._is_whole, "another size in the middle of a screen"
                assert self.terminal is not None
                self.terminal.resize(value["rows"], value["cols"])
            case "viewers":
                assert self._is_whole
                self.viewers, self.driver = value, message["driver"]
            case _:
                assert self._is_whole, f"{word} in the middle of a screen"

    def _begin_screen(self, size: dict[str, int]) -> None:
        self.close()
        self.terminal = open_terminal(size["rows"], size["cols"], backend=self._backend)
        self.screens += 1
        self.lost_bytes = size["lost_bytes"]
        self._is_whole = False

    def _show(self, data: bytes) -> None:
        assert self.terminal is not None
        # The hub's emulator has answered.
        self.terminal.feed(data)
        self.output += data
        if self._is_whole:
            assert self.offset is not None
            self.offset += len(data)


async def create(client: Client, sandbox: str = "a", **params: Any) -> dict[str, Any]:
    """A console that runs."""
    return await client.call("console.create", sandbox=sandbox, **params)


async def terminals(client: Client, **params: Any) -> list[dict[str, Any]]:
    """The consoles of programs, newest first: every machine has one of its own besides."""
    found = (await client.call("console.list", **params))["consoles"]
    return [console for console in found if console["kind"] == "pty"]


async def attach(
    client: Client, sandbox: str = "a", *, is_read: bool = True, backend: str | None = None, **params: Any
) -> Viewing:
    """A viewer of a sandbox's newest console, unless `console` names another; it has its screen, unless it reads nothing."""
    channel = client.open("console.attach", sandbox=sandbox, **params)
    viewing = Viewing(channel, await within(channel.wait_accepted()), backend=backend)
    if is_read:
        await viewing.until_whole()
    return viewing
