//! A problem of a manifest.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A problem of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestProblem {
    /// The path of the field, as `tests[0].http[1].url`. Empty for the whole file.
    pub field: String,
    /// Cause and remedy as a sentence.
    pub message: String,
}

impl fmt::Display for ManifestProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.as_str() {
            "" => f.write_str(&self.message),
            field => write!(f, "{field}: {}", self.message),
        }
    }
}
