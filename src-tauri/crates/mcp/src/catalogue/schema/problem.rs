//! Why a schema has no form for model providers, as sentences.

use rouse_core::text::{escape_line, first_line};

/// The most characters of a reference in a message.
const MAX_SHOWN_REFERENCE: usize = 100;

/// Why a schema has no form for model providers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaProblem {
    /// The arguments are not an object.
    #[error("The arguments of the tool are not an object, so no model can call the tool.")]
    NotObject,
    /// A reference leads to another document.
    #[error("The schema refers to `{}`, which is outside the tool's schema.", shown(.0))]
    RemoteReference(String),
    /// A reference leads nowhere.
    #[error("The schema refers to `{}`, which does not exist.", shown(.0))]
    MissingReference(String),
    /// The schema with all references filled in is too large.
    #[error("The schema is too large with its references filled in.")]
    TooLarge,
}

fn shown(reference: &str) -> String {
    first_line(reference, MAX_SHOWN_REFERENCE, escape_line)
}
