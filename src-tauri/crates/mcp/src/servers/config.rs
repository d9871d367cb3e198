//! The ports of a pool.
//!
//! Owns the list of ports only.

use std::sync::Arc;

use rouse_core::Clock;
use rouse_core::extension::{ExtensionBook, ServerProcesses, SignInStore};
use rouse_core::http_exchange::HttpExchange;

/// The ports of a pool.
pub struct ServerPoolConfig {
    /// The installed extensions.
    pub book: Arc<dyn ExtensionBook>,
    /// Starts server processes.
    pub processes: Arc<dyn ServerProcesses>,
    /// Guarded HTTP.
    pub http: Arc<dyn HttpExchange>,
    /// The storage of sign-ins.
    pub sign_ins: Arc<dyn SignInStore>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}
