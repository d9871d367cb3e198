//! Pins of tools: the hash of a tool's definition, and the comparison of a server's list with the accepted tools.
//!
//! A person accepts a definition: name, title, description, schemas and hints. Another definition under the same name
//! is held until it is accepted (a change after installation, "rug pull"), and so is a new tool. A renamed tool is new.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use strum::{IntoStaticStr, VariantNames};
use ts_rs::TS;

use super::document::PinnedTool;
use crate::approval::canonical;
use crate::text::hex_digits;

/// A tool as its server declares it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ToolDefinition {
    /// The raw name, which calls use.
    pub name: String,
    /// A short label for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description for the model.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the arguments, as the server sent it.
    pub input_schema: Value,
    /// JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The server's claims about side effects.
    #[serde(default)]
    pub hints: ToolHints,
}

/// A server's claims about the side effects of a tool. A missing claim means the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ToolHints {
    /// No side effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// May delete or overwrite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Repeating the call has no further effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Reaches beyond the server's own data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

impl ToolDefinition {
    /// The SHA-256 of the canonical definition, in hexadecimal digits.
    #[must_use]
    pub fn hash(&self) -> String {
        let value = serde_json::to_value(self).expect("BUG: a definition is JSON");
        let digest = Sha256::digest(canonical(&value).as_bytes());
        hex_digits(&digest)
    }
}

/// A server's current list of tools, compared with the accepted tools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolListing {
    /// Accepted tools whose definition is unchanged.
    pub accepted: Vec<PinnedTool>,
    /// Tools that wait for a person.
    pub held: Vec<HeldTool>,
    /// Raw names of accepted tools that the server no longer lists.
    pub gone: Vec<String>,
}

impl ToolListing {
    /// Whether an accepted tool is changed or no longer listed.
    #[must_use]
    pub fn has_missing_tools(&self) -> bool {
        let mut held = self.held.iter();
        !self.gone.is_empty() || held.any(|tool| tool.change == ToolChange::Changed)
    }
}

/// A tool that is not offered until a person accepts it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct HeldTool {
    /// Why the tool is held.
    pub change: ToolChange,
    /// The accepted definition; none for a new tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<ToolDefinition>,
    /// The definition that waits.
    pub offered: ToolDefinition,
}

/// Why a tool is held.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS, IntoStaticStr, VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ToolChange {
    /// No tool of this name was accepted.
    New,
    /// The definition differs from the accepted one.
    Changed,
}

/// Compares the tools that a server `listed` with the `accepted` ones.
#[must_use]
pub fn compare_listing(accepted: &[PinnedTool], listed: Vec<ToolDefinition>) -> ToolListing {
    let is_listed = |pin: &&PinnedTool| !listed.iter().any(|tool| tool.name == pin.definition.name);
    let gone = accepted.iter().filter(is_listed).map(|pin| pin.definition.name.clone()).collect();
    let mut listing = ToolListing { gone, ..ToolListing::default() };
    for offered in listed {
        let pin = accepted.iter().find(|pin| pin.definition.name == offered.name);
        match pin {
            Some(pin) if pin.hash == offered.hash() => listing.accepted.push(pin.clone()),
            Some(pin) => {
                let accepted = Some(pin.definition.clone());
                listing.held.push(HeldTool { change: ToolChange::Changed, accepted, offered });
            }
            None => {
                listing.held.push(HeldTool { change: ToolChange::New, accepted: None, offered });
            }
        }
    }
    listing
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::UnixMs;
    use crate::extension::ToolAccess;

    fn tool(name: &str, description: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.to_owned(),
            title: None,
            description: description.to_owned(),
            input_schema: json!({"type": "object", "properties": {"a": {}, "b": {}}}),
            output_schema: None,
            hints: ToolHints::default(),
        }
    }

    fn pinned(tool: ToolDefinition) -> PinnedTool {
        PinnedTool::accept(tool, ToolAccess::Ask, UnixMs(0))
    }

    #[test]
    fn hash_ignores_key_order_but_no_content() {
        let first = tool("read", "Reads");
        let mut reordered = first.clone();
        reordered.input_schema = json!({"properties": {"b": {}, "a": {}}, "type": "object"});
        assert_eq!(first.hash(), reordered.hash());
        let mut hinted = first.clone();
        hinted.hints.read_only = Some(true);
        for changed in [tool("read", "Reads."), tool("read2", "Reads"), hinted] {
            assert_ne!(first.hash(), changed.hash());
        }
    }

    #[test]
    fn changed_and_new_tools_are_held() {
        let accepted = [pinned(tool("read", "Reads")), pinned(tool("send", "Sends"))];
        let listed = vec![
            tool("read", "Reads"),
            tool("send", "Sends, and copies to me"),
            tool("drop", "Drops"),
        ];
        let listing = compare_listing(&accepted, listed);
        assert_eq!(listing.accepted, [accepted[0].clone()]);
        let held: Vec<_> =
            listing.held.iter().map(|held| (held.change, held.offered.name.as_str())).collect();
        assert_eq!(held, [(ToolChange::Changed, "send"), (ToolChange::New, "drop")]);
        assert_eq!(listing.held[0].accepted.as_ref(), Some(&accepted[1].definition));
    }

    #[test]
    fn renamed_tool_is_gone_and_new() {
        let accepted = [pinned(tool("read", "Reads"))];
        let listing = compare_listing(&accepted, vec![tool("fetch", "Reads")]);
        assert_eq!(listing.gone, ["read"]);
        assert_eq!(listing.held.len(), 1);
        assert!(listing.accepted.is_empty());
    }
}
