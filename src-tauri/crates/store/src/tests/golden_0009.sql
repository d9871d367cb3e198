-- What came with the ninth schema: what was spent, budgets that were told, and runs of another model than the job's own.
INSERT INTO spending VALUES (1000, 1799996400100, 'run-1', 'daily', 1200, 340), (1001, 1799996400200, 'run-2', NULL, 80, NULL);
INSERT INTO told_budgets VALUES (1, 'job/daily/1799971200000', 1799996400200);
UPDATE runs SET fell_back = 'small did not answer' WHERE id = 'run-1';
