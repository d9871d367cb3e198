//! The change of one entry in a settings file.

/// The change of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryChange {
    /// The entry now; none without one.
    pub(super) before: Option<String>,
    /// The entry after the change.
    pub(super) after: String,
    /// The whole file after the change.
    pub(super) text: String,
}

impl EntryChange {
    /// Whether the file has the entry already.
    pub(super) fn is_done(&self) -> bool {
        self.before.as_ref() == Some(&self.after)
    }
}
