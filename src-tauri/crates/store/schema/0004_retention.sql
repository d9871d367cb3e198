-- Slots of runs that are no longer kept. They have fired, and never fire again: not after the clock was set back, and
-- not when a deleted job comes back under its old id. Slots close to each other share a row, so the table stays small.
CREATE TABLE pruned_slots (
    job_id     TEXT    NOT NULL,
    through_at INTEGER NOT NULL,
    from_at    INTEGER NOT NULL,
    PRIMARY KEY (job_id, through_at)
) STRICT, WITHOUT ROWID;

-- Deliveries of runs go with their runs; the few others are found by this.
CREATE INDEX outbox_without_run ON outbox (created_at) WHERE run_id IS NULL;
