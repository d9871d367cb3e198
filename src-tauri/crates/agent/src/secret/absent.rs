//! Stored secrets whose values are not at hand, because the keyring was locked when they were fetched, say.
//!
//! Owns when such a value is looked for once more: when somebody needs it, and never for a name that nobody has stored. How
//! often the keyring is asked then is the business of who keeps the secrets. One could get it wrong by looking for a value
//! in the middle of a call: whoever waits for it there holds up more than the call.

use std::fmt;
use std::sync::Weak;

use rouse_core::tool::{BoxFuture, Tool};
use serde_json::Value;

use super::book::SecretBook;
use super::handle::HandleError;

/// Where secrets are kept.
pub trait SecretSource: Send + Sync {
    /// Looks once more for the values that are not at hand, and has the book hold what it finds. Who asks beside somebody
    /// else, or right after, is answered by the look of that one.
    fn look_again(&self) -> BoxFuture<'_, ()>;
}

impl fmt::Debug for dyn SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretSource")
    }
}

impl SecretBook {
    /// From now on what is not at hand is looked for in `source`.
    pub fn looks_in(&self, source: Weak<dyn SecretSource>) {
        if self.source.set(source).is_err() {
            tracing::error!("the secrets have two places that they come from");
        }
    }

    /// Why the secret `name` is not at hand, where it is stored all the same.
    #[must_use]
    pub fn why_absent(&self, name: &str) -> Option<String> {
        self.now().why_absent(name).map(str::to_owned)
    }

    /// Has the secret `name` looked for once more, where it is stored and not at hand.
    pub async fn seek(&self, name: &str) {
        if self.why_absent(name).is_none() {
            return;
        }
        if let Some(source) = self.source.get().and_then(Weak::upgrade) {
            source.look_again().await;
        }
    }

    /// As `filled`, after one more look for what is not at hand.
    ///
    /// # Errors
    /// As `filled`.
    pub(crate) async fn filled_after_a_look(
        &self,
        tool: &dyn Tool,
        arguments: &Value,
    ) -> Result<Option<Value>, HandleError> {
        match self.filled(tool, arguments) {
            Err(HandleError::NotAtHand { name, .. }) => {
                self.seek(&name).await;
                self.filled(tool, arguments)
            }
            filled => filled,
        }
    }
}
