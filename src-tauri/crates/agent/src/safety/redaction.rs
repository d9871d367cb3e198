//! The redaction of a text.
//!
//! Owns the replacement of found secrets by redaction marks. Never searches for secrets: `leak` does. Pitfall: redacting
//! a text after a cut; a cut could leave half of a secret.

use rouse_core::redaction::REDACTED;

use super::layer::Safety;
use super::leak::{self, LeakFinding};

impl Safety {
    /// `text` with stored secrets and key-shaped texts redacted; none if there are none.
    #[must_use]
    pub fn redacted(&self, text: &str) -> Option<String> {
        redacted(text, &leak::find(text, &self.secrets.stored_values()))
    }
}

/// `text` with each finding replaced by a mark; none without findings.
pub(super) fn redacted(text: &str, found: &[LeakFinding]) -> Option<String> {
    found.first()?;
    let mut kept = String::with_capacity(text.len());
    let mut rest = 0;
    for finding in found {
        kept.push_str(&text[rest..finding.at.start]);
        kept.push_str(&mark(&finding.what));
        rest = finding.at.end;
    }
    kept.push_str(&text[rest..]);
    Some(kept)
}

/// The text that replaces a secret.
fn mark(what: &str) -> String {
    format!("{REDACTED}{what}]")
}
