-- What a call of a webhook said, as a SHA-256, and why its run does nothing: its run may be kept for less long than its key.
ALTER TABLE webhook_calls ADD COLUMN body_hash TEXT;
ALTER TABLE webhook_calls ADD COLUMN reason TEXT;
