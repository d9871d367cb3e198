//! Helpers that several test programs share.

use std::path::Path;
use std::sync::Arc;

use rouse_store::Store;

/// Creates the database of the data directory `home`, for a test that writes files before the first start. Files without a
/// database count as a loss.
pub async fn make_database(home: &Path) {
    std::fs::create_dir_all(home).expect("a folder");
    let store = Store::open(&home.join("rouse.db"), Arc::new(|_| ())).await;
    store.expect("a database").close().await;
}
