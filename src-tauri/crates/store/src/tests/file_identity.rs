//! A file that is moved while open, which Windows does not allow.

use std::fs;

use super::*;
use crate::StoreError;

#[tokio::test]
async fn moved_file_refuses_writes_until_restored() {
    let fixture = Fixture::new().await;
    let (path, away) = (fixture.path(), fixture.folder.path().join("away.db"));
    let queue = async || fixture.store.queue_system_event("Hello", "wake", &[], NOW).await;
    queue().await.unwrap();
    fs::rename(&path, &away).unwrap();
    assert!(matches!(queue().await, Err(StoreError::Gone { .. })));
    fs::copy(&away, &path).unwrap();
    assert!(matches!(queue().await, Err(StoreError::Gone { .. })), "a copy is another file");
    fs::rename(&away, &path).unwrap();
    queue().await.unwrap();
    assert_eq!(fixture.store.pending_system_events(1_000).await.unwrap().len(), 2);
}
