-- One row per job and cause of failures, from the first failure to the first success. The job may be gone, and the
-- heartbeat has none.
CREATE TABLE incidents (
    id             INTEGER PRIMARY KEY,
    job_id         TEXT,
    class          TEXT    NOT NULL,
    cause          TEXT    NOT NULL,
    opened_at      INTEGER NOT NULL,
    closed_at      INTEGER,
    closed_how     TEXT,
    count          INTEGER NOT NULL,
    first_run      TEXT    NOT NULL,
    last_run       TEXT    NOT NULL,
    last_at        INTEGER NOT NULL,
    paused_because TEXT
) STRICT;
CREATE UNIQUE INDEX incidents_open ON incidents (coalesce(job_id, ''), class) WHERE closed_at IS NULL;

-- What a delivery's job says about quiet hours (none: what everything does), until when it is held, and the digest
-- that tells of it. A held one waits for the morning and not for an attempt.
ALTER TABLE outbox ADD COLUMN quiet_hours TEXT;
ALTER TABLE outbox ADD COLUMN held_until INTEGER;
ALTER TABLE outbox ADD COLUMN digest TEXT;
CREATE INDEX outbox_held ON outbox (created_at) WHERE state = 'held';
CREATE INDEX outbox_by_digest ON outbox (digest) WHERE digest IS NOT NULL;
