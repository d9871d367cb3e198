-- What came with the fifteenth schema: a call of a webhook that is known by what it said, whose run did nothing.
INSERT INTO webhook_calls (job_id, key, run_id, at, body_hash, reason)
    VALUES ('daily', 'second', 'run-4', 1799999900000, '00ff', 'Another run of it was still at work');
