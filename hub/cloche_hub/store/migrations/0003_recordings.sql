-- What consoles and commands have shown (ports/recordings.py); the texts themselves are files beside the database.

CREATE TABLE recordings (
    id           TEXT NOT NULL PRIMARY KEY,
    kind         TEXT NOT NULL,
    of           TEXT NOT NULL,
    sandbox      TEXT NOT NULL,
    sandbox_name TEXT NOT NULL,
    owner        TEXT NOT NULL,
    title        TEXT NOT NULL,
    rows         INTEGER NOT NULL,
    cols         INTEGER NOT NULL,
    term         TEXT NOT NULL,
    -- Words as JSON; null: the user's shell.
    command      TEXT,
    started_at   TEXT NOT NULL,
    -- From here on null while it is under way.
    ended_at     TEXT,
    duration_s   REAL,
    size_bytes   INTEGER,
    text_bytes   INTEGER,
    sha256       TEXT,
    is_cut       INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- For lists: each finds the newest without looking at any other recording.
CREATE INDEX recordings_by_start ON recordings (started_at, id);
CREATE INDEX recordings_by_owner ON recordings (owner, started_at, id);
CREATE INDEX recordings_by_sandbox ON recordings (sandbox, started_at, id);
-- For ids that are given by their beginning.
CREATE INDEX recordings_by_owner_and_id ON recordings (owner, id);
-- For what has to go, what all of them take, and what a killed hub left.
CREATE INDEX recordings_by_end ON recordings (ended_at, id, size_bytes);
