//! A call of a tool: its access to the gateway and to the jobs.

use chrono::SecondsFormat;
use rouse_core::UnixMs;
use rouse_core::routines::{RoutineAuthor, RoutineRequest};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::gateway::Gateway;
use crate::table::parse_params;

/// A call of a tool.
pub(super) struct McpToolCall<'a> {
    pub(super) gateway: &'a Gateway,
    /// The program behind the call.
    pub(super) client: String,
}

impl McpToolCall<'_> {
    /// Calls a method that changes nothing. An error is a message for the caller.
    pub(super) async fn read(&self, method: &str, params: Value) -> Result<Value, String> {
        self.gateway.call(method, params).await.map_err(|error| error.message)
    }

    /// Sends a request about jobs, as an agent.
    pub(super) async fn request(&self, request: RoutineRequest) -> Result<Value, String> {
        let context = self.gateway.context();
        let author = RoutineAuthor::Client { name: &self.client, clock: &*context.clock };
        context.routines.ask(request, author).await.map_err(|refusal| refusal.message)
    }

    /// An instant on the person's clock; null without an instant.
    pub(super) fn local_time(&self, ms: &Value) -> Value {
        let Some(ms) = ms.as_i64() else { return Value::Null };
        let zone = self.gateway.context().clock.zone();
        let local = UnixMs(ms).to_utc().with_timezone(&zone);
        local.to_rfc3339_opts(SecondsFormat::Secs, false).into()
    }
}

/// Parses the arguments of a tool. An error is a message for the caller.
pub(super) fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    parse_params(arguments).map_err(|error| format!("Invalid arguments: {error}."))
}
