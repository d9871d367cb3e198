-- What came with the nineteenth schema: a message on a channel.
INSERT INTO outbox (id, run_id, channel, recipient, title, body, state, attempts, reason, created_at, settled_at, kind, thread,
                    text, sent_parts, unconfirmed, message_ids, first_attempt_at)
VALUES ('delivery-phone', 'run-2', 'phone', '7', 'Daily', 'Failed: no network.', 'failed', 3, 'Not confirmed.', 1800000000000,
        1800000090000, 'failure', '43', 'Failed: **no network**.', 1, 2, '["55"]', 1800000001000);
