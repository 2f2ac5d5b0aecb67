"""Images as clients ask for them: found or built, with the audit told. What an image is made of is the port's matter."""

from __future__ import annotations

from cloche_hub.domain.audit import Json
from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import RecipeNotBuilt
from cloche_hub.ports import Image, Images, OnProgress
from cloche_hub.services.records import Records, noting


class ImageService:
    """Finds, builds and removes images.

    Args:
        images: the port.
        records: for the audit: what has happened to an image is recorded when it has happened.
    """

    def __init__(self, images: Images, records: Records) -> None:
        self._images, self._records = images, records
        # The images that are no news to the audit.
        self._known: set[str] = set()

    async def find(self, recipe: str, *, build: bool) -> Image | None:
        """The recipe's image; None if there is none and it may be built.

        Raises:
            NotFound: no such recipe.
            RecipeNotBuilt: there is no image, and `build` does not say to build one.
        """
        try:
            return await self._images.find(recipe)
        except RecipeNotBuilt:
            if not build:
                raise
        return None

    async def build(self, recipe: str, *, rebuild: bool, actor: str, progress: OnProgress) -> Image:
        """Builds an image, or returns the current one unless `rebuild`.

        Raises:
            CodedError: as `ports.Images.build`.
        """
        self._known = {image.digest for image in await self._images.list()}
        image = await self._images.build(recipe, progress=progress, rebuild=rebuild)
        if rebuild or image.digest not in self._known:
            # Before the first wait: of several callers of one build, one tells of it.
            self._known.add(image.digest)
            detail: dict[str, Json] = {
                "recipe": recipe,
                "image": image.digest,
                "agent_hash": image.agent_hash,
            }
            await self._records.keep(noting(AuditName.IMAGE_BUILT, actor=actor, detail=detail))
        return image

    async def remove(self, digest: str, *, actor: str) -> None:
        """Deletes an image and its templates.

        Raises:
            NotFound, WrongState: there is none, or a machine runs from it.
        """
        await self._images.remove(digest)
        self._known.discard(digest)
        await self._records.keep(noting(AuditName.IMAGE_REMOVED, actor=actor, detail={"image": digest}))

    async def note_pruned(self, freed_bytes: int, *, actor: str) -> None:
        """Tells the audit that left-overs were deleted."""
        await self._records.keep(
            noting(AuditName.CACHE_PRUNED, actor=actor, detail={"freed_bytes": freed_bytes})
        )
