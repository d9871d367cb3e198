//! A warning about a field of a job.

use crate::wire::JobWarning;

pub(super) fn warning(field: &str, message: String) -> JobWarning {
    JobWarning { field: field.to_owned(), message }
}
