-- What was last read of the Markdown files of the memory. The files are the memory, and this can be made anew from them.
-- A file without a stamp is read again before the next search; one with a problem has no text here.
CREATE TABLE memory_files (
    id          INTEGER NOT NULL PRIMARY KEY,
    path        TEXT    NOT NULL UNIQUE,
    stamp       TEXT,
    digest      TEXT    NOT NULL,
    problem     TEXT,
    modified_at INTEGER NOT NULL
) STRICT;

-- Their words, under the same row ids. A word of the path counts more than one of the text.
CREATE VIRTUAL TABLE memory_text USING fts5 (path, text, tokenize = 'unicode61 remove_diacritics 2');
