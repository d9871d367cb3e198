-- The checked versions of built tools, one row per name and hash. `seq` grows with each check. `tests`, `errors`, `files`
-- and `manifest` are JSON. `run_id` is the run that made the version, and may be pruned; NULL for a person's own check.
CREATE TABLE tool_builds (
    seq            INTEGER PRIMARY KEY,
    name           TEXT    NOT NULL,
    hash           TEXT    NOT NULL,
    language       TEXT    NOT NULL,
    engine         TEXT    NOT NULL,
    engine_version TEXT    NOT NULL,
    tests          TEXT    NOT NULL,
    errors         TEXT    NOT NULL,
    files          TEXT    NOT NULL,
    manifest       TEXT    NOT NULL,
    run_id         TEXT,
    is_tainted     INTEGER NOT NULL,
    checked_at     INTEGER NOT NULL,
    state          TEXT    NOT NULL,
    UNIQUE (name, hash)
) STRICT;
CREATE INDEX tool_builds_by_name ON tool_builds (name, seq);
CREATE UNIQUE INDEX tool_builds_accepted ON tool_builds (name) WHERE state = 'accepted';
-- The SHA-256 of the files of compiled components. A file with another hash is not loaded.
CREATE TABLE compiled_components (
    key         TEXT    NOT NULL PRIMARY KEY,
    hash        TEXT    NOT NULL,
    recorded_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
