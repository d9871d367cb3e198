-- Why a run waits between two attempts: 'model' or 'rateLimit'; NULL for the backoff of a failed attempt. And how long it has
-- waited for models so far: the bound of its patience.
ALTER TABLE runs ADD COLUMN waits_for TEXT;
ALTER TABLE runs ADD COLUMN model_wait_ms INTEGER NOT NULL DEFAULT 0;
