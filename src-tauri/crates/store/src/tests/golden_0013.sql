-- What came with the thirteenth schema: a run that waits for a person and was at work before.
INSERT INTO runs (seq, id, job_id, job_name, trigger, state, stands_for, created_at, started_at, attempt,
        input_tokens, cached_input_tokens, output_tokens, payload, worked_ms)
    VALUES (6, 'run-6', 'daily', 'Morning', 'manual', 'awaitingApproval', 1, 1799999600000, 1799999600001, 1,
        0, 0, 0, '{"kind":"agentTurn","message":"Look at the news"}', 4000);
