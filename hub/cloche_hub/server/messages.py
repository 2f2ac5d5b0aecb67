"""Values of the hub as clients get them: plain msgpack maps. One function a value; ARCHITECTURE.md lists the fields."""

from __future__ import annotations

from typing import Any

from cloche_hub.domain.approval import Approval
from cloche_hub.domain.approval_fields import approval_fields
from cloche_hub.domain.audit import AuditEvent
from cloche_hub.domain.console import Console, console_fields
from cloche_hub.domain.events import Usage
from cloche_hub.domain.sandbox import Sandbox
from cloche_hub.domain.times import to_text
from cloche_hub.domain.tokens import Token
from cloche_hub.ports import CacheUse, Image, Progress


def sandbox_message(sandbox: Sandbox) -> dict[str, Any]:
    """A sandbox."""
    return {
        "id": sandbox.id,
        "name": sandbox.name,
        "owner": sandbox.owner,
        "recipe": sandbox.recipe,
        "image": sandbox.image,
        "flavor": sandbox.flavor,
        "labels": dict(sandbox.labels),
        # SAFETY: values may be secrets, and whoever lists sandboxes needs none of them.
        "env_names": sorted(sandbox.env),
        "state": str(sandbox.state),
        "accelerator": sandbox.accelerator,
        "created_at": to_text(sandbox.created_at),
        "lease_s": sandbox.lease_s,
        "expires_at": sandbox.expires_at and to_text(sandbox.expires_at),
        "ended_at": sandbox.ended_at and to_text(sandbox.ended_at),
        "end_reason": sandbox.end_reason,
        "timings": dict(sandbox.timings),
    }


def image_message(image: Image) -> dict[str, Any]:
    """An image."""
    return {
        "digest": image.digest,
        "recipe": image.recipe,
        "arch": image.arch,
        "agent_hash": image.agent_hash,
        "size_bytes": image.size_bytes,
        "built_at": to_text(image.built_at),
        "current": image.current,
    }


def progress_message(progress: Progress) -> dict[str, Any]:
    """A step of a long work."""
    return {"step": progress.step, "message": progress.message, "fraction": progress.fraction}


def cache_use_message(use: CacheUse, *, title: str, recipe: str | None) -> dict[str, Any]:
    """Something on disk, with what a person knows it by."""
    return {
        "kind": use.kind,
        "name": use.name,
        "title": title,
        "recipe": recipe,
        "size_bytes": use.size_bytes,
        "used_at": to_text(use.used_at),
        "in_use": use.in_use,
        "prunable": use.prunable,
    }


def approval_message(approval: Approval) -> dict[str, Any]:
    """An approval."""
    return approval_fields(approval)


def console_message(console: Console) -> dict[str, Any]:
    """A console."""
    return console_fields(console)


def usage_message(usage: Usage) -> dict[str, Any]:
    """What a sandbox's machine costs its host."""
    return {
        "sandbox": usage.sandbox.id,
        "at": to_text(usage.at),
        "cpu_s": usage.cpu_s,
        "cpu_percent": usage.cpu_percent,
        "memory_pss_bytes": usage.memory_pss_bytes,
        "disk_bytes": usage.disk_bytes,
    }


def token_message(token: Token) -> dict[str, Any]:
    """A token: everything but its secret's hash."""
    return {
        "id": token.id,
        "name": token.name,
        "owner": token.owner,
        "scope": str(token.scope),
        "created_at": to_text(token.created_at),
        "revoked_at": token.revoked_at and to_text(token.revoked_at),
    }


def audit_message(event: AuditEvent) -> dict[str, Any]:
    """An audit event, with what a client needs to verify it."""
    return {
        "seq": event.seq,
        "at": to_text(event.at),
        "event": event.event,
        "actor": event.actor,
        "sandbox": event.sandbox,
        "detail": dict(event.detail),
        "prev_hash": event.prev_hash,
        "hash": event.hash,
    }
