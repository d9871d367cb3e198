//! The servers that an agent turn uses.
//!
//! Owns the text form, which is the same in JSON, the CLI and the editor: `NAME` for a required server,
//! `NAME:optional` for a server that the run can do without. Pitfall: a run without a required server has not done its
//! task, so it never succeeds.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::extension::ExtensionName;

/// The ending of an optional server.
const OPTIONAL: &str = ":optional";

/// A server that a job uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, TS)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("format" = "job-server"))]
#[ts(type = "string")]
pub struct JobServer {
    /// The server.
    pub name: ExtensionName,
    /// Whether the run can do without the server.
    pub is_optional: bool,
}

impl fmt::Display for JobServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, if self.is_optional { OPTIONAL } else { "" })
    }
}

impl From<JobServer> for String {
    fn from(server: JobServer) -> Self {
        server.to_string()
    }
}

impl TryFrom<String> for JobServer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Reads the text form.
impl FromStr for JobServer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let name = text.strip_suffix(OPTIONAL);
        let is_optional = name.is_some();
        let name = name.unwrap_or(text).parse();
        let name = name.map_err(|_| {
            format!("expected the name of an MCP server, or `NAME{OPTIONAL}`, found `{text}`")
        })?;
        Ok(Self { name, is_optional })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        for text in ["calendar", "my-issues:optional"] {
            let server: JobServer = text.parse().expect("a server");
            assert_eq!(server.to_string(), text);
            assert_eq!(server.is_optional, text.ends_with(OPTIONAL));
        }
        for text in ["", ":optional", "Calendar", "calendar:", "calendar:required"] {
            assert!(text.parse::<JobServer>().is_err(), "{text}");
        }
    }
}
