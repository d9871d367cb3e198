//! Size limits and timeouts of the server.

use std::time::Duration;

/// Maximum body of a request.
pub(super) const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// Maximum body of a call: an import file is one string, and JSON escapes may double the size.
pub(super) const MAX_CALL_BYTES: usize = 20 * 1024 * 1024;
/// Maximum body of a request before sign-in.
pub(super) const MAX_CODE_BYTES: usize = 1024;
/// Maximum time to receive a body, generous for loopback.
pub(super) const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum wait for active requests at the stop, so that an endless request cannot keep the engine alive.
pub(super) const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum body of a hook.
pub(super) const MAX_HOOK_BYTES: usize = 64 << 10;
