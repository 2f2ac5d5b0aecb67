"""Tells the run which images the suites need: a parameter can not ask for a fixture by itself."""

from __future__ import annotations

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Has the image of real machines built before the first test."""
    if item.get_closest_marker("machine") and isinstance(item, pytest.Function):
        # A list of its own: the other parameters of the same test share the old one.
        item.fixturenames = [*item.fixturenames, "minimal_image"]
