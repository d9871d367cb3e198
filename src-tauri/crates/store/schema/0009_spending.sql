-- What was spent, call by call: a model's answer, or a tool that costs something. Beside the journal, because budgets
-- count by the day and runs are pruned by their number. What has no price has tokens only. `job_id` is empty for the
-- main session.
CREATE TABLE spending (
    id             INTEGER PRIMARY KEY,
    at             INTEGER NOT NULL,
    run_id         TEXT    NOT NULL,
    job_id         TEXT,
    tokens         INTEGER NOT NULL,
    cost_micro_usd INTEGER
) STRICT;
CREATE INDEX spending_by_time ON spending (at, tokens, cost_micro_usd);
CREATE INDEX spending_by_job ON spending (job_id, at, tokens, cost_micro_usd);
CREATE INDEX spending_by_run ON spending (run_id);
INSERT INTO spending (at, run_id, job_id, tokens, cost_micro_usd)
    SELECT s.finished_at, s.run_id, r.job_id, s.input_tokens + s.output_tokens, s.cost_micro_usd
    FROM run_steps s JOIN runs r ON r.id = s.run_id
    WHERE s.finished_at IS NOT NULL AND (s.input_tokens + s.output_tokens > 0 OR s.cost_micro_usd > 0)
    ORDER BY s.finished_at;

-- Budgets that were told to be used up, so that each is told once a day.
CREATE TABLE told_budgets (
    id  INTEGER PRIMARY KEY,
    key TEXT    NOT NULL UNIQUE,
    at  INTEGER NOT NULL
) STRICT;

-- Why another model than the job's own has worked; none for the job's own.
ALTER TABLE runs ADD COLUMN fell_back TEXT;
