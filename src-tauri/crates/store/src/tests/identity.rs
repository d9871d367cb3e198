//! A file that is moved away under the store. Windows lets nobody do that to an open one.

use std::fs;

use super::*;
use crate::StoreError;

#[tokio::test]
async fn a_file_that_is_moved_away_takes_no_write_until_it_is_back() {
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
