-- A run that waits for its next attempt is still `running`, and these say when that begins (`next_attempt_at`), how long
-- the wait was when it began (`backoff_ms`), and what the log says of the failure that its row holds meanwhile.
ALTER TABLE runs ADD COLUMN next_attempt_at INTEGER;
ALTER TABLE runs ADD COLUMN backoff_ms INTEGER;
ALTER TABLE runs ADD COLUMN error_for_log TEXT;
