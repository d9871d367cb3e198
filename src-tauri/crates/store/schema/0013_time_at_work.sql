-- How long the attempt of a run was at work before its last question. A run that goes on with an answer goes on in the same
-- attempt, and each attempt has one time limit.
ALTER TABLE runs ADD COLUMN worked_ms INTEGER NOT NULL DEFAULT 0;
