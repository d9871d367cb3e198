-- What came with the eighth schema: where answers were given, and what the gate decided.
UPDATE approvals SET answered_from = 'notification' WHERE id = 'approval-1';
UPDATE run_steps SET gate = '{"decision":"answered","by":"approval-1"}' WHERE run_id = 'run-1';
