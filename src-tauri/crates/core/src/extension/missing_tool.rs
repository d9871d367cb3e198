//! A tool that its server does not offer as a person accepted it.
//!
//! Owns the causes and their sentences with a remedy, the same for every kind of run. Never decides whether a run goes
//! on without the tool. Pitfall: one sentence for all causes; a tool that vanished has nothing to accept.

use std::fmt;

use super::name::{ExtensionName, tool_name};
use super::pin::{ToolChange, ToolListing};

/// A tool that is not available, although its server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingTool {
    /// The server.
    pub server: ExtensionName,
    /// The name in jobs.
    pub name: String,
    /// The cause.
    pub cause: MissingToolCause,
}

/// Why a tool is not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingToolCause {
    /// The server no longer lists the tool.
    Gone,
    /// The definition differs from the accepted one.
    Changed,
    /// No person has accepted the tool, or it is off.
    NotAccepted,
}

impl MissingTool {
    /// The accepted tools of `server` that `listing` lacks. A new tool was never available, so no run misses it.
    #[must_use]
    pub fn of_listing(server: &ExtensionName, listing: &ToolListing) -> Vec<Self> {
        let missing = |raw_name: &str, cause| {
            let (server, name) = (server.clone(), tool_name(server, raw_name));
            Self { server, name, cause }
        };
        let changed = listing.held.iter().filter(|held| held.change == ToolChange::Changed);
        let changed = changed.map(|held| missing(&held.offered.name, MissingToolCause::Changed));
        let gone = listing.gone.iter().map(|raw_name| missing(raw_name, MissingToolCause::Gone));
        changed.chain(gone).collect()
    }

    /// The entry of the tool `name` in `missing`; without an entry, the tool is not accepted.
    #[must_use]
    pub fn find(server: &ExtensionName, name: &str, missing: Vec<Self>) -> Self {
        missing.into_iter().find(|tool| tool.name == name).unwrap_or_else(|| Self {
            server: server.clone(),
            name: name.to_owned(),
            cause: MissingToolCause::NotAccepted,
        })
    }
}

/// Cause and remedy as sentences.
impl fmt::Display for MissingTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, name, cause } = self;
        match cause {
            MissingToolCause::Gone => write!(
                f,
                "The server {server} does not offer {name} now. The next run looks again; `rouse extensions show {server}` lists the tools."
            ),
            MissingToolCause::Changed => write!(
                f,
                "The tool {name} of the server {server} is not as you accepted it. Review it with `rouse extensions accept {server}`."
            ),
            MissingToolCause::NotAccepted => write!(
                f,
                "The server {server} has no accepted tool {name}, or the tool is off. `rouse extensions show {server}` lists the tools."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::UnixMs;
    use crate::extension::{PinnedTool, ToolAccess, ToolDefinition, ToolHints, compare_listing};

    fn tool(name: &str, description: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.to_owned(),
            title: None,
            description: description.to_owned(),
            input_schema: json!({ "type": "object" }),
            output_schema: None,
            hints: ToolHints::default(),
        }
    }

    #[test]
    fn gone_and_changed_tools_have_their_own_sentences() {
        let server: ExtensionName = "cal".parse().expect("a name");
        let accepted = [tool("list", "Lists."), tool("send", "Sends."), tool("read", "Reads.")];
        let pins = accepted.map(|tool| PinnedTool::accept(tool, ToolAccess::Ask, UnixMs(0)));
        let listed =
            vec![tool("read", "Reads."), tool("send", "Sends to me."), tool("new", "Is new.")];
        let missing = MissingTool::of_listing(&server, &compare_listing(&pins, listed));
        let causes: Vec<_> = missing.iter().map(|tool| (tool.name.as_str(), tool.cause)).collect();
        let expected =
            [("cal_send", MissingToolCause::Changed), ("cal_list", MissingToolCause::Gone)];
        assert_eq!(causes, expected);
        let sentence = |name| MissingTool::find(&server, name, missing.clone()).to_string();
        assert!(sentence("cal_list").starts_with("The server cal does not offer cal_list now."));
        assert!(sentence("cal_send").contains("`rouse extensions accept cal`"));
        assert!(sentence("cal_new").contains("no accepted tool cal_new, or the tool is off"));
    }
}
