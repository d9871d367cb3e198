-- What came with the eleventh schema: a run that waits for its next attempt.
INSERT INTO runs (seq, id, job_id, job_name, trigger, state, stands_for, created_at, started_at, attempt, error,
        input_tokens, cached_input_tokens, output_tokens, payload, next_attempt_at, backoff_ms, error_for_log)
    VALUES (5, 'run-5', 'daily', 'Morning', 'manual', 'running', 1, 1799999500000, 1799999500001, 1, 'no network',
        0, 0, 0, '{"kind":"agentTurn","message":"Look at the news"}', 1800000100000, 600000, 'It was not reached');
