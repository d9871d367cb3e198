//! Why a command was ended for what it took, said by whoever watches it.

use std::sync::{Arc, OnceLock};

/// A sentence's beginning, once there is one: "Took more than 4 GB of memory and was ended". The first one counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bound(Arc<OnceLock<String>>);

#[cfg_attr(windows, expect(dead_code, reason = "a job object bounds it there"))]
impl Bound {
    /// It is ended, for this.
    pub(crate) fn is_crossed(&self, how: String) {
        // Whoever came first has ended it already.
        let _later = self.0.set(how);
    }
}

impl Bound {
    /// How it was crossed.
    pub(crate) fn crossed(&self) -> Option<String> {
        self.0.get().cloned()
    }
}
