"""Builds one image from the command line, without a hub: `python -m cloche_hub.images RECIPE [--rebuild]`.

For developers: prints the steps on stderr and the image's files as JSON on stdout.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict

from cloche_hub.errors import CodedError
from cloche_hub.images.images import ImageCache
from cloche_hub.ports import Progress
from cloche_wire.rendezvous import locations


def _show(step: Progress) -> None:
    share = "    " if step.fraction is None else f"{step.fraction:4.0%}"
    print(f"{share} {step.message}", file=sys.stderr)  # noqa: T201 - a command's output


async def _main(recipe: str, *, rebuild: bool) -> None:
    async with ImageCache(locations().cache) as images:
        image = await images.build(recipe, progress=_show, rebuild=rebuild)
        files = asdict(images.paths(image.digest))
        print(json.dumps(files, default=str, indent=1))  # noqa: T201 - a command's output


if __name__ == "__main__":
    try:
        asyncio.run(_main(sys.argv[1], rebuild="--rebuild" in sys.argv[2:]))
    except IndexError:
        sys.exit("usage: python -m cloche_hub.images RECIPE [--rebuild]")
    except CodedError as error:
        sys.exit(error.message)
