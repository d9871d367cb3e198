-- What a person had with the first schema: every table, and what later migrations must carry along.
INSERT INTO jobs VALUES
 ('daily', 'Morning', 1, 3, 1800003600000, 1799996400000, 'succeeded', NULL, 1200, 0,
  '{"id":"daily","name":"Morning","createdAtMs":1790000000000,"updatedAtMs":1790000000000,"schedule":{"kind":"cron","expr":"0 9 * * 1-5","tz":"Europe/Berlin"},"sessionTarget":"isolated","wakeMode":"now","payload":{"kind":"agentTurn","message":"Look at the news","futureKey":[1,2]},"colour":"blue"}'),
 ('paused', 'Battery', 0, 7, NULL, 1799990000000, 'failed', 'Paused after 3 failures in a row', 90, 3,
  '{"id":"paused","name":"Battery","createdAtMs":1790000000000,"updatedAtMs":1790000000000,"schedule":{"kind":"every","everyMs":60000,"anchorMs":0},"payload":{"kind":"toolCall","tool":"echo","arguments":{"text":"x"},"notifyWhen":"changed"},"policies":{"pauseAfterFailures":3}}');
INSERT INTO runs VALUES
 (1, 'run-1', 'daily', 'Morning', 1799996400000, 'schedule', 'succeeded', NULL, 1, 1799996400001, 1799996400002, 1799996401202, 1, NULL,
  'Three things.', NULL, 'cron:daily', 'm-1', 100, 10, 20, 300, '{"kind":"agentTurn","message":"Look at the news"}', '{"percent":19}'),
 (2, 'run-2', 'paused', 'Battery', 1799990000000, 'catchUp', 'failed', NULL, 9, 1799990000001, 1799990000002, 1799990000092, 2, 'run-0',
  NULL, 'It did not answer.', NULL, NULL, 0, 0, 0, NULL, '{"kind":"toolCall","tool":"echo"}', NULL),
 (3, 'run-3', 'daily', 'Morning', NULL, 'manual', 'queued', NULL, 1, 1799999000000, NULL, NULL, 0, NULL,
  NULL, NULL, 'cron:daily', NULL, 0, 0, 0, NULL, '{"kind":"agentTurn","message":"Look at the news"}', NULL),
 (4, 'run-4', 'gone', 'Removed', 1799980000000, 'schedule', 'skipped', 'Everything was paused', 40, 1799980000001, NULL, 1799980000001, 0, NULL,
  NULL, NULL, NULL, NULL, 0, 0, 0, NULL, '{"kind":"systemEvent","text":"Tea"}', NULL);
INSERT INTO run_steps VALUES
 ('run-1', 1, 'toolCall', 'http', 'finished', 1, '{"url":"https://example.org"}', '"ok"', 0, 0, 0, 0, NULL, 1799996400100, 1799996400200, 100);
INSERT INTO sessions VALUES ('main', 1790000000000, 1799996401202, 1), ('cron:daily', 1790000000000, 1799996401202, 1);
INSERT INTO messages VALUES
 (1, 'main', NULL, 1799996401202, '{"role":"user","content":[{"type":"text","text":"System: Cron: Three things."}]}'),
 (2, 'cron:daily', 'run-1', 1799996401202, '{"role":"user","content":[{"type":"text","text":"Look at the news"}]}');
INSERT INTO system_events VALUES
 (1, 'Cron: Three things.', 'cron:daily', 1799996401202, 1799996500000, 'run-9'),
 (2, 'Call mother', 'cli', 1799999000000, NULL, NULL);
INSERT INTO outbox VALUES
 ('delivery-1', 'run-1', 'notification', NULL, 'Morning', 'Three things.', 'delivered', 1, NULL, 1799996401202, NULL, 1799996401300),
 ('delivery-2', 'run-2', 'notification', NULL, 'Battery', 'It did not answer.', 'pending', 2, 'nobody is there', 1799990000092, 1800000060000, NULL);
INSERT INTO events VALUES
 (1, 1799996401202, 'run', '{"runId":"run-1","state":"succeeded"}'),
 (2, 1799999000000, 'heartbeat', '{"action":"queued"}');
INSERT INTO settings VALUES ('pause', '{"untilMs":1800100000000}');
