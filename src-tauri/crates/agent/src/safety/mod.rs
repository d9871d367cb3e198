//! The safety layer: what stands between the world and a model, and between a model and the world.
//!
//! Four ways through it. `incoming`: what a tool answers, a webhook says or a file holds is freed of secrets and of
//! characters that hide something, bounded, looked through for text that gives orders, and fenced with where it comes
//! from. `outgoing`: what a call sends, what a notification says and what a model is asked is searched for secrets; a call
//! that holds one is not made. `said`: what a model itself says is kept without the values of stored secrets, and shown
//! without them while it says it (`live`). `written`: so is what a person says, and a job of theirs that holds one is not
//! kept.
//!
//! It refuses to allow anything: no finding and no missing finding is a permission, that is the gate's. It judges text and
//! not intentions, so it is a net under the gate and never the gate. One could get it wrong by showing a text first and
//! looking through it later: the journal, the log and the window are places that a secret can end in, too.

mod characters;
mod incoming;
mod injection;
mod leak;
mod live;
mod marked;
mod outgoing;
mod said;
mod stand_in;
mod written;
#[cfg(test)]
mod testing;

use std::sync::Arc;

pub use incoming::{Incoming, IncomingText, Outside};
pub use injection::Signal;
pub(crate) use leak::{Known, SHORTEST};
pub(crate) use live::Live;
pub(crate) use marked::Marked;
pub use outgoing::Leak;
pub(crate) use said::Written;
pub use written::Held;

use rouse_core::tool::Tool;
use serde_json::Value;

use crate::secret::{HandleError, SecretBook};

/// The safety layer. Cheap to share.
#[derive(Debug, Clone)]
pub struct Safety {
    secrets: Arc<SecretBook>,
}

impl Safety {
    /// A layer that recognises what is in `secrets`, and whatever looks like a secret.
    #[must_use]
    pub const fn new(secrets: Arc<SecretBook>) -> Self {
        Self { secrets }
    }

    /// Does `look` where it holds up nobody: a long text is looked through in every spelling of every value.
    pub async fn apart<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let safety = self.clone();
        let looked = tokio::task::spawn_blocking(move || look(&safety));
        looked.await.expect("BUG: looking for secrets does not panic")
    }

    /// The secrets that it recognises.
    pub(crate) fn secrets(&self) -> &SecretBook {
        &self.secrets
    }

    /// Why a call would not get the secrets that it names.
    #[must_use]
    pub fn doubt_of_call(&self, tool: &dyn Tool, arguments: &Value) -> Option<HandleError> {
        self.secrets.filled(tool, arguments).err()
    }

    /// That `text` names a secret that is not there; where it will go nobody knows yet.
    #[must_use]
    pub fn doubt_of_text(&self, text: &str) -> Option<HandleError> {
        self.secrets.first_missing_in(text)
    }

    /// `text` with every secret replaced by what it is; none when it holds none. For what is shown or kept.
    #[must_use]
    pub fn redacted(&self, text: &str) -> Option<String> {
        leak::redacted(text, &leak::find(text, &self.secrets.known()))
    }
}
