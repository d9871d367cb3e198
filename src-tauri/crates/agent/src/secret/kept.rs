//! Arguments that are kept with handles in the place of the values of stored secrets, and what they are made of again.
//!
//! Owns which value a handle stands for: the one that it was kept of. A secret that is gone by then, or was set anew, has
//! another one or none, and what would be made with that is another call. The value itself must be written down nowhere, not
//! even as a hash, because a short one could be guessed from that; so when it was set stands beside the handle. One could get
//! it wrong by the name alone.

use std::collections::BTreeMap;

use rouse_core::UnixMs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::book::{SecretBook, Written};
use super::handle;
use super::stored::Secret;

/// Arguments with handles in the place of values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ByHandles {
    /// The arguments.
    pub(crate) arguments: Value,
    /// When the value of each handle was set, by the name of its secret.
    pub(crate) set_at: BTreeMap<String, UnixMs>,
}

/// Why what was kept by a handle cannot be made with its value any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Gone {
    /// Nobody has stored it any more.
    #[error("the value of the stored secret {0}, which has been deleted since")]
    Deleted(String),
    /// It has another value.
    #[error("the value that the stored secret {0} had, which has been set anew since")]
    Replaced(String),
    /// Its value cannot be fetched.
    #[error("the value of the stored secret {name}, which is not at hand, because {why}")]
    NotAtHand {
        /// The secret.
        name: String,
        /// Why.
        why: String,
    },
    /// It was another call, or has become one.
    #[error("the value of a stored secret, and what was kept of it makes another call by now")]
    Unlike,
    /// Nobody has kept which value it was.
    #[error(
        "the value of the stored secret {0}, and an older Rouse has not kept which value that was"
    )]
    Undated(String),
}

impl Written {
    /// Whether the secret `name` still has the value that was kept by its handle.
    fn still_has(&self, name: String, set_at: &BTreeMap<String, UnixMs>) -> Result<(), Gone> {
        let Some(secret) = self.by_name.get(&name) else {
            return Err(match self.why_absent(&name).map(str::to_owned) {
                Some(why) => Gone::NotAtHand { name, why },
                None => Gone::Deleted(name),
            });
        };
        match set_at.get(&name) {
            Some(at) if *at == secret.set_at() => Ok(()),
            Some(_) => Err(Gone::Replaced(name)),
            None => Err(Gone::Undated(name)),
        }
    }
}

impl SecretBook {
    /// When the secret `name` was set; none where it is not at hand.
    #[must_use]
    pub fn set_at(&self, name: &str) -> Option<UnixMs> {
        self.now().by_name.get(name).map(Secret::set_at)
    }

    /// When each secret was set, by name.
    pub(crate) fn all_set_at(&self) -> BTreeMap<String, UnixMs> {
        let written = self.now();
        written.by_name.iter().map(|(name, secret)| (name.clone(), secret.set_at())).collect()
    }

    /// What a model has written, of arguments that were kept with handles in the place of its values. For the very last
    /// moment, like `filled`.
    ///
    /// # Errors
    /// When one of the values is there no more.
    pub(crate) fn put_back(&self, kept: &ByHandles) -> Result<Value, Gone> {
        let written = self.now();
        for name in handle::names_in(&kept.arguments).map_err(|_| Gone::Unlike)? {
            // No handle stands for one that goes nowhere.
            if written.by_name.get(&name).is_some_and(|secret| secret.hosts.is_empty()) {
                return Err(Gone::Deleted(name));
            }
            written.still_has(name, &kept.set_at)?;
        }
        Ok(handle::fill_plainly(&kept.arguments, &|name| written.value(name)))
    }

    /// The same after one more look for what is not at hand.
    ///
    /// # Errors
    /// As `put_back`.
    pub(crate) async fn put_back_after_a_look(&self, kept: &ByHandles) -> Result<Value, Gone> {
        match self.put_back(kept) {
            Err(Gone::NotAtHand { name, .. }) => {
                self.seek(&name).await;
                self.put_back(kept)
            }
            back => back,
        }
    }

    /// Whether all of these secrets still have the values that they had when they were set like this, after one more look for
    /// those that are not at hand.
    ///
    /// # Errors
    /// When one of the values is there no more.
    pub(crate) async fn still_has_after_a_look(
        &self,
        set_at: &BTreeMap<String, UnixMs>,
    ) -> Result<(), Gone> {
        for name in set_at.keys() {
            let still = || self.now().still_has(name.clone(), set_at);
            if matches!(still(), Err(Gone::NotAtHand { .. })) {
                self.seek(name).await;
            }
            still()?;
        }
        Ok(())
    }
}
