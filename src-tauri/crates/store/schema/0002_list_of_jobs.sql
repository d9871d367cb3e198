-- The list of jobs: soonest first, those without a slot last. Pages continue by these three columns.
CREATE INDEX jobs_listed ON jobs (ifnull(next_run_at, 9223372036854775807), name COLLATE NOCASE, id);
