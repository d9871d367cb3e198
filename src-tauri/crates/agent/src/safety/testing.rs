//! A safety layer with a stored secret, for unit tests.

use std::sync::Arc;

use super::Safety;
use crate::secrets::{Secret, SecretBook, SecretValue};

/// The value of the stored secret `mail`.
pub(super) const VALUE: &str = "sunflower-42-Tango";

pub(super) fn safety() -> Safety {
    safety_with(VALUE)
}

/// A safety layer with this value of the stored secret `mail`.
pub(super) fn safety_with(value: &str) -> Safety {
    let book = SecretBook::default();
    let value = SecretValue::new(value).expect("a value");
    book.replace(vec![Secret::redacted_only("mail", value)]);
    Safety::new(Arc::new(book))
}
