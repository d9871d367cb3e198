-- Deliveries to channels beside the notification. `kind` is report, failure or approval. `text` is the whole message, and
-- `body` its first sentence. `sent_parts` of the message were accepted by the service. `unconfirmed` counts attempts without
-- an answer. A row in the state `sending` after a crash has no answer either. A due row has `next_attempt_at`.
ALTER TABLE outbox ADD COLUMN kind TEXT NOT NULL DEFAULT 'report';
ALTER TABLE outbox ADD COLUMN thread TEXT;
ALTER TABLE outbox ADD COLUMN text TEXT;
ALTER TABLE outbox ADD COLUMN sent_parts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN unconfirmed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN message_ids TEXT;
ALTER TABLE outbox ADD COLUMN first_attempt_at INTEGER;
DROP INDEX outbox_pending;
CREATE INDEX outbox_due ON outbox (channel, next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX outbox_sending ON outbox (channel) WHERE state = 'sending';
UPDATE outbox SET kind = 'approval'
    WHERE state IN ('pending', 'held') AND run_id IN (SELECT run_id FROM approvals WHERE state = 'pending');
