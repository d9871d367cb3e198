//! The safety layer: everything between untrusted input, models, and the outside.
//!
//! Owns four checks. `untrusted_input` redacts, bounds, fences and scans tool results and other untrusted input. `egress`
//! finds secrets in data that leaves this computer. `stored_secrets` redacts the values of stored secrets in answers of
//! models and words of people. `stream` does so while an answer arrives. Never allows a call: a finding blocks, a missing
//! finding permits nothing. Pitfall: a text that is stored, logged or shown before its check has leaked.

mod egress;
mod hidden_characters;
mod injection;
mod leak;
pub(crate) mod result_size;
mod result_text;
mod stored_secrets;
mod stream;
mod untrusted_input;
#[cfg(test)]
mod testing;

use std::sync::Arc;

pub use egress::EgressLeak;
pub use injection::InjectionSignal;
pub(crate) use leak::{SHORTEST_VALUE, StoredValues};
pub(crate) use stored_secrets::RedactedCalls;
pub use stored_secrets::StoredSecretField;
pub(crate) use stream::StreamRedactor;
pub use untrusted_input::{ScreenedOutput, UntrustedSource};

use rouse_core::tool::Tool;
use serde_json::Value;

use crate::secrets::{HandleError, SecretBook};

/// The safety layer. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Safety {
    secrets: Arc<SecretBook>,
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

    /// `text` with each stored secret and each key-shaped text redacted; none without any.
    #[must_use]
    pub fn redacted(&self, text: &str) -> Option<String> {
        leak::redacted(text, &leak::find(text, &self.secrets.stored_values()))
    }
}
