//! The record of a breached resource limit.

use std::sync::{Arc, OnceLock};

/// The beginning of a sentence, such as "Took more than 4 GB of memory and was ended". The first record counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct LimitBreach(Arc<OnceLock<String>>);

impl LimitBreach {
    #[cfg_attr(windows, expect(dead_code, reason = "a job object enforces the limits there"))]
    pub(crate) fn record(&self, reason: String) {
        let _already_recorded = self.0.set(reason);
    }

    pub(crate) fn reason(&self) -> Option<String> {
        self.0.get().cloned()
    }
}
