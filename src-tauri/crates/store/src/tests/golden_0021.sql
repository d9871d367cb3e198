-- What came with the twenty-first schema: the lifetime of an approval.
UPDATE approvals SET lifetime_ms = 1800000;
