"""What the kernel refused, as an error of the protocol: one table. Pure.

Rule: what the table does not know is a `wrong_state`: the machine's file system is the user's own, and so is its trouble.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from cloche_guest.files.paths import shown
from cloche_wire.errors import (
    BadRequest,
    CodedError,
    Conflict,
    Forbidden,
    NoSpace,
    NotFound,
    TooLarge,
    Unsupported,
    WrongState,
)

CLASSES: dict[int, type[CodedError]] = {
    errno.ENOENT: NotFound,
    errno.EACCES: Forbidden,
    errno.EPERM: Forbidden,
    errno.EROFS: Forbidden,
    errno.EEXIST: Conflict,
    errno.ENOTDIR: WrongState,
    errno.EISDIR: WrongState,
    errno.ENOTEMPTY: WrongState,
    errno.EBUSY: WrongState,
    errno.ETXTBSY: WrongState,
    errno.EXDEV: WrongState,
    errno.EAGAIN: WrongState,
    errno.ENOSPC: NoSpace,
    errno.EDQUOT: NoSpace,
    errno.EMFILE: NoSpace,
    errno.ENFILE: NoSpace,
    errno.ENOMEM: NoSpace,
    errno.EMLINK: NoSpace,
    errno.EFBIG: TooLarge,
    errno.EOVERFLOW: TooLarge,
    errno.ENAMETOOLONG: BadRequest,
    errno.ELOOP: BadRequest,
    errno.EINVAL: BadRequest,
    errno.EOPNOTSUPP: Unsupported,
}

_HINTS = {
    errno.EXDEV: "it is on another file system; copy it and remove the original",
    errno.EAGAIN: "it has nothing to read now and is no ordinary file",
    errno.ENOSPC: "the machine's disk is full",
}


def refusal(error: OSError, path: bytes) -> CodedError:
    """The error that says what the kernel refused for a path."""
    number = error.errno or 0
    why = _HINTS.get(number) or error.strerror or os.strerror(number)
    return CLASSES.get(number, WrongState)(f"{shown(path)}: {why}")


@contextmanager
def naming(path: bytes) -> Iterator[None]:
    """Turns what the kernel refuses meanwhile into the error that names the path."""
    try:
        yield
    except OSError as error:
        raise refusal(error, path) from None


def wrong_kind(path: bytes, what: str) -> WrongState:
    """What is there is of another kind than the request needs."""
    return WrongState(f"{shown(path)}: {what}")
