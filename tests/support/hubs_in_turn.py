"""One hub after the other at one agent, each with a session of its own: what the agent keeps from one to the next shows."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tests.support.agent_process import AgentProcess
from tests.support.blocking_link import BlockingLink


class Hubs:
    """See the module; made by `hubs_in_turn`."""

    def __init__(self, agent: AgentProcess) -> None:
        self._agent = agent
        self._link: BlockingLink | None = None

    def next(self) -> BlockingLink:
        """The next one, greeted; the one before is gone without a word."""
        self.go()
        self._link = BlockingLink()
        assert not self._link.connect(self._agent.socket).resumed
        return self._link

    def go(self) -> None:
        """The last one is gone. Idempotent."""
        if self._link is not None:
            self._link.drop()


@contextlib.contextmanager
def hubs_in_turn(agent: AgentProcess) -> Iterator[Hubs]:
    """Hubs of an agent; the last one goes at the end."""
    hubs = Hubs(agent)
    try:
        yield hubs
    finally:
        hubs.go()
