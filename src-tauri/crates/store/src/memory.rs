//! The tables `memory_files` and `memory_text`: the index of the memory.
//!
//! Owns the words of files and the way from what a model asks for to an expression of FTS5: each word of it is quoted
//! by itself, so nothing in it is an operator, a column or a syntax error. Any of the words may be found; a file with
//! more and rarer ones comes first. Chinese and Japanese are written without spaces, so each of their characters is a
//! word here, and some that stand side by side in a query must do so in the text.
//!
//! It refuses to hold up the engine: a large change is many small writes, and what a power cut takes of them is found
//! again before the next search. One could get it wrong by one write for all files: no slot could be claimed meanwhile.

use rouse_core::UnixMs;
use rouse_core::memory::{
    FileText, Hit, IndexChanges, IndexFailure, Indexed, IndexedFile, MemoryIndex,
};
use sqlx::sqlite::SqliteRow;

use crate::row::{Columns, json_list};
use crate::write::{Durability, Write};
use crate::{Store, StoreError};

/// The most files, and bytes of text, of one write.
const FILES_AT_ONCE: usize = 200;
const BYTES_AT_ONCE: usize = 1 << 20;
/// The most words of a query that are looked for.
const MOST_WORDS: usize = 32;
/// A word so short is not taken for the beginning of a longer one.
const SHORT: usize = 3;
/// Stands between characters that are words of their own. Nobody sees it, and it is taken out of what is shown.
const SEAM: char = '\u{200B}';

const HELD: &str = "SELECT path, stamp, digest, problem, modified_at FROM memory_files";
const PUT: &str =
    "INSERT INTO memory_files (path, stamp, digest, problem, modified_at) VALUES (?1, ?2, ?3, ?4, ?5)
     ON CONFLICT (path) DO UPDATE SET stamp = ?2, digest = ?3, problem = ?4, modified_at = ?5 RETURNING id";
const CLEAR_TEXT: &str = "DELETE FROM memory_text WHERE rowid = ?1";
const PUT_TEXT: &str = "INSERT INTO memory_text (rowid, path, text) VALUES (?1, ?2, ?3)";
pub(crate) const FORGET_TEXT: &str = "DELETE FROM memory_text WHERE rowid IN
    (SELECT id FROM memory_files WHERE path IN (SELECT value FROM json_each(?1)))";
pub(crate) const FORGET: &str =
    "DELETE FROM memory_files WHERE path IN (SELECT value FROM json_each(?1))";
pub(crate) const SEARCH: &str =
    "SELECT f.path, snippet(memory_text, 1, '', '', ' … ', 40), f.modified_at
    FROM memory_text JOIN memory_files f ON f.id = memory_text.rowid
    WHERE memory_text MATCH ?1 ORDER BY bm25(memory_text, 4.0, 1.0), f.path LIMIT ?2";

impl MemoryIndex for Store {
    fn held(&self) -> Indexed<'_, Vec<IndexedFile>> {
        Box::pin(async { self.memory_files().await.map_err(|error| failure(&error)) })
    }

    fn change(&self, changes: IndexChanges) -> Indexed<'_, ()> {
        Box::pin(async { self.change_memory(changes).await.map_err(|error| failure(&error)) })
    }

    fn search<'a>(&'a self, query: &'a str, most: u32) -> Indexed<'a, Vec<Hit>> {
        Box::pin(
            async move { self.search_memory(query, most).await.map_err(|error| failure(&error)) },
        )
    }
}

fn failure(error: &StoreError) -> IndexFailure {
    tracing::error!(%error, "the index of the memory cannot be used");
    let why =
        if error.is_full() { "The disk is full or cannot be written" } else { "The log says why" };
    IndexFailure(format!(
        "The memory cannot be searched just now: {error}. {why}; its files can still be read by their paths."
    ))
}

impl Store {
    async fn memory_files(&self) -> Result<Vec<IndexedFile>, StoreError> {
        self.list("read the index of the memory", sqlx::query(HELD), read).await
    }

