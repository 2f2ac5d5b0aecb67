"""`cloche image build | ls | rm`: what machines start from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cloche.cli import options
from cloche.cli.complete import complete_images, complete_recipes
from cloche.cli.output import SHORT_DIGEST, age, clean_line, show, show_json, show_table, size
from cloche.errors import BadRequest, NotFound

if TYPE_CHECKING:
    from cloche.aio import Hub
    from cloche.cli.session import Interrupts
    from cloche.messages import ImageInfo


def add_to(app: typer.Typer) -> None:
    """Adds the group."""
    group = typer.Typer(help="Build, list and remove images.", no_args_is_help=True)
    group.command("build")(build)
    group.command("ls")(ls)
    group.command("rm")(rm)
    app.add_typer(group, name="image")


def build(
    recipe: Annotated[
        str, typer.Argument(metavar="RECIPE", help="Its name.", autocompletion=complete_recipes)
    ],
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Build even if there is a current image.")
    ] = False,
    json: options.JsonOption = False,
) -> int:
    """Build the image of a recipe.

    Does nothing if there is a current one.

    \b
    Examples:
      cloche image build python
      cloche image build minimal --rebuild
    """
    from cloche.cli.progress import shown_progress
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        with shown_progress() as on_progress:
            image = await hub.build_image(recipe, rebuild=rebuild, on_progress=on_progress)
        if json:
            show_json(image)
        else:
            show(f"{clean_line(image.recipe)}  {image.digest[:SHORT_DIGEST]}  {size(image.size_bytes)}")

    return with_hub(work)


def ls(json: options.JsonOption = False) -> int:
    """List images, newest first.

    New sandboxes start from the current one of their recipe. An old one is of an earlier version of the recipe or
    of Cloche; `cloche prune` removes it once nothing uses it and there is a newer one.

    \b
    Examples:
      cloche image ls
      cloche image ls --json
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        images = await hub.images()
        if json:
            show_json(images)
            return
        rows = [
            (
                image.recipe,
                image.digest[:SHORT_DIGEST],
                image.arch,
                size(image.size_bytes),
                age(image.built_at),
                "current" if image.current else "old",
            )
            for image in images
        ]
        headings = ("RECIPE", "DIGEST", "ARCH", "SIZE", "BUILT", "STATE")
        show_table(
            headings, rows, free=("RECIPE",), if_empty="no images; to build one: cloche image build python"
        )

    return with_hub(work)


def rm(
    image: Annotated[
        str,
        typer.Argument(
            metavar="IMAGE",
            help="A digest, how one begins, or a recipe's name.",
            autocompletion=complete_images,
        ),
    ],
    json: options.JsonOption = False,
) -> int:
    """Remove an image and its templates.

    \b
    Examples:
      cloche image rm minimal
      cloche image rm 3f2a9c
    """
    from cloche.cli.session import with_hub

    async def work(hub: Hub, _interrupts: Interrupts) -> None:
        found = find_image(image, await hub.images())
        await hub.remove_image(found.digest)
        if json:
            show_json(found)
        else:
            show(found.digest[:SHORT_DIGEST])

    return with_hub(work)


def find_image(reference: str, images: Sequence[ImageInfo]) -> ImageInfo:
    """The image a user means.

    Raises:
        NotFound: none is.
        BadRequest: several are.
    """
    matches = [image for image in images if reference and image.digest.startswith(reference)]
    matches = matches or [image for image in images if image.recipe == reference]
    if not matches:
        raise NotFound(f"no image {reference!r}; see: cloche image ls")
    if len(matches) > 1:
        digests = ", ".join(image.digest[:SHORT_DIGEST] for image in matches)
        raise BadRequest(f"{reference!r} could be any of: {digests}; give one of these")
    return matches[0]
