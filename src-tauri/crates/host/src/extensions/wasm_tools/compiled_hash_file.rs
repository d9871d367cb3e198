//! The hashes of compiled components, in a file of the data directory.
//!
//! Owns the file. Never lies beside the compiled files. A damaged file counts as empty: components are compiled again.
//! Pitfall: a hash that is used before it is written; a crash in between only costs a compilation.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rouse_core::extension::CompiledHashes;
use rouse_core::tool::BoxFuture;
use rouse_gateway::write_private;

/// The maximum number of hashes; one more begins anew.
const MAX_HASHES: usize = 256;

/// The hashes by key.
pub(super) struct CompiledHashFile {
    path: PathBuf,
    hashes: Arc<Mutex<BTreeMap<String, String>>>,
}

impl CompiledHashFile {
    /// Reads the file at `path`.
    pub(super) fn open(path: PathBuf) -> Self {
        // silent-ok: without its hash, a component is compiled again.
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let hashes = serde_json::from_str(&text).unwrap_or_default();
        Self { path, hashes: Arc::new(Mutex::new(hashes)) }
    }
}

impl CompiledHashes for CompiledHashFile {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<String>> {
        let hash = self.hashes.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        Box::pin(std::future::ready(hash))
    }

    fn record<'a>(&'a self, key: &'a str, hash: &'a str) -> BoxFuture<'a, ()> {
        let (hashes, path) = (Arc::clone(&self.hashes), self.path.clone());
        let (key, hash) = (key.to_owned(), hash.to_owned());
        Box::pin(async move {
            let writing = tokio::task::spawn_blocking(move || {
                let mut hashes = hashes.lock().unwrap_or_else(PoisonError::into_inner);
                if hashes.len() >= MAX_HASHES {
                    hashes.clear();
                }
                hashes.insert(key, hash);
                let text = serde_json::to_string(&*hashes).expect("BUG: hashes are JSON");
                write_private(&path, &text)
            });
            if let Ok(Err(error)) = writing.await {
                tracing::warn!(%error, "the hash of a compiled tool was not written");
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hash_is_read_back_and_damage_is_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hashes.json");
        let file = CompiledHashFile::open(path.clone());
        assert_eq!(file.get("a").await, None);
        file.record("a", "1").await;
        file.record("a", "2").await;
        assert_eq!(CompiledHashFile::open(path.clone()).get("a").await.as_deref(), Some("2"));
        std::fs::write(&path, "{").expect("a file");
        assert_eq!(CompiledHashFile::open(path).get("a").await, None);
    }
}
