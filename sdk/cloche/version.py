"""The version of this package: what a user sees and what the hub logs."""

from __future__ import annotations

VERSION = "0.1.0"
