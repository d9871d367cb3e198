-- What came with the twelfth schema: a job whose jitter was changed after a slot.
UPDATE jobs SET decided_until = next_run_at - 3600000, settled_until = next_run_at - 7200000 WHERE id = 'daily';
