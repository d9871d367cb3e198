//! Stored secrets without a value in memory, for example because the keyring was locked at the start.
//!
//! Owns when such a value is read again: when a call or a provider needs the value, and only for a stored name. The
//! source limits the reads of the keyring. Pitfall: a read in the middle of a call delays more than that call.

use std::fmt;
use std::sync::Weak;

use rouse_core::tool::{BoxFuture, Tool};
use serde_json::Value;

use super::book::SecretBook;
use super::handle::HandleError;

/// The storage of secrets.
pub trait SecretSource: Send + Sync {
    /// Reads the unavailable values again and puts them into the book. Concurrent requests share a read.
    fn reload(&self) -> BoxFuture<'_, ()>;
}

impl fmt::Debug for dyn SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretSource")
    }
}

impl SecretBook {
    /// Sets the source of unavailable values, once.
    pub fn set_source(&self, source: Weak<dyn SecretSource>) {
        if self.source.set(source).is_err() {
            tracing::error!("the secret source was set twice");
        }
    }

    /// Why the value of the stored secret `name` is unavailable; none if available, or not stored.
    #[must_use]
    pub fn unavailable_reason(&self, name: &str) -> Option<String> {
        self.contents().unavailable_reason(name).map(str::to_owned)
    }

    /// Reads the secret `name` again if the value is unavailable.
    pub async fn reload(&self, name: &str) {
        if self.unavailable_reason(name).is_none() {
            return;
        }
        if let Some(source) = self.source.get().and_then(Weak::upgrade) {
            source.reload().await;
        }
    }

    /// Fills handles like [`Self::fill_handles`], and reads an unavailable value again first.
    ///
    /// # Errors
    /// See [`Self::fill_handles`].
    pub(crate) async fn fill_handles_with_reload(
        &self,
        tool: &dyn Tool,
        arguments: &Value,
    ) -> Result<Option<Value>, HandleError> {
        match self.fill_handles(tool, arguments) {
            Err(HandleError::Unavailable { name, .. }) => {
                self.reload(&name).await;
                self.fill_handles(tool, arguments)
            }
            filled => filled,
        }
    }
}
