"""The tables of PROTOCOL.md, from the code. `python -m tests.wire.protocol_tables` writes them into the document."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from cloche_wire.channels import PEER_MAY_SEND, WE_MAY, Standing, State
from cloche_wire.errors import ERROR_CLASSES
from cloche_wire.frames import TAG_OF, Tag

DOCUMENT = Path(__file__).parents[2] / "wire" / "PROTOCOL.md"


def tables() -> dict[str, str]:
    """Name of each block in the document → what belongs into it."""
    return {
        "frames": _frames(),
        "states": _states(),
        "standings": _standings(),
        "errors": _errors(),
    }


def written_into(text: str) -> str:
    """The document with its blocks renewed."""
    for name, table in tables().items():
        block = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, count = block.subn(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"PROTOCOL.md has {count} blocks named {name}")
    return text


def _frames() -> str:
    rows = ["| tag | frame | fields after the channel |", "| --- | --- | --- |"]
    for cls, tag in sorted(TAG_OF.items(), key=lambda pair: pair[1]):
        types = inspect.get_annotations(cls)
        fields = ", ".join(f"{name}: {_type(kind)}" for name, kind in types.items() if name != "channel")
        rows.append(f"| {int(tag)} | {tag.name} | {fields or 'none'} |")
    return "\n".join(rows)


def _type(annotation: object) -> str:
    names = {"Fields": "map", "Buffer": "bin", "bytes": "bin", "list[Any]": "array", "bool": "bool"}
    # NamedTuple keeps annotations as forward references.
    text = getattr(annotation, "__forward_arg__", str(annotation))
    return names.get(text, text)


def _states() -> str:
    rows = ["| our state | the peer may send | we may |", "| --- | --- | --- |"]
    for state in State:
        sends = ", ".join(tag.name for tag in Tag if tag in PEER_MAY_SEND[state]) or "nothing"
        moves = ", ".join(sorted(WE_MAY[state])) or "nothing"
        rows.append(f"| {state.value} | {sends} | {moves} |")
    return "\n".join(rows)


def _standings() -> str:
    return "\n".join(f"- {int(standing)}: {standing.name.lower()}" for standing in Standing)


def _errors() -> str:
    rows = ["| code | meaning |", "| --- | --- |"]
    for code, cls in sorted(ERROR_CLASSES.items()):
        rows.append(f"| `{code}` | {(inspect.getdoc(cls) or '').splitlines()[0]} |")
    return "\n".join(rows)


if __name__ == "__main__":
    DOCUMENT.write_text(written_into(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
