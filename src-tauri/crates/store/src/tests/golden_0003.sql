-- What came with the third schema: why runs were fired, webhooks and their calls.
INSERT INTO causes VALUES
 ('run-1', 'daily', 'event:1', '{"source":"wake","text":"Tea","fields":{"type":"wake"},"chain":[]}'),
 ('run-3', 'daily', NULL, '{"source":"job","text":"Battery failed","fields":{"jobId":"paused","status":"error"},"chain":["paused"]}');
INSERT INTO webhooks VALUES ('daily', '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', 1799990000000);
INSERT INTO webhook_calls VALUES
 ('daily', 'deploy-7', 'run-1', 1799996400000),
 ('daily', 'deploy-8', 'run-3', 1799999000000);
