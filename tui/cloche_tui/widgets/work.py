"""Work for a worker that is made only when the worker begins: one that never does leaves no coroutine behind."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, cast

from textual.dom import DOMNode
from textual.worker import Worker


def begin(node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], *, group: str) -> Worker[None]:
    """Has something done; it ends with the node.

    Args:
        node: whose work it is.
        work: a coroutine function, or a `functools.partial` of one.
        group: what work it belongs to.
    """
    return cast("Worker[None]", node.run_worker(cast("Any", work), group=group))
