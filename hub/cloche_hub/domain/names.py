"""What sandboxes may be called, and names for those nobody named.

A name is also the machine's host name, so the rules are those of a host name's label.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence

from cloche_hub.domain.ids import random_letters
from cloche_hub.errors import BadRequest

MAX_NAME = 63
"""Characters: the longest label of a host name (RFC 1035 section 2.3.4)."""

_NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?", re.ASCII)

ADJECTIVES = (  # noqa: SIM905 - a list of one word a line would hide the module
    "airy amber ample bold brave breezy bright brisk calm candid clear clever cosy crisp dapper deft eager early "
    "even fair fleet fond frank fresh gentle glad golden green hardy hazel honest ivory jolly keen kind leafy light "
    "lively lucid lunar mellow merry mild misty mossy neat nimble noble pale patient placid plucky proud quick quiet "
    "rapid rosy ruddy rustic sage serene sharp silent silver sleek snug solar spry steady still stout sunny swift "
    "tidy tranquil true vivid warm wild wise witty young zesty"
).split()
NOUNS = (  # noqa: SIM905 - as above
    "acorn alder anise apple arbor aspen aster barley basil bay beech berry birch bloom borage bramble briar bud "
    "cedar cherry chive clover comfrey cress crocus daisy dill elder elm fennel fern fig flax garlic gorse grove "
    "hazel heath hedge holly hop iris ivy juniper kale larch laurel leek lilac lily linden lotus lupin maple marram "
    "meadow melon mint moss myrtle nettle oak oat olive orchid osier parsley peach pear peony petal pine plum poppy "
    "quince radish reed rose rowan rue rush rye sage sedge sorrel spruce squash tansy thistle thyme tulip turnip "
    "vetch vine violet walnut willow yarrow yew"
).split()


def check_name(name: str) -> str:
    """The name itself, if a sandbox may be called that.

    Raises:
        BadRequest: it may not; the message says what a name looks like.
    """
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise BadRequest(
            f"name {name[: MAX_NAME + 1]!r} will not do: a name has up to {MAX_NAME} of a-z, 0-9 and '-', "
            "starts with a letter and does not end with '-'"
        )
    return name


def friendly_name(*, crowded: bool = False, choose: Callable[[Sequence[str]], str] = secrets.choice) -> str:
    """A name for a sandbox nobody named, such as `mossy-acorn`.

    Args:
        crowded: add letters that make it unique; for the second try, when the first name was taken.
        choose: picks one of several words.
    """
    name = f"{choose(ADJECTIVES)}-{choose(NOUNS)}"
    return f"{name}-{random_letters(4)}" if crowded else name
