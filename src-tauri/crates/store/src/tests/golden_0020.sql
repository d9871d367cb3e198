-- What came with the twentieth schema: a paired chat, and a decision from it.
INSERT INTO recipients (channel, address, label, paired_at) VALUES ('phone', '7', 'Anna (@anna)', 1800000000000);
INSERT INTO received_offsets (source, next_update) VALUES ('telegram:42', 1001);
INSERT INTO reply_buttons (hash, delivery_id, decision) VALUES ('6162', 'delivery-phone', 'once');
UPDATE outbox SET approval_id = 'approval-1' WHERE id = 'delivery-phone';
UPDATE approvals SET decided_by = 'phone (Telegram, Anna)';
