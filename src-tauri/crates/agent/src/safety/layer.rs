//! The safety layer with the stored secrets.
//!
//! Owns the access to the secrets. The sibling modules add the checks to [`Safety`].

use std::sync::Arc;

use rouse_core::tool::Tool;
use serde_json::Value;

use crate::secrets::{HandleError, SecretBook};

/// The safety layer. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Safety {
    pub(super) secrets: Arc<SecretBook>,
}

impl Safety {
    /// A layer that recognises the values in `secrets`.
    #[must_use]
    pub const fn new(secrets: Arc<SecretBook>) -> Self {
        Self { secrets }
    }

    /// Runs `scan` on a blocking thread. For texts of any length.
    pub async fn off_thread<T: Send + 'static>(
        &self,
        scan: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let safety = self.clone();
        let scanned = tokio::task::spawn_blocking(move || scan(&safety));
        scanned.await.expect("BUG: scanning for secrets does not panic")
    }

    /// The stored secrets.
    pub(crate) fn secrets(&self) -> &SecretBook {
        &self.secrets
    }

    /// Why a secret handle in this call cannot be filled in.
    #[must_use]
    pub fn handle_error_of_call(&self, tool: &dyn Tool, arguments: &Value) -> Option<HandleError> {
        self.secrets.fill_handles(tool, arguments).err()
    }

    /// Why a secret handle in `text` cannot be filled in, as far as is known without a destination.
    #[must_use]
    pub fn handle_error_of_text(&self, text: &str) -> Option<HandleError> {
        self.secrets.first_missing_in(text)
    }
}
