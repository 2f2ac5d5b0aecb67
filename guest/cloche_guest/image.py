"""What the machine's image says of itself: its recipe's variables, and whom commands run as.

Rule: an image without it, or with one that makes no sense, still runs commands, as the ordinary user.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

PATH = "/etc/cloche/image.json"
ORDINARY_USER = "1000"


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What of an image concerns the agent."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Variables of every command; a sandbox's own win over them."""
    user: str = ORDINARY_USER
    """Whom commands run as unless they say so: a name or a number."""


def read_image_facts(path: str = PATH) -> ImageFacts:
    """The facts an image was built with."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse_image_facts(json.load(file))
    except (OSError, ValueError):
        return ImageFacts()


def parse_image_facts(facts: object) -> ImageFacts:
    """The facts in what the file holds; what has another type than it should is left out."""
    if not isinstance(facts, dict):
        return ImageFacts()
    env, user = facts.get("env"), facts.get("user")
    pairs = env.items() if isinstance(env, dict) else ()
    return ImageFacts(
        env={key: value for key, value in pairs if isinstance(key, str) and isinstance(value, str)},
        user=user if isinstance(user, str) and user else ORDINARY_USER,
    )
