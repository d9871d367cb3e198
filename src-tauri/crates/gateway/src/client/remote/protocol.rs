//! The lines between a client and `rouse dial` on another computer.
//!
//! Owns names and limits. One JSON text per line. `dial` begins with a hello or a refusal; then each line to `dial` is a JSON-RPC
//! request, and each line back is its response. Three methods belong to `dial` itself: a subscription is read by requests, so a
//! slow reader delays nothing else. Pitfall: a change that an older end misreads needs another `PROTOCOL`.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// The version of this protocol.
pub(in crate::client) const PROTOCOL: u32 = 1;
/// Maximum bytes of a line, more than the largest body of the loopback server.
pub(in crate::client) const MAX_LINE_BYTES: u64 = 64 << 20;

/// Opens a subscription. The result is its number.
pub(in crate::client) const SUBSCRIBE: &str = "dial.subscribe";
/// Waits for the next messages of a subscription. The result is a `MessageBatch`.
pub(in crate::client) const NEXT: &str = "dial.next";
/// Closes a subscription. A notification without a response.
pub(in crate::client) const UNSUBSCRIBE: &str = "dial.unsubscribe";

/// The code of a response when `dial` cannot reach the engine; the data is a `DialRefusal`.
pub(in crate::client) const UNREACHABLE_CODE: i64 = -32_020;
/// The reason of a refusal without a running engine.
pub(in crate::client) const NOT_RUNNING: &str = "notRunning";

/// The first line of `dial`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "camelCase")]
pub(in crate::client) enum FirstLine {
    /// The engine runs and has proven the token.
    Hello(DialHello),
    /// No engine can be reached; `dial` ends.
    Refusal(DialRefusal),
}

/// A hello of `dial`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct DialHello {
    /// Version of Rouse.
    pub(in crate::client) version: String,
    /// See `PROTOCOL`.
    pub(in crate::client) protocol: u32,
}

/// Why `dial` cannot reach the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct DialRefusal {
    /// `notRunning`, `unproven` or `failed`.
    pub(in crate::client) reason: String,
    /// Reason and fix, for the person at that computer.
    pub(in crate::client) message: String,
}

/// A subscription by number.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(in crate::client) struct SubscriptionId {
    /// The number.
    pub(in crate::client) subscription: u64,
}

/// Messages of a subscription, at least one before the end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::client) struct MessageBatch {
    /// The messages; an older client skips unknown kinds.
    pub(in crate::client) messages: Vec<Value>,
    /// Whether the subscription has ended.
    pub(in crate::client) is_ended: bool,
}

/// Reads a line of at most `max` bytes into `line`. False at the end of the input.
pub(in crate::client) async fn read_line(
    input: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    max: u64,
) -> io::Result<bool> {
    line.clear();
    let count = (&mut *input).take(max).read_until(b'\n', line).await?;
    if count as u64 == max && !line.ends_with(b"\n") {
        return Err(io::Error::other("a line is too long"));
    }
    Ok(count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn line_over_the_limit_is_an_error() {
        let mut input: &[u8] = b"{}\n12345678\nlast";
        let mut line = Vec::new();
        assert!(read_line(&mut input, &mut line, 8).await.expect("a line"));
        assert_eq!(line, b"{}\n");
        assert!(read_line(&mut input, &mut line, 8).await.is_err());
        let mut input: &[u8] = b"last";
        assert!(read_line(&mut input, &mut line, 8).await.expect("a line"));
        assert_eq!(line, b"last");
        assert!(!read_line(&mut input, &mut line, 8).await.expect("the end"));
    }
}
