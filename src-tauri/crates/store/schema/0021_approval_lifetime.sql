-- The lifetime of an approval begins with the first message that arrives. `expires_at` is that instant plus `lifetime_ms`.
ALTER TABLE approvals ADD COLUMN lifetime_ms INTEGER NOT NULL DEFAULT 0;
UPDATE approvals SET lifetime_ms = expires_at - coalesce(
    (SELECT max(held_until) FROM outbox WHERE outbox.run_id = approvals.run_id AND outbox.state = 'held'), asked_at);
CREATE INDEX outbox_approvals ON outbox (run_id) WHERE kind = 'approval';
