"""Where a client finds the hub of this user, and where both find their files.

Pure: environment and user id in, paths out. It is here because hub and SDK must agree on it and may not
import each other.

Rule: `CLOCHE_HOME` moves the state and the socket with it, so hubs with different homes never meet;
`CLOCHE_CACHE` moves images and templates, which any number of hubs share.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# A Unix socket's address holds 108 bytes with its final NUL.
_LONGEST_SOCKET_PATH = 107


@dataclass(frozen=True, slots=True)
class Locations:
    """The places one user's hub uses."""

    home: Path
    """State: database, tokens, logs, machines."""
    cache: Path
    """Images and templates: may be deleted at any time while no hub runs."""
    runtime: Path
    """The socket's directory, mode 0700."""

    @property
    def socket(self) -> Path:
        """The hub's Unix socket."""
        return self.runtime / "hub.sock"

    @property
    def admin_token(self) -> Path:
        """The first admin token, mode 0600, written by the hub on its first start."""
        return self.home / "admin.token"

    @property
    def log(self) -> Path:
        """The log of a hub in the background."""
        return self.home / "hub.log"


def locations(environ: Mapping[str, str] | None = None, uid: int | None = None) -> Locations:
    """The locations for an environment (default: this process's) and a user id (default: the effective one)."""
    env = os.environ if environ is None else environ
    uid = os.geteuid() if uid is None else uid
    user_home = Path(env.get("HOME") or "/")
    if uid == 0:
        default_home, default_cache = Path("/var/lib/cloche"), Path("/var/cache/cloche")
        run_root = Path("/run/cloche")
    else:
        default_home = Path(env.get("XDG_STATE_HOME") or user_home / ".local/state") / "cloche"
        default_cache = Path(env.get("XDG_CACHE_HOME") or user_home / ".cache") / "cloche"
        xdg_runtime = env.get("XDG_RUNTIME_DIR")
        run_root = Path(xdg_runtime) / "cloche" if xdg_runtime else Path(f"/tmp/cloche-{uid}")  # noqa: S108 - made 0700 and its owner checked
    cache = Path(env["CLOCHE_CACHE"]).absolute() if env.get("CLOCHE_CACHE") else default_cache
    if not env.get("CLOCHE_HOME"):
        return Locations(home=default_home, cache=cache, runtime=run_root)
    home = Path(env["CLOCHE_HOME"]).absolute()
    runtime = home / "run"
    if len(os.fsencode(runtime / "hub.sock")) > _LONGEST_SOCKET_PATH:
        runtime = run_root / hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Locations(home=home, cache=cache, runtime=runtime)
