"""How ids and secrets are spelt: lower-case letters and digits that nobody confuses.

Rule: an id is `<prefix>_<letters>`. Names hold no underscore (`names`), so an id is never a name.
"""

from __future__ import annotations

import secrets

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""32 characters, 5 bits each: no i, l, o and u."""

ID_LENGTH = 12
"""60 bits: two of a million sandboxes collide with a chance of one in two million, and the store would notice."""


def random_letters(length: int) -> str:
    """`length` characters nobody can guess, 5 bits each."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def new_id(prefix: str) -> str:
    """A fresh id, such as `sb_7k2m9qx4tn0c` for the prefix `sb`."""
    return f"{prefix}_{random_letters(ID_LENGTH)}"
