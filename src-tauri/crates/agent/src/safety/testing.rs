//! A layer with one stored secret, for the tests of this folder.

use std::sync::Arc;

use super::Safety;
use crate::secret::{Secret, SecretBook, SecretValue};

/// The value of the secret.
pub(super) const VALUE: &str = "sunflower-42-Tango";

pub(super) fn safety() -> Safety {
    knowing(VALUE)
}

/// A layer that recognises this value.
pub(super) fn knowing(value: &str) -> Safety {
    let book = SecretBook::default();
    let value = SecretValue::new(value).expect("a value");
    book.replace(vec![Secret::never_sent("mail", value)]);
    Safety::new(Arc::new(book))
}
