//! Sign-ins in memory, for a visit of a server without an engine, and for tests.
//!
//! Never writes a file; the sign-ins end with the value.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rouse_core::extension::{ExtensionName, SignInRecord, SignInStore, SignInStoreError};
use rouse_core::tool::BoxFuture;

/// Sign-ins in memory.
#[derive(Default)]
pub(crate) struct MemorySignIns {
    records: Mutex<BTreeMap<ExtensionName, SignInRecord>>,
}

impl MemorySignIns {
    /// The record of a server.
    pub(crate) fn record(&self, server: &ExtensionName) -> Option<SignInRecord> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).get(server).cloned()
    }
}

impl SignInStore for MemorySignIns {
    fn load<'a>(
        &'a self,
        server: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<Option<SignInRecord>, SignInStoreError>> {
        Box::pin(async move { Ok(self.record(server)) })
    }

    fn save<'a>(
        &'a self,
        server: &'a ExtensionName,
        record: SignInRecord,
    ) -> BoxFuture<'a, Result<(), SignInStoreError>> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.insert(server.clone(), record);
        Box::pin(async { Ok(()) })
    }

    fn remove<'a>(
        &'a self,
        server: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<bool, SignInStoreError>> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let removed = records.remove(server);
        Box::pin(async move { Ok(removed.is_some()) })
    }
}
