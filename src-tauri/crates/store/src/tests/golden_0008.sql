-- What came with the eighth schema: where answers were given, what the gate decided, and runs that went on.
UPDATE approvals SET answered_from = 'notification' WHERE id = 'approval-1';
UPDATE run_steps SET gate = '{"decision":"answered","by":"approval-1"}' WHERE run_id = 'run-1';
UPDATE runs SET resumed = 1 WHERE id = 'run-1';
