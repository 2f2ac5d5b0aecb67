"""What the kernel refuses, as the protocol's errors."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from cloche_guest.files.refusals import CLASSES, naming, refusal, wrong_kind
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


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.ENOENT, NotFound),
        (errno.EACCES, Forbidden),
        (errno.EPERM, Forbidden),
        (errno.EROFS, Forbidden),
        (errno.EEXIST, Conflict),
        (errno.ENOTDIR, WrongState),
        (errno.EISDIR, WrongState),
        (errno.ENOTEMPTY, WrongState),
        (errno.EXDEV, WrongState),
        (errno.ENOSPC, NoSpace),
        (errno.EDQUOT, NoSpace),
        (errno.EMFILE, NoSpace),
        (errno.EFBIG, TooLarge),
        (errno.ENAMETOOLONG, BadRequest),
        (errno.ELOOP, BadRequest),
        (errno.EINVAL, BadRequest),
        (errno.EOPNOTSUPP, Unsupported),
        (errno.EIO, WrongState),
    ],
)
def test_each_refusal_has_its_code_and_names_the_path(number: int, error: type[CodedError]) -> None:
    refused = refusal(OSError(number, os.strerror(number)), b"/some/where")
    assert type(refused) is error
    assert refused.message.startswith("/some/where: ")


def test_every_line_of_the_table_is_a_number_the_kernel_has() -> None:
    assert set(CLASSES) <= set(errno.errorcode)


def test_what_is_refused_while_naming_names_the_path() -> None:
    with pytest.raises(NotFound, match=r"^/some/where: No such file or directory$"), naming(b"/some/where"):
        Path("/no/such/file").stat()


def test_another_error_passes_while_naming() -> None:
    with pytest.raises(WrongState, match=r"^/x: it is a directory$"), naming(b"/some/where"):
        raise wrong_kind(b"/x", "it is a directory")


def test_an_error_without_a_number_still_says_something() -> None:
    assert refusal(OSError("odd"), b"/x").message.startswith("/x: ")
