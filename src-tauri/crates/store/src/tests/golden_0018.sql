-- What came with the eighteenth schema: a file that a call returned.
INSERT INTO call_attachments VALUES ('run-1', 1, 0, 'chart.png', 'png', 3, X'89504E');
