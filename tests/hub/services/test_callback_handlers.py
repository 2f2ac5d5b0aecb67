"""Who answers which callback."""

from __future__ import annotations

import contextlib

import pytest

from cloche_hub.errors import TooLarge
from cloche_hub.services.callback_handlers import (
    MOST_PATTERNS,
    CallbackHandlers,
    HandlerCall,
    Registration,
)


async def _nothing(_call: HandlerCall) -> object:
    return None


def registration(
    *methods: str, owner: str | None = None, sandbox: str | None = None, token: str = "tok_1"
) -> Registration:
    return Registration(token, owner, sandbox, methods or ("*",), _nothing)


def found(handlers: CallbackHandlers, method: str = "pay", owner: str = "ann") -> Registration | None:
    return handlers.find(sandbox="sb_1", owner=owner, method=method)


def test_nobody_answers_what_nobody_registered_for() -> None:
    handlers = CallbackHandlers()
    assert found(handlers) is None
    with handlers.registered(registration("other.*", "mail")):
        assert found(handlers) is None
        assert found(handlers, "mail") is not None


def test_a_pattern_matches_the_whole_method() -> None:
    handlers, one = CallbackHandlers(), registration("pay.*", "v?")
    with handlers.registered(one):
        assert [found(handlers, method) for method in ("pay.send", "pay.", "v2")] == [one, one, one]
        assert [found(handlers, method) for method in ("pay", "xpay.send", "v", "v22")] == [None] * 4


def test_a_registration_ends_with_its_context() -> None:
    handlers = CallbackHandlers()
    with pytest.raises(KeyError), handlers.registered(registration()):
        raise KeyError
    assert found(handlers) is None


def test_an_owners_is_asked_for_that_owners_sandboxes_only() -> None:
    handlers, anns = CallbackHandlers(), registration(owner="ann")
    with handlers.registered(anns):
        assert found(handlers, owner="ann") is anns
        assert found(handlers, owner="bob") is None


def test_one_for_the_very_sandbox_comes_before_one_for_all_and_the_newest_first() -> None:
    handlers = CallbackHandlers()
    special = [registration(sandbox="sb_1"), registration(sandbox="sb_1")]
    general = [registration(), registration()]
    with contextlib.ExitStack() as stack:
        for one in (general[0], special[0], special[1], general[1], registration(sandbox="sb_2")):
            stack.enter_context(handlers.registered(one))
        assert found(handlers) is special[1]
        assert handlers.find(sandbox="sb_3", owner="ann", method="pay") is general[1]
    with handlers.registered(general[0]), handlers.registered(special[0]):
        with handlers.registered(special[1]):
            assert found(handlers) is special[1]
        assert found(handlers) is special[0]


def test_a_special_one_for_another_method_leaves_the_call_to_the_general_one() -> None:
    handlers, general = CallbackHandlers(), registration()
    with handlers.registered(general), handlers.registered(registration("mail", sandbox="sb_1")):
        assert found(handlers) is general


def test_a_token_has_so_many_patterns_and_others_are_not_concerned() -> None:
    handlers = CallbackHandlers()
    with handlers.registered(registration(*["x"] * MOST_PATTERNS)):
        with pytest.raises(TooLarge, match=f"has {MOST_PATTERNS} methods registered"):
            handlers.registered(registration("one")).__enter__()
        with handlers.registered(registration(token="tok_2")):
            assert found(handlers) is not None
