"""What the tests of files share: requests by their paths, and folders that anybody may enter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack

from tests.support.blocking_link import BlockingLink
from tests.support.blocking_request import Request

BYTES, MESSAGES = 1, 0
SOMEBODY = "4242"
"""A user without a name, who is not root."""


def begin_write(link: BlockingLink, path: Path | str, **params: Any) -> Request:
    """A file that is being written; nothing has been sent."""
    asked = {"path": str(path), "exclusive": False, "parents": False, **params}
    request = link.open("file.write", asked)
    request.wait_accepted()
    return request


def write(link: BlockingLink, path: Path | str, data: bytes, **params: Any) -> dict[str, Any]:
    """Writes a file; its entry."""
    request = begin_write(link, path, **params)
    request.write(data, BYTES)
    request.end(BYTES)
    return request.result()


def read(link: BlockingLink, path: Path | str, **params: Any) -> bytes:
    """Reads a file to its end."""
    request = link.open("file.read", {"path": str(path), "offset": 0, **params})
    size = request.result()["size_bytes"]
    data = bytes(request.outputs.get(BYTES, b""))
    assert (size, request.ended) == (len(data), {BYTES})
    return data


def listed(link: BlockingLink, path: Path | str, *, window: int | None = None) -> list[dict[str, Any]]:
    """A folder's entries, by their names."""
    request = link.open("file.list", {"path": str(path)}, window=window)
    count = request.result()["entries"]
    entries = [one for batch in batches(request) for one in batch]
    assert len(entries) == count
    return sorted(entries, key=lambda one: str(one["name"]))


def batches(request: Request) -> list[list[dict[str, Any]]]:
    """What has come of a listing."""
    unpacker = msgpack.Unpacker(raw=False)
    unpacker.feed(bytes(request.outputs.get(MESSAGES, b"")))
    return [message["entries"] for message in unpacker]


def names(folder: Path) -> list[str]:
    """What is in a folder, hidden files too."""
    return sorted(one.name for one in folder.iterdir())
