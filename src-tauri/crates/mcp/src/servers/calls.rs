//! The port of a tool to its server.
//!
//! Owns the trait only. Pitfall: an implementation that repeats a lost call; its effect may have happened.

use rouse_core::extension::ExtensionName;
use rouse_core::input_request::InputReply;
use rouse_core::tool::BoxFuture;
use serde_json::{Map, Value};

use crate::connection::{CallResult, ConnectionError, ProgressSink};

/// Calls tools of servers.
pub(crate) trait ServerCalls: Send + Sync {
    /// Calls a tool once; starts its server when needed. `input` answers the input request of the same call before.
    /// Dropping the future cancels the call at the server.
    fn call<'a>(
        &'a self,
        extension: &'a ExtensionName,
        raw_name: &'a str,
        arguments: Map<String, Value>,
        input: Option<&'a InputReply>,
        progress: ProgressSink,
    ) -> BoxFuture<'a, Result<CallResult, ConnectionError>>;
}
