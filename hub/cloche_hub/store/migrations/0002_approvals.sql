-- Who asks for a sandbox by its name is told that it is gone.
CREATE INDEX removed_sandboxes ON sandboxes (name) WHERE state = 'removed';

-- Calls that wait, or have waited, for a human's decision (domain/approval.py). Parameters are canonical JSON texts.

CREATE TABLE approvals (
    id              TEXT NOT NULL PRIMARY KEY,
    sandbox         TEXT NOT NULL REFERENCES sandboxes (id),
    sandbox_name    TEXT NOT NULL,
    owner           TEXT NOT NULL,
    labels          TEXT NOT NULL,
    callback        TEXT NOT NULL,
    method          TEXT NOT NULL,
    params_sha256   TEXT NOT NULL,
    params_bytes    INTEGER NOT NULL,
    caller          TEXT NOT NULL,
    rule            TEXT NOT NULL,
    rule_reason     TEXT,
    state           TEXT NOT NULL,
    created_at      TEXT NOT NULL,
    deadline_at     TEXT NOT NULL,
    on_deadline     TEXT NOT NULL,
    decided_at      TEXT,
    decided_by      TEXT,
    decided_by_name TEXT,
    reason          TEXT,
    -- Last: whoever reads the others only never reads through these, which a guest makes as long as it can.
    params          TEXT,
    approved_params TEXT
) STRICT, WITHOUT ROWID;

-- A call that is sent again never makes a second approval.
CREATE UNIQUE INDEX approvals_by_call ON approvals (sandbox, callback);
-- For lists: each finds the newest of a state without looking at any other approval.
CREATE INDEX approvals_by_state ON approvals (state, created_at, id);
CREATE INDEX approvals_by_owner_and_state ON approvals (owner, state, created_at, id);
CREATE INDEX approvals_by_sandbox_and_state ON approvals (sandbox, state, created_at, id);
-- For ids that are given by their beginning.
CREATE INDEX approvals_by_owner ON approvals (owner, id);
