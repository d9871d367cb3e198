//! The definition of a vendor, and the answers of a script.

use serde_json::Value;

use super::rules::VendorRules;

/// The key that every vendor with keys accepts.
pub const VENDOR_KEY: &str = "sk-test-0123456789abcdefghijklmnop";

/// The wire format of a vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VendorWire {
    /// Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

/// Facts about one vendor.
#[derive(Debug)]
pub struct ModelVendor {
    /// The name of the provider in the settings.
    pub name: &'static str,
    /// The kind of the provider in the settings.
    pub kind: &'static str,
    /// The path of the base URL.
    pub base: &'static str,
    /// The model in the settings.
    pub model: &'static str,
    /// Whether a person runs the server without a key.
    pub is_local: bool,
    pub(super) wire: VendorWire,
    /// Reasoning before the text of every answer.
    pub(super) reasoning: &'static str,
    /// Whether the usage contains the cost.
    pub(super) reports_cost: bool,
    pub(super) rules: VendorRules,
}

/// One answer of the script.
#[derive(Debug, Clone)]
pub enum VendorTurn {
    /// Text.
    Says(String),
    /// A call of one tool.
    Calls(&'static str, Value),
}

impl VendorTurn {
    /// An answer of text.
    #[must_use]
    pub fn says(text: &str) -> Self {
        Self::Says(text.to_owned())
    }
}
