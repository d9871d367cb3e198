-- Files that a tool call returned, for the person: at the step `step` of the run, in the order of `position`. `bytes` is
-- NULL beyond the limit of the run.
CREATE TABLE call_attachments (
    run_id   TEXT    NOT NULL REFERENCES runs (id),
    step     INTEGER NOT NULL,
    position INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    size     INTEGER NOT NULL,
    bytes    BLOB,
    UNIQUE (run_id, step, position)
) STRICT;
