//! Jobs that are called the same.
//!
//! A name is no key: two jobs may share one, and then it names neither. One could get it wrong by reading the jobs to compare
//! their names, which grows with all that they hold.

use rouse_core::JobId;

use crate::{Store, StoreError};

/// The index of the list has all names, and nothing of what jobs do.
const IS_CALLED: &str =
    "SELECT 1 FROM jobs INDEXED BY jobs_listed WHERE name = ?1 AND id <> ?2 LIMIT 1";

impl Store {
    /// Whether a job that is not `but` has this name, letter for letter.
    ///
    /// # Errors
    /// `Read`.
    pub async fn has_namesake(&self, name: &str, but: &JobId) -> Result<bool, StoreError> {
        let query = sqlx::query(IS_CALLED).bind(name).bind(but.as_str());
        Ok(self.one("look for a job of this name", query, |_| Ok(())).await?.is_some())
    }
}
