"""Images as clients ask for them: found or built, with the audit told. What an image is made of is the port's matter."""

from __future__ import annotations

from cloche_hub.domain.audit_events import AuditName
from cloche_hub.errors import RecipeNotBuilt
from cloche_hub.ports import Image, Images, OnProgress, Store


class ImageService:
    """Finds, builds and removes images.

    Args:
        images: the port.
        store: for the audit.
    """

    def __init__(self, images: Images, store: Store) -> None:
        self._images, self._store = images, store

    async def find_or_build(self, recipe: str, *, build: bool, actor: str, progress: OnProgress) -> Image:
        """The recipe's image, built first if there is none and `build` says so.

        Raises:
            RecipeNotBuilt: there is none, and it is not to be built.
            CodedError: as `ports.Images.build`.
        """
        try:
            return await self._images.find(recipe)
        except RecipeNotBuilt:
            if not build:
                raise
        return await self.build(recipe, rebuild=False, actor=actor, progress=progress)

    async def build(self, recipe: str, *, rebuild: bool, actor: str, progress: OnProgress) -> Image:
        """Builds an image, or returns the current one unless `rebuild`."""
        before = {image.digest for image in await self._images.list()}
        image = await self._images.build(recipe, progress=progress, rebuild=rebuild)
        if rebuild or image.digest not in before:
            detail = {"recipe": recipe, "image": image.digest, "agent_hash": image.agent_hash}
            await self._store.write(
                lambda transaction: transaction.append_audit(
                    AuditName.IMAGE_BUILT, actor=actor, detail=detail
                )
            )
        return image

    async def remove(self, digest: str, *, actor: str) -> None:
        """Deletes an image and its templates.

        Raises:
            NotFound, WrongState: there is none, or a machine runs from it.
        """
        await self._images.remove(digest)
        await self._store.write(
            lambda transaction: transaction.append_audit(
                AuditName.IMAGE_REMOVED, actor=actor, detail={"image": digest}
            )
        )

    async def note_pruned(self, freed_bytes: int, *, actor: str) -> None:
        """Tells the audit that left-overs were deleted."""
        await self._store.write(
            lambda transaction: transaction.append_audit(
                AuditName.CACHE_PRUNED, actor=actor, detail={"freed_bytes": freed_bytes}
            )
        )
