-- Questions to a person. A run that asks is parked until all of its questions have an answer; the answer counts for
-- exactly the call that the fingerprint stands for. `used_at` is when a yes for once was used up.
CREATE TABLE approvals (
    id           TEXT    NOT NULL PRIMARY KEY,
    run_id       TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    job_id       TEXT,
    job_name     TEXT    NOT NULL,
    call_id      TEXT    NOT NULL,
    tool         TEXT    NOT NULL,
    arguments    TEXT    NOT NULL,
    surroundings TEXT    NOT NULL,
    fingerprint  TEXT    NOT NULL,
    preview      TEXT    NOT NULL,
    why          TEXT    NOT NULL,
    is_highest   INTEGER NOT NULL,
    asked_at     INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    scope        TEXT,
    reason       TEXT,
    decided_at   INTEGER,
    used_at      INTEGER
) STRICT;
CREATE INDEX approvals_by_run ON approvals (run_id);
CREATE INDEX approvals_pending ON approvals (expires_at) WHERE state = 'pending';
CREATE INDEX approvals_by_time ON approvals (asked_at, id);

-- Standing answers of jobs. One that was taken back stays on record.
CREATE TABLE grants (
    id         TEXT    NOT NULL PRIMARY KEY,
    job_id     TEXT    NOT NULL,
    tool       TEXT    NOT NULL,
    covers     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    uses_left  INTEGER,
    used       INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;
CREATE INDEX grants_by_job ON grants (job_id, tool);

-- The call in the words of the model's provider, so that a run that goes on knows which of its calls were made.
ALTER TABLE run_steps ADD COLUMN call_id TEXT;
