"""The hub's errors: the wire's coded errors under one roof, and what stays inside."""

from __future__ import annotations

import cloche_hub.errors as hub_errors
from cloche_hub.errors import CodedError, HomeInUse, HubError
from cloche_wire.errors import ERROR_CLASSES


def test_every_coded_error_of_the_wire_can_be_raised_from_the_hubs_own_module() -> None:
    assert {cls.__name__ for cls in ERROR_CLASSES.values()} <= set(hub_errors.__all__)


def test_the_list_of_public_names_is_sorted_and_complete() -> None:
    assert sorted(hub_errors.__all__) == hub_errors.__all__
    assert all(hasattr(hub_errors, name) for name in hub_errors.__all__)


def test_what_stays_inside_the_hub_has_no_code_to_travel_with() -> None:
    inside = [cls for cls in vars(hub_errors).values() if isinstance(cls, type) and issubclass(cls, HubError)]
    assert not [cls for cls in inside if issubclass(cls, CodedError)]


def test_a_home_in_use_names_the_process_that_has_it() -> None:
    assert HomeInUse("taken", pid=12).pid == 12
