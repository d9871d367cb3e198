//! Search for texts.
//!
//! Owns the statements of the full-text index `memory_text` (FTS5), and the search for a text in a run. PostgreSQL: a `tsvector`
//! column with a GIN index, `websearch_to_tsquery`, `ts_headline` and `ts_rank`; `ILIKE` in place of `LIKE`.
//! Pitfall: a search in the JSON text of a message alone, which would find keys and escapes.

/// Deletes the text of a memory file by its id.
pub(crate) const DELETE_MEMORY_TEXT: &str = "DELETE FROM memory_text WHERE rowid = $1";

/// Inserts the text of a memory file: id, path, text.
pub(crate) const INSERT_MEMORY_TEXT: &str =
    "INSERT INTO memory_text (rowid, path, text) VALUES ($1, $2, $3)";

/// Deletes the texts of the memory files with these paths.
pub(crate) const DELETE_MEMORY_TEXTS: &str = "DELETE FROM memory_text WHERE rowid IN
    (SELECT id FROM memory_files WHERE path IN (SELECT value FROM json_each($1)))";

/// Path, excerpt and time of the memory files that match, the best first.
pub(crate) const SEARCH_MEMORY: &str =
    "SELECT f.path, snippet(memory_text, 1, '', '', ' … ', 40), f.modified_at
    FROM memory_text JOIN memory_files f ON f.id = memory_text.rowid
    WHERE memory_text MATCH $1 ORDER BY bm25(memory_text, 4.0, 1.0), f.path LIMIT $2";

/// The condition of runs whose row or transcript contains a text. The value `text` is a LIKE pattern for the row and for the
/// strings of messages: texts, tool arguments and tool results. The value `json` is a pattern for the JSON text of a
/// message, so that most messages are never parsed.
pub(crate) fn run_has_text(text: usize, json: usize) -> String {
    format!(
        r"(coalesce(job_name || char(10) || coalesce(summary, '') || char(10) || coalesce(error, '')
            || char(10) || coalesce(reason, ''), '') LIKE ${text} ESCAPE '\' OR id IN
        (SELECT run_id FROM messages WHERE run_id IS NOT NULL AND message LIKE ${json} ESCAPE '\'
            AND CASE WHEN json_valid(message) THEN EXISTS
                (SELECT 1 FROM json_tree(message) WHERE type = 'text' AND (key = 'text' OR path LIKE '%.arguments%')
                    AND atom LIKE ${text} ESCAPE '\') END))"
    )
}

/// The text after the first colon. PostgreSQL: `split_part`, or `substr` with `strpos`.
macro_rules! text_after_colon {
    ($column:literal) => {
        concat!("substr(", $column, ", instr(", $column, ", ':') + 1)")
    };
}
pub(crate) use text_after_colon;
