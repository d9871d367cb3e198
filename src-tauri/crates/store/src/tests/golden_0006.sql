-- What came with the sixth schema: questions to a person, standing answers, and the calls of a run by name.
INSERT INTO approvals VALUES
 ('approval-1', 'run-1', 'daily', 'Morning', 'call-1', 'http', '{"url":"https://example.org"}', '{}', 'f1', 'Asks example.org', 'unlessGranted', 0,
  1799996400050, 1800082800050, 'approved', 'once', NULL, 1799996400090, 1799996400100);
INSERT INTO grants VALUES ('grant-1', 'daily', 'http', '{"hosts":["example.org"]}', 1799996400090, NULL, NULL, 1, 1799999000000);
UPDATE run_steps SET call_id = 'call-1' WHERE run_id = 'run-1';
