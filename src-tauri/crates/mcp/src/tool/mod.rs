//! An accepted tool of a server, as a tool of Rouse.
//!
//! Owns the spec that follows from the person's choice, the words of an approval, and the way of a call to the server.
//! Never decides permission, and never trusts a server's hints: the access that the person chose decides, and the
//! confinement of the server decides about egress. Pitfall: an approval that survives a change of the tool or of the
//! server's command; the surroundings bind both.

mod receiver;
mod result;
mod form;
mod input_request;
mod failure;
mod progress;
#[cfg(test)]
mod tests;

pub(crate) use progress::progress_sink;
pub(crate) use receiver::{describe as receiver_text, network_reach};

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use rouse_core::approval::Surroundings;
use rouse_core::extension::{Extension, ExtensionName, PinnedTool};
use rouse_core::policy::ApprovedCall;
use rouse_core::text::{escape_invisible, escape_line, first_line, strip_invisible};
use rouse_core::tool::{
    ApprovalRule, BoxFuture, Destination, Fault, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde_json::Value;

use crate::catalogue::normalise;
use crate::servers::ServerCalls;

/// The time limit of a call without progress in seconds, unless the definition has one.
const DEFAULT_CALL_SECONDS: u32 = 60;

/// The time limit of a call with progress, as a multiple of the time limit without.
const PROGRESS_FACTOR: u64 = 10;

/// The most characters of a label.
const MAX_LABEL: usize = 80;

/// An accepted tool.
struct ServerTool {
    spec: ToolSpec,
    extension: ExtensionName,
    raw_name: String,
    /// The receiver of the arguments in words.
    receiver: String,
    /// Whether a call can reach the network, as a sentence.
    network_reach: &'static str,
    destination: Option<Destination>,
    surroundings: Surroundings,
    calls: Arc<dyn ServerCalls>,
}

/// The tool of `pin`; none when the person switched the tool off, or when its schema has no form for models.
pub(crate) fn server_tool(
    extension: &ExtensionName,
    entry: &Extension,
    pin: &PinnedTool,
    calls: Arc<dyn ServerCalls>,
) -> Option<Arc<dyn Tool>> {
    let approval = pin.access.approval_rule()?;
    let parameters = match normalise(&pin.definition.input_schema) {
        Ok(parameters) => parameters,
        Err(problem) => {
            let tool = &pin.definition.name;
            tracing::warn!(server = %extension, ?tool, %problem, "a tool cannot be offered");
            return None;
        }
    };
    let transport = &entry.server.transport;
    Some(Arc::new(ServerTool {
        spec: spec(extension, entry, pin, approval, parameters),
        extension: extension.clone(),
        raw_name: pin.definition.name.clone(),
        receiver: receiver::describe(transport),
        network_reach: receiver::network_reach(transport),
        destination: receiver::destination(transport),
        surroundings: receiver::surroundings(extension, transport, pin),
        calls,
    }))
}

fn spec(
    extension: &ExtensionName,
    entry: &Extension,
    pin: &PinnedTool,
    approval: ApprovalRule,
    parameters: Value,
) -> ToolSpec {
    let definition = &pin.definition;
    let title = definition.title.as_deref().unwrap_or_default();
    let label = first_line(title, MAX_LABEL, strip_invisible);
    let idle_seconds = entry.server.call_timeout_seconds.unwrap_or(DEFAULT_CALL_SECONDS);
    let call_for = Duration::from_secs(u64::from(idle_seconds) * PROGRESS_FACTOR);
    let spec = entry.tool_spec(extension, pin, approval, call_for);
    let description = if definition.description.trim().is_empty() {
        format!("The tool {} of the server {extension}.", definition.name)
    } else {
        spec.description
    };
    let label = (!label.is_empty()).then_some(label);
    ToolSpec { label, description, parameters, ..spec }
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, String> {
        let Self { extension, raw_name, receiver, network_reach, .. } = self;
        let arguments = escape_invisible(&format!("{arguments:#}"));
        let raw_name = escape_line(raw_name);
        let text = format!(
            "Server {extension}, tool {raw_name}\nThe arguments go to {receiver}. {network_reach}\n\n{arguments}"
        );
        Box::pin(ready(text))
    }

    fn surroundings<'a>(
        &'a self,
        _: &'a Value,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        Box::pin(ready(Ok(self.surroundings.clone())))
    }

    fn destination(&self, _: &Value) -> Option<Destination> {
        self.destination.clone()
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let Value::Object(arguments) = call.arguments() else {
                let text = "The arguments are not a JSON object.";
                return ToolOutput::faulty(Fault::InvalidParameters, text);
            };
            let (server, arguments) = (&self.extension, arguments.clone());
            let (reporter, clock) = (context.progress.clone(), Arc::clone(&context.clock));
            let progress = progress::progress_sink(reporter, clock);
            let calling =
                self.calls.call(server, &self.raw_name, arguments, call.input(), progress);
            let answer = calling.await;
            match answer {
                Ok(result) => result::output_of(result, call.has_values()),
                Err(error) => failure::failure_of(&error, server, self.spec.is_repeatable()),
            }
        })
    }
}
