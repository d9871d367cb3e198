-- What came with the fourteenth schema: a session whose later runs inherit what an earlier one has read.
INSERT INTO sessions (key, created_at, updated_at, message_count, from_outside, skill_texts)
    VALUES ('cron:heir', 1799999700000, 1799999700001, 0, 1, '[{"skill":"tea","path":null,"digest":"00ff"}]');