    async fn change_memory(&self, changes: IndexChanges) -> Result<(), StoreError> {
        for gone in changes.gone.chunks(FILES_AT_ONCE) {
            let paths = json_list(gone.iter().map(String::as_str));
            let mut write = self.write_memory().await?;
            write.run(sqlx::query(FORGET_TEXT).bind(paths.clone())).await?;
            write.run(sqlx::query(FORGET).bind(paths)).await?;
            write.commit().await?;
        }
        for touched in changes.touched.chunks(FILES_AT_ONCE) {
            let mut write = self.write_memory().await?;
            for file in touched {
                put(&mut write, file).await?;
            }
            write.commit().await?;
        }
        let mut changed = changes.changed.as_slice();
        while !changed.is_empty() {
            let (now, later) = changed.split_at(fitting(changed));
            let mut write = self.write_memory().await?;
            for file in now {
                put_text(&mut write, file).await?;
            }
            write.commit().await?;
            changed = later;
        }
        Ok(())
    }

    async fn write_memory(&self) -> Result<Write, StoreError> {
        // No event comes of it, so the instant does not matter.
        self.write("update the index of the memory", Durability::Normal, UnixMs(0)).await
    }

    async fn search_memory(&self, query: &str, most: u32) -> Result<Vec<Hit>, StoreError> {
        let Some(expression) = expression(query) else { return Ok(Vec::new()) };
        let query = sqlx::query(SEARCH).bind(expression).bind(i64::from(most));
        self.list("search the memory", query, |row| {
            let mut columns = Columns::of(row);
            Ok(Hit {
                path: columns.get()?,
                snippet: columns.get::<String>()?.replace(SEAM, ""),
                modified_at: columns.instant()?,
            })
        })
        .await
    }
}

/// How many of the files go into one write: at least one.
fn fitting(files: &[FileText]) -> usize {
    let mut bytes = 0;
    let fitting = files.iter().take(FILES_AT_ONCE).take_while(|file| {
        let has_room = bytes < BYTES_AT_ONCE;
        bytes += file.text.len();
        has_room
    });
    fitting.count()
}

async fn put(write: &mut Write, file: &IndexedFile) -> Result<Option<i64>, StoreError> {
    let query = sqlx::query(PUT)
        .bind(file.path.clone())
        .bind(file.stamp.clone())
        .bind(file.digest.clone())
        .bind(file.problem.clone())
        .bind(file.modified_at.0);
    write.one(query, |row| Columns::of(row).get()).await
}

async fn put_text(write: &mut Write, FileText { file, text }: &FileText) -> Result<(), StoreError> {
    let id = put(write, file).await?;
    write.run(sqlx::query(CLEAR_TEXT).bind(id)).await?;
    let query = sqlx::query(PUT_TEXT).bind(id).bind(parted(&file.path)).bind(parted(text));
    write.run(query).await?;
    Ok(())
}

fn read(row: &SqliteRow) -> sqlx::Result<IndexedFile> {
    let mut columns = Columns::of(row);
    Ok(IndexedFile {
        path: columns.get()?,
        stamp: columns.get()?,
        digest: columns.get()?,
        problem: columns.get()?,
        modified_at: columns.instant()?,
    })
}

/// What FTS5 is asked: any of the words. None when there is no word.
fn expression(query: &str) -> Option<String> {
    let words = query.split(|character: char| !character.is_alphanumeric());
    let words: Vec<String> =
        words.filter(|word| !word.is_empty()).take(MOST_WORDS).map(quoted).collect();
    (!words.is_empty()).then(|| words.join(" OR "))
}

/// A word in quotes is only a word. A long one may be the beginning of what is found: `plant` finds `plants`.
fn quoted(word: &str) -> String {
    let is_long = word.chars().count() >= SHORT && !word.chars().any(stands_alone);
    format!("\"{}\"{}", parted(word), if is_long { "*" } else { "" })
}

/// `text` with a seam at each character that is a word of its own.
fn parted(text: &str) -> String {
    let mut parted = String::with_capacity(text.len());
    for character in text.chars() {
        if stands_alone(character) {
            parted.extend([SEAM, character, SEAM]);
        } else {
            parted.push(character);
        }
    }
    parted
}

/// Han, Hiragana and Katakana.
const fn stands_alone(character: char) -> bool {
    matches!(character, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}
