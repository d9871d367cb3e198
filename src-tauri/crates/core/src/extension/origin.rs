//! The origin of a tool that did not come with Rouse.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::name::ExtensionName;

/// The server of a tool, and the accepted definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ToolOrigin {
    /// The extension.
    pub extension: ExtensionName,
    /// The raw name of the tool at its server.
    pub raw_name: String,
    /// The name and version that the server reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The hash of the accepted definition.
    pub hash: String,
}
