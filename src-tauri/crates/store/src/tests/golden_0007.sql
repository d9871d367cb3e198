-- What came with the seventh schema: the index of the memory.
INSERT INTO memory_files VALUES
 (1, 'garden.md', '1799990000000000000-12-34', 'd1', NULL, 1799990000000),
 (2, 'photo.md', NULL, 'd2', 'It is not UTF-8 text.', 1799990000001);
INSERT INTO memory_text (rowid, path, text) VALUES (1, 'garden.md', 'The tomatoes stand in the second bed.'), (2, 'photo.md', '');
