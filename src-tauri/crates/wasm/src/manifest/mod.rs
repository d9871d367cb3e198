//! The manifest of a tool: `tool.toml`.
//!
//! Owns the fields with their bounds. Never fills a gap by a guess: an unknown key is a problem, and so is everything
//! that this version cannot build. All problems come at once, each with the path of its field. Pitfall: a field that
//! the check does not read; a person accepts every field of the manifest.

mod problem;
mod fields;
mod parse;
mod test_case;

use std::collections::BTreeMap;

use rouse_core::extension::{ExtensionName, ToolLanguage};
use serde::Serialize;
use serde_json::Value;

pub use problem::ManifestProblem;
pub use test_case::{CannedHttpExchange, ExpectedResult, ToolTest};

use crate::permissions::ToolPermissions;

/// The file of the manifest in the folder of a tool.
pub const MANIFEST_FILE: &str = "tool.toml";

/// Largest manifest.
pub(crate) const MAX_MANIFEST_BYTES: usize = 64 << 10;

/// The facts and the permissions of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolManifest {
    /// The name of the extension.
    pub name: ExtensionName,
    /// What the tool does, for the model and the person.
    pub description: String,
    /// The language.
    pub language: ToolLanguage,
    /// The version, as the author writes it.
    pub version: Option<String>,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    /// What the tool may use.
    pub permissions: ToolPermissions,
    /// Whether the author says that the tool only reads. The person decides.
    pub reads_only: bool,
    /// The libraries of a Rust tool with their versions.
    pub dependencies: BTreeMap<String, String>,
    /// The tests.
    pub tests: Vec<ToolTest>,
}
