//! Limits of a call.
//!
//! Owns the numbers, and the count of memory, tables and instances of a store. A refused growth is an error inside the
//! guest, not a trap. Pitfall: a limit per memory or table; a guest may have several, so all of them count together.

use std::time::Duration;

use wasmtime::ResourceLimiter;

/// Limits of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestLimits {
    /// Time of the call, with every host call [default: 60 s].
    pub time: Duration,
    /// Memory of all memories together [default: 64 MB].
    pub memory_bytes: usize,
    /// Fuel: a far bound on instructions, behind the time limit [default: 100 G].
    pub fuel: u64,
    /// Size of the arguments as JSON [default: 1 MB].
    pub arguments_bytes: usize,
    /// Size of the result as JSON [default: 1 MB].
    pub output_bytes: usize,
    /// HTTP exchanges [default: 50].
    pub http_exchanges: usize,
    /// Body of an HTTP request and of a response [default: 5 MB].
    pub http_body_bytes: usize,
}

impl Default for GuestLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            memory_bytes: 64 << 20,
            fuel: 100_000_000_000,
            arguments_bytes: 1 << 20,
            output_bytes: 1 << 20,
            http_exchanges: 50,
            http_body_bytes: 5 << 20,
        }
    }
}

/// Calls that run at once; each may use the memory of a call.
pub(crate) const MAX_CALLS: usize = 4;

/// Instructions between two points where a busy guest gives its thread back: about 10 ms.
pub(crate) const FUEL_YIELD_INTERVAL: u64 = 10_000_000;

/// Data that a guest hands to the host in one call, with the body of a request.
pub(crate) const HOST_CALL_BYTES: usize = 8 << 20;

/// Live handles of resources.
pub(crate) const MAX_HANDLES: usize = 1_000;

const MAX_INSTANCES: usize = 20;
const MAX_TABLES: usize = 20;
const MAX_MEMORIES: usize = 20;

/// Elements of all tables together.
const MAX_TABLE_ELEMENTS: usize = 100_000;

/// Memory and tables of one store.
pub(crate) struct StoreGrowth {
    memory_limit: usize,
    memory_bytes: usize,
    table_elements: usize,
}

impl StoreGrowth {
    pub(crate) const fn new(memory_limit: usize) -> Self {
        Self { memory_limit, memory_bytes: 0, table_elements: 0 }
    }
}

impl ResourceLimiter for StoreGrowth {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(grow(&mut self.memory_bytes, desired.saturating_sub(current), self.memory_limit))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(grow(&mut self.table_elements, desired.saturating_sub(current), MAX_TABLE_ELEMENTS))
    }

    fn instances(&self) -> usize {
        MAX_INSTANCES
    }

    fn tables(&self) -> usize {
        MAX_TABLES
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES
    }
}

/// Adds `more` to `total` within `limit`.
fn grow(total: &mut usize, more: usize, limit: usize) -> bool {
    let grown = total.saturating_add(more);
    let is_allowed = grown <= limit;
    if is_allowed {
        *total = grown;
    }
    is_allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_count_together() {
        let mut growth = StoreGrowth::new(100);
        let mut grown = |from, to| growth.memory_growing(from, to, None).expect("an answer");
        assert!(grown(0, 60));
        assert!(!grown(0, 60));
        assert!(grown(0, 40));
        assert!(!grown(40, 41));
    }
}
