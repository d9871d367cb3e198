//! Power cuts and disk errors, below the real store and the real engine.
//!
//! Each acknowledged write is noted beside the disk calls that made it durable. The real store then opens the files in
//! the state after a cut or an error, and must know every acknowledged write.

mod cuts;
mod errors;
mod lives;
mod clock_rollback;

mod digest;
mod engine;
mod script;
mod timeline;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rouse_store::Store;
use tempfile::TempDir;

/// The name that a store's file has here.
const FILE: &str = "rouse.db";

/// A folder in memory if the system supports it: the subject is SQLite's calls, not this machine's disk.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let mut builder = tempfile::Builder::new();
    builder.prefix("rouse-proofs-");
    let made = if memory.is_dir() { builder.tempdir_in(memory) } else { builder.tempdir() };
    made.expect("a folder")
}

/// A folder that holds these files.
fn folder_of(files: &BTreeMap<String, Vec<u8>>) -> TempDir {
    let folder = folder();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).expect("a file");
    }
    folder
}

/// Opens a store that blocks this thread, so that a seed repeats the run call by call.
async fn open(folder: &Path) -> Result<Store, rouse_store::StoreError> {
    rouse_store::block_while_waiting();
    Store::open(&folder.join(FILE), Arc::new(|_| ())).await
}

/// The result of SQLite's integrity check; "ok" for an intact file.
async fn integrity(folder: &Path) -> String {
    let url = format!("sqlite:{}?mode=ro", folder.join(FILE).display());
    let file = sqlx::SqlitePool::connect(&url).await.expect("opened");
    let verdict = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&file).await;
    file.close().await;
    verdict.expect("an answer")
}
