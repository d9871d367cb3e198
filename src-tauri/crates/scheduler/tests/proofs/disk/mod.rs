//! Power cuts and bad disks, below the real store and the real engine.
//!
//! What the store has answered for is noted beside the calls that made it durable; afterwards the files as a power cut
//! or an error left them are opened by the real store, which must know everything that was answered for.

mod cuts;
mod errors;
mod lives;
mod set_back;

mod digest;
mod hands;
mod script;
mod timeline;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rouse_store::Store;
use tempfile::TempDir;

/// The name that a store's file has here.
const FILE: &str = "rouse.db";

/// A folder in memory where the system has one: what is judged is SQLite's calls, not the disk of this machine.
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

/// Opens a store whose answers this thread blocks for, so that a seed repeats its run call by call.
async fn open(folder: &Path) -> Result<Store, rouse_store::StoreError> {
    rouse_store::block_while_waiting();
    Store::open(&folder.join(FILE), Arc::new(|_| ())).await
}

/// What SQLite says about the file; "ok" when all is well.
async fn integrity(folder: &Path) -> String {
    let url = format!("sqlite:{}?mode=ro", folder.join(FILE).display());
    let file = sqlx::SqlitePool::connect(&url).await.expect("opened");
    let said = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&file).await;
    file.close().await;
    said.expect("an answer")
}
