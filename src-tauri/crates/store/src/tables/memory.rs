//! The tables `memory_files` and `memory_text`: the full-text index of the memory files.
//!
//! Owns the translation of a query into an FTS5 expression. Each word is quoted, so a query contains no operator, column or
//! syntax error. Any word matches; files with more and rarer words come first. Chinese and Japanese are written without
//! spaces, so each of their characters is a word, and adjacent characters of a query must be adjacent in the text.
//! A large change is many small transactions; changes lost in a power cut are found again before the next search.
//! Pitfall: one transaction for all files, which would delay every claim.

use rouse_core::UnixMs;
use rouse_core::memory::{
    IndexChanges, IndexFailure, IndexFuture, IndexedFile, IndexedText, MemoryHit, MemoryIndex,
};

use crate::sql::{
    DELETE_MEMORY_TEXT, DELETE_MEMORY_TEXTS, Durability, FromColumns, INSERT_MEMORY_TEXT,
    RowReader, SEARCH_MEMORY, Store, StoreError, Transaction, from_columns, in_json_list,
    json_list,
};

/// Limits of one transaction.
const MAX_FILES: usize = 200;
const MAX_BYTES: usize = 1 << 20;
/// Words of a query that are searched for.
const MAX_WORDS: usize = 32;
/// Shorter words match whole words only.
const MIN_PREFIX_CHARS: usize = 3;
/// Separates characters that are words. Invisible, and removed from snippets.
const SEPARATOR: char = '\u{200B}';

const FILES: &str = "SELECT path, stamp, digest, problem, modified_at FROM memory_files";
const PUT_FILE: &str =
    "INSERT INTO memory_files (path, stamp, digest, problem, modified_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (path) DO UPDATE SET stamp = $2, digest = $3, problem = $4, modified_at = $5 RETURNING id";
pub(crate) const DELETE_FILES: &str =
    concat!("DELETE FROM memory_files WHERE path ", in_json_list!("$1"));

from_columns!(IndexedFile: path, stamp, digest, problem, modified_at);

impl FromColumns<'_> for MemoryHit {
    fn from_columns(row: &mut RowReader<'_>) -> sqlx::Result<Self> {
        let (path, snippet, modified_at) = row.read::<(_, &str, _)>()?;
        Ok(Self { path, snippet: snippet.replace(SEPARATOR, ""), modified_at })
    }
}

impl MemoryIndex for Store {
    fn held(&self) -> IndexFuture<'_, Vec<IndexedFile>> {
        Box::pin(async {
            let files = self.fetch_all("read the index of the memory", sqlx::query(FILES)).await;
            files.map_err(|error| index_failure(&error))
        })
    }

    fn change(&self, changes: IndexChanges) -> IndexFuture<'_, ()> {
        Box::pin(async {
            self.apply_memory_changes(changes).await.map_err(|error| index_failure(&error))
        })
    }

    fn search<'a>(&'a self, query: &'a str, most: u32) -> IndexFuture<'a, Vec<MemoryHit>> {
        Box::pin(async move {
            let Some(expression) = match_expression(query) else { return Ok(Vec::new()) };
            let query = sqlx::query(SEARCH_MEMORY).bind(expression).bind(i64::from(most));
            let hits = self.fetch_all("search the memory", query).await;
            hits.map_err(|error| index_failure(&error))
        })
    }
}

fn index_failure(error: &StoreError) -> IndexFailure {
    tracing::error!(%error, "the index of the memory cannot be used");
    let why =
        if error.is_full() { "The disk is full or read-only" } else { "See the log for the cause" };
    IndexFailure(format!(
        "The memory cannot be searched now: {error}. {why}. Read its files by their paths instead."
    ))
}

impl Store {
    async fn apply_memory_changes(&self, changes: IndexChanges) -> Result<(), StoreError> {
        for deleted in changes.gone.chunks(MAX_FILES) {
            let paths = json_list(deleted.iter().map(String::as_str));
            let mut tx = self.begin_memory_change().await?;
            tx.execute(sqlx::query(DELETE_MEMORY_TEXTS).bind(paths.clone())).await?;
            tx.execute(sqlx::query(DELETE_FILES).bind(paths)).await?;
            tx.commit().await?;
        }
        for touched in changes.touched.chunks(MAX_FILES) {
            let mut tx = self.begin_memory_change().await?;
            for file in touched {
                put_file(&mut tx, file).await?;
            }
            tx.commit().await?;
        }
        let mut changed = changes.changed.as_slice();
        while !changed.is_empty() {
            let (files, later) = changed.split_at(transaction_size(changed));
            let mut tx = self.begin_memory_change().await?;
            for IndexedText { file, text } in files {
                let id = put_file(&mut tx, file).await?;
                tx.execute(sqlx::query(DELETE_MEMORY_TEXT).bind(id)).await?;
                let query = sqlx::query(INSERT_MEMORY_TEXT).bind(id);
                tx.execute(query.bind(separated(&file.path)).bind(separated(text))).await?;
            }
            tx.commit().await?;
            changed = later;
        }
        Ok(())
    }

    async fn begin_memory_change(&self) -> Result<Transaction, StoreError> {
        // It emits no event, so the instant does not matter.
        self.begin("update the index of the memory", Durability::Normal, UnixMs(0)).await
    }
}

/// The number of files in the next transaction: at least one.
fn transaction_size(files: &[IndexedText]) -> usize {
    let mut bytes = 0;
    let fitting = files.iter().take(MAX_FILES).take_while(|file| {
        let has_room = bytes < MAX_BYTES;
        bytes += file.text.len();
        has_room
    });
    fitting.count()
}

async fn put_file(tx: &mut Transaction, file: &IndexedFile) -> Result<Option<i64>, StoreError> {
    let query = sqlx::query(PUT_FILE)
        .bind(file.path.as_str())
        .bind(file.stamp.as_deref())
        .bind(file.digest.as_str())
        .bind(file.problem.as_deref())
        .bind(file.modified_at.0);
    tx.fetch_optional(query).await
}

/// The FTS5 expression of a query: any of its words. None without words.
fn match_expression(query: &str) -> Option<String> {
    let words = query.split(|character: char| !character.is_alphanumeric());
    let words: Vec<String> =
        words.filter(|word| !word.is_empty()).take(MAX_WORDS).map(quoted).collect();
    (!words.is_empty()).then(|| words.join(" OR "))
}

/// A quoted word; a long word matches as a prefix, so `plant` finds `plants`.
fn quoted(word: &str) -> String {
    let is_prefix =
        word.chars().count() >= MIN_PREFIX_CHARS && !word.chars().any(is_word_by_itself);
    format!("\"{}\"{}", separated(word), if is_prefix { "*" } else { "" })
}

/// Puts separators around characters that are words.
fn separated(text: &str) -> String {
    let mut separated = String::with_capacity(text.len());
    for character in text.chars() {
        if is_word_by_itself(character) {
            separated.extend([SEPARATOR, character, SEPARATOR]);
        } else {
            separated.push(character);
        }
    }
    separated
}

/// Han, Hiragana and Katakana.
const fn is_word_by_itself(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}
