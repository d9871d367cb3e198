-- Instants are milliseconds since 1970. Enumerations are stored by the names that JSON uses.
-- A partial index is used only by a query that repeats its WHERE terms; `cargo test -p rouse-store plans` proves it.

-- `definition` is the job in the job format without `enabled` and `state`, which live in the columns. It stands last,
-- so that reading the columns before it never walks through its pages.
CREATE TABLE jobs (
    id                   TEXT    NOT NULL PRIMARY KEY,
    name                 TEXT    NOT NULL,
    enabled              INTEGER NOT NULL,
    revision             INTEGER NOT NULL,
    next_run_at          INTEGER,
    last_run_at          INTEGER,
    last_state           TEXT,
    last_error           TEXT,
    last_duration_ms     INTEGER,
    consecutive_failures INTEGER NOT NULL,
    definition           TEXT    NOT NULL
) STRICT;
CREATE INDEX jobs_due ON jobs (next_run_at) WHERE enabled = 1 AND next_run_at IS NOT NULL;
-- Never with `enabled` first: SQLite would prefer it to `jobs_due` and sort every enabled job to find the next one.
CREATE INDEX jobs_health ON jobs (consecutive_failures, enabled);

-- A run outlives its job, so `job_id` refers to nothing. `seq` orders runs that were made in the same millisecond.
CREATE TABLE runs (
    seq                 INTEGER PRIMARY KEY,
    id                  TEXT    NOT NULL UNIQUE,
    job_id              TEXT,
    job_name            TEXT    NOT NULL,
    slot_at             INTEGER,
    trigger             TEXT    NOT NULL,
    state               TEXT    NOT NULL,
    reason              TEXT,
    stands_for          INTEGER NOT NULL,
    created_at          INTEGER NOT NULL,
    started_at          INTEGER,
    finished_at         INTEGER,
    attempt             INTEGER NOT NULL,
    retry_of            TEXT,
    summary             TEXT,
    error               TEXT,
    session             TEXT,
    model               TEXT,
    input_tokens        INTEGER NOT NULL,
    cached_input_tokens INTEGER NOT NULL,
    output_tokens       INTEGER NOT NULL,
    cost_micro_usd      INTEGER,
    payload             TEXT    NOT NULL,
    result              TEXT
) STRICT;
-- Invariant 1: a slot fires at most once, for ever.
CREATE UNIQUE INDEX runs_slot ON runs (job_id, slot_at) WHERE slot_at IS NOT NULL;
CREATE INDEX runs_open ON runs (job_id, state) WHERE finished_at IS NULL;
CREATE INDEX runs_by_time ON runs (created_at);
CREATE INDEX runs_by_job ON runs (job_id, created_at);
CREATE INDEX runs_by_state ON runs (state, created_at);

-- The journal. A step is here before it is done.
CREATE TABLE run_steps (
    run_id              TEXT    NOT NULL REFERENCES runs (id),
    seq                 INTEGER NOT NULL,
    kind                TEXT    NOT NULL,
    name                TEXT    NOT NULL,
    status              TEXT    NOT NULL,
    repeatable          INTEGER NOT NULL,
    input               TEXT    NOT NULL,
    output              TEXT,
    is_error            INTEGER NOT NULL,
    input_tokens        INTEGER NOT NULL,
    cached_input_tokens INTEGER NOT NULL,
    output_tokens       INTEGER NOT NULL,
    cost_micro_usd      INTEGER,
    started_at          INTEGER NOT NULL,
    finished_at         INTEGER,
    duration_ms         INTEGER,
    UNIQUE (run_id, seq)
) STRICT;

CREATE TABLE sessions (
    key           TEXT    NOT NULL PRIMARY KEY,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    message_count INTEGER NOT NULL
) STRICT;

CREATE TABLE messages (
    id      INTEGER PRIMARY KEY,
    session TEXT    NOT NULL REFERENCES sessions (key),
    run_id  TEXT,
    at      INTEGER NOT NULL,
    message TEXT    NOT NULL
) STRICT;
CREATE INDEX messages_by_session ON messages (session);

CREATE TABLE system_events (
    id         INTEGER PRIMARY KEY,
    text       TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    queued_at  INTEGER NOT NULL,
    drained_at INTEGER,
    drained_by TEXT
) STRICT;
CREATE INDEX system_events_pending ON system_events (id) WHERE drained_at IS NULL;

CREATE TABLE outbox (
    id              TEXT    NOT NULL PRIMARY KEY,
    run_id          TEXT,
    channel         TEXT    NOT NULL,
    recipient       TEXT,
    title           TEXT    NOT NULL,
    body            TEXT    NOT NULL,
    state           TEXT    NOT NULL,
    attempts        INTEGER NOT NULL,
    reason          TEXT,
    created_at      INTEGER NOT NULL,
    next_attempt_at INTEGER,
    settled_at      INTEGER
) STRICT;
CREATE INDEX outbox_pending ON outbox (next_attempt_at) WHERE state = 'pending';
CREATE INDEX outbox_by_run ON outbox (run_id) WHERE run_id IS NOT NULL;

-- The numbers have no gaps: the newest row is never deleted, and a rolled back one gives its number back.
CREATE TABLE events (
    seq  INTEGER PRIMARY KEY,
    at   INTEGER NOT NULL,
    kind TEXT    NOT NULL,
    data TEXT    NOT NULL
) STRICT;

CREATE TABLE settings (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
