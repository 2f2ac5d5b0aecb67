"""Folders for the tests of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cloche_guest.users import Account, look_up


@pytest.fixture
def me() -> Account:
    """Whoever runs the tests."""
    return look_up(str(os.geteuid()))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder anybody may enter and write in, which the tests' own folders are not; root's tests need one."""
    with TemporaryDirectory() as made:
        Path(made).chmod(0o777)
        yield Path(made)
