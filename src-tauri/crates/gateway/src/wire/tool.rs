//! The tools' catalogue.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use ts_rs::TS;

/// `tools.catalog`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolsCatalogResult {
    /// By name.
    pub tools: Vec<ToolView>,
}

/// One tool.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ToolView {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    #[ts(type = "Record<string, unknown>")]
    pub parameters: Value,
    /// Most calls a minute.
    pub calls_per_minute: u32,
}
