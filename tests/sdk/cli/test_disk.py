"""`cloche df | prune`."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import answer


def entry(kind: str, name: str, title: str, mib: int, **more: Any) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": name,
        "title": title,
        "recipe": None,
        "size_bytes": mib << 20,
        "used_at": "2026-01-02T03:04:05.000000Z",
        "in_use": False,
        "prunable": False,
        **more,
    }


async def test_df_names_recipes_by_kind_with_sums_and_what_pruning_would_free(
    cloche: Cloche, hub: LocalHub
) -> None:
    entries = [
        entry("template", "abababababab small", "python/small", 5, prunable=True),
        entry("image", "cd" * 16, "python", 2, prunable=True),
        entry("image", "ab" * 16, "minimal", 1),
        entry("machine", "sb_1", "box", 4, in_use=True),
        entry("novelty", "thing", "thing\n", 1),
    ]
    hub.handlers["disk.usage"] = answer({"cache": "/c", "entries": entries, "free_bytes": 5 << 30})
    heading, *lines, total, prune = (await cloche("df")).out.splitlines()
    assert heading.split() == ["WHAT", "ID", "SIZE", "USED", "STATE"]
    assert [re.sub(r"  +", "|", re.sub(r"  [^ ]+ d .*ago", "", line).strip()) for line in lines] == [
        "images|3.0 MiB",
        "minimal|abababababab|1.0 MiB|kept",
        "python|cdcdcdcdcdcd|2.0 MiB|to be pruned",
        "templates|5.0 MiB",
        "python/small|abababababab|5.0 MiB|to be pruned",
        "machines|4.0 MiB",
        "box|sb_1|4.0 MiB|in use",
        "other|1.0 MiB",
        "thing\\n|thing|1.0 MiB|kept",
    ]
    assert total == "13.0 MiB in all, 5.0 GiB free in /c"
    assert prune == "cloche prune would free 7.0 MiB"


async def test_df_of_a_hub_that_says_less(cloche: Cloche, hub: LocalHub) -> None:
    hub.handlers["disk.usage"] = answer({"entries": []})
    assert (await cloche("df")).out.splitlines() == ["0 B in all", "nothing to prune"]


async def test_df_in_json_is_in_bytes(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("image", "build", "python")
    usage = json.loads((await cloche("df", "--json")).out)
    assert (usage["cache"], usage["free_bytes"]) == ("/var/cache/cloche", 5 << 30)
    assert [entry["size_bytes"] for entry in usage["entries"]] == [300 << 20]


async def test_prune_says_what_it_freed(cloche: Cloche, hub: LocalHub) -> None:
    assert await cloche("prune") == (0, "freed 3.0 MiB\n", "")
    assert json.loads((await cloche("prune", "--json")).out) == {"freed_bytes": 3 << 20}
