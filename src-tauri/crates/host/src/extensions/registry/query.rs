//! The words of a search, and the bound of its results.

use super::error::RegistryError;

/// Maximum characters of the words of a search.
const MAX_QUERY: usize = 200;

/// Maximum results of a search.
pub(super) const MAX_RESULTS: usize = 30;

/// The words of a search.
pub(super) fn checked_query(query: &str) -> Result<&str, RegistryError> {
    let query = query.trim();
    match query.chars().count() {
        0 => Err(RegistryError::Input { field: "query", message: "must not be empty".to_owned() }),
        1..=MAX_QUERY => Ok(query),
        count => {
            let message = format!("must be at most {MAX_QUERY} characters, found {count}");
            Err(RegistryError::Input { field: "query", message })
        }
    }
}
