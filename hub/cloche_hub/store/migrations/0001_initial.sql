-- Times are ISO 8601 texts in UTC with six digits of a second (domain/times.py), so they sort; maps are JSON texts.

CREATE TABLE sandboxes (
    id          TEXT NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    owner       TEXT NOT NULL,
    recipe      TEXT NOT NULL,
    image       TEXT,
    flavor      TEXT NOT NULL,
    labels      TEXT NOT NULL,
    env         TEXT NOT NULL,
    state       TEXT NOT NULL,
    accelerator TEXT,
    created_at  TEXT NOT NULL,
    lease_s     REAL NOT NULL,
    expires_at  TEXT,
    ended_at    TEXT,
    end_reason  TEXT,
    timings     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A name is one owner's once, as long as its sandbox is not removed.
CREATE UNIQUE INDEX live_sandboxes ON sandboxes (name, owner) WHERE state <> 'removed';
CREATE INDEX sandboxes_by_age ON sandboxes (created_at);

CREATE TABLE tokens (
    id          TEXT NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    owner       TEXT NOT NULL,
    scope       TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    revoked_at  TEXT
) STRICT, WITHOUT ROWID;

-- The chain of domain/audit.py. `detail` is canonical JSON.
CREATE TABLE audit (
    seq       INTEGER NOT NULL PRIMARY KEY,
    at        TEXT NOT NULL,
    event     TEXT NOT NULL,
    actor     TEXT NOT NULL,
    sandbox   TEXT,
    detail    TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash      TEXT NOT NULL
) STRICT;

CREATE INDEX audit_of_sandbox ON audit (sandbox, seq) WHERE sandbox IS NOT NULL;

-- Where the chain ends: without it, nobody could tell that its last events were deleted.
CREATE TABLE audit_head (
    only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
    seq      INTEGER NOT NULL,
    hash     TEXT NOT NULL
) STRICT;

INSERT INTO audit_head (only_row, seq, hash)
VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');

-- Against our own mistakes only: whoever can write the file can drop a trigger.
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN
    SELECT raise(ABORT, 'audit events are never changed');
END;

CREATE TRIGGER audit_is_never_shortened BEFORE DELETE ON audit
BEGIN
    SELECT raise(ABORT, 'audit events are never deleted');
END;
