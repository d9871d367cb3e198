-- What fired a run that no slot asked for: an event, or a call of the job's webhook. A run that makes up for another one
-- has the same cause without its id. Beside `runs`, so that a list of runs never reads through what a webhook sent.
CREATE TABLE causes (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    job_id TEXT NOT NULL,
    id     TEXT,
    cause  TEXT NOT NULL
) STRICT;
-- An event fires a job at most once, for ever.
CREATE UNIQUE INDEX causes_once ON causes (job_id, id) WHERE id IS NOT NULL;

-- Read when a job was changed; the events that follow are matched in memory.
CREATE INDEX jobs_listening ON jobs (id) WHERE definition ->> '$.schedule.kind' = 'event';

-- The hash of a webhook's secret; the secret itself is shown once and kept nowhere.
CREATE TABLE webhooks (
    job_id      TEXT    NOT NULL PRIMARY KEY,
    secret_hash TEXT    NOT NULL,
    made_at     INTEGER NOT NULL
) STRICT;

-- Calls that named a key, so that the same call twice makes one run.
CREATE TABLE webhook_calls (
    job_id TEXT    NOT NULL,
    key    TEXT    NOT NULL,
    run_id TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    PRIMARY KEY (job_id, key)
) STRICT;
CREATE INDEX webhook_calls_by_time ON webhook_calls (at);
