-- What came with the fourth schema: slots of runs that are no longer kept.
INSERT INTO pruned_slots VALUES
 ('daily', 1799910000000, 1790000000000),
 ('gone', 1799970000000, 1799960000000);
