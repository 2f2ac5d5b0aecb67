"""`cloche df | prune`."""

from __future__ import annotations

import json

from tests.sdk.cli.conftest import Cloche
from tests.support.local_hub import LocalHub
from tests.support.scripted_hub import answer


async def test_df_lists_what_is_kept_and_its_sum(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("image", "build", "python")
    heading, line, total = (await cloche("df")).out.splitlines()
    assert heading.split() == ["KIND", "NAME", "SIZE", "USED", "IN", "USE"]
    assert line.split()[:4] == ["image", "python", "300.0", "MiB"]
    assert total == "300.0 MiB in all, 5.0 GiB free in /var/cache/cloche"


async def test_df_of_a_hub_that_says_less(cloche: Cloche, hub: LocalHub) -> None:
    hub.handlers["disk.usage"] = answer({"entries": []})
    assert (await cloche("df")).out.splitlines()[-1] == "0 B in all"


async def test_df_in_json_is_in_bytes(cloche: Cloche, hub: LocalHub) -> None:
    await cloche("image", "build", "python")
    usage = json.loads((await cloche("df", "--json")).out)
    assert (usage["cache"], usage["free_bytes"]) == ("/var/cache/cloche", 5 << 30)
    assert [entry["size_bytes"] for entry in usage["entries"]] == [300 << 20]


async def test_prune_says_what_it_freed(cloche: Cloche, hub: LocalHub) -> None:
    assert await cloche("prune") == (0, "freed 3.0 MiB\n", "")
    assert json.loads((await cloche("prune", "--json")).out) == {"freed_bytes": 3 << 20}
