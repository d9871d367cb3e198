//! Names: of an extension, and of its tools for a model.
//!
//! Both wires allow 64 letters, digits, `_` and `-`; MCP allows 128 characters and dots. The name for the model begins
//! with the extension's name, which has no `_`, so the first `_` separates the two parts. A raw name that does not fit
//! gets a hash of itself, so that two raw names never share a name: grants, pins and allow lists by that name are
//! grants by (extension, raw name). A tool with the name of its extension is called by that name alone.

use std::fmt;
use std::str::FromStr;

use crate::text::hex_digits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use ts_rs::TS;

/// The most characters of an extension's name.
const MAX_CHARACTERS: usize = 20;

/// The most characters of a tool's name on the wires of the model providers.
const MAX_TOOL_NAME: usize = 64;

/// The hexadecimal digits of a hash in a tool's name.
const HASH_DIGITS: usize = 6;

/// Names that no extension can have: names of tools of Rouse, and their beginnings before a `_`.
pub const RESERVED_EXTENSION_NAMES: [&str; 19] = [
    "complete", "create", "delegate", "echo", "edit", "http", "json", "list", "memory", "notify",
    "read", "routine", "run", "search", "skill", "time", "tool", "web", "write",
];

/// The name of an extension: 1 to 20 lowercase letters, digits and `-`, beginning with a letter. Never changes.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, TS,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("format" = "extension-name"))]
#[ts(type = "string")]
pub struct ExtensionName(String);

/// A text that is no name of an extension.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid extension name: use 1 to 20 lowercase letters, digits and `-`, beginning with a letter"
)]
pub struct InvalidExtensionName(String);

impl ExtensionName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExtensionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ExtensionName {
    type Err = InvalidExtensionName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let begins_well = text.starts_with(|c: char| c.is_ascii_lowercase());
        if begins_well && text.len() <= MAX_CHARACTERS && text.chars().all(is_allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidExtensionName(text.to_owned()))
        }
    }
}

impl TryFrom<String> for ExtensionName {
    type Error = InvalidExtensionName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ExtensionName> for String {
    fn from(name: ExtensionName) -> Self {
        name.0
    }
}

/// The name under which a model calls the tool `raw` of `extension`.
#[must_use]
pub fn tool_name(extension: &ExtensionName, raw: &str) -> String {
    if raw == extension.as_str() {
        return raw.to_owned();
    }
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain = format!("{extension}_{raw}");
    let is_plain = !raw.is_empty() && raw.chars().all(is_allowed) && !ends_like_hash(raw);
    if is_plain && plain.len() <= MAX_TOOL_NAME {
        return plain;
    }
    let clean = |c| if is_allowed(c) { c } else { '_' };
    let digest = Sha256::digest(raw.as_bytes());
    let digits = hex_digits(&digest);
    let room = MAX_TOOL_NAME - HASH_DIGITS - 1;
    let shortened: String = plain.chars().map(clean).take(room).collect();
    format!("{shortened}_{}", &digits[..HASH_DIGITS])
}

/// The extension in the name of a tool. Tools of Rouse have such names too, so the name alone proves no extension.
#[must_use]
pub fn extension_of_tool(name: &str) -> Option<ExtensionName> {
    let extension = name.split_once('_').map_or(name, |(extension, _)| extension);
    // silent-ok: text before the first `_` that is no name of an extension.
    extension.parse().ok()
}

/// Whether a raw name ends like the name of another raw name with a hash.
fn ends_like_hash(raw: &str) -> bool {
    raw.rsplit_once('_').is_some_and(|(_, end)| {
        end.len() == HASH_DIGITS && end.chars().all(|c| c.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ExtensionName {
        text.parse().expect("a name")
    }

    #[test]
    fn extension_names_are_short_and_lowercase() {
        for text in ["a", "my-calendar", "gh2", "a2345678901234567890"] {
            assert_eq!(name(text).to_string(), text);
        }
        for text in ["", "Calendar", "my_calendar", "2gh", "-a", "ä", "a23456789012345678901"] {
            assert!(text.parse::<ExtensionName>().is_err(), "{text}");
        }
    }

    #[test]
    fn fitting_raw_name_is_kept() {
        assert_eq!(tool_name(&name("cal"), "list_events"), "cal_list_events");
        assert_eq!(tool_name(&name("my-cal"), "Read-File"), "my-cal_Read-File");
    }

    #[test]
    fn extension_of_a_tool_is_before_the_first_underscore() {
        assert_eq!(extension_of_tool("my-cal_list_events"), Some(name("my-cal")));
        assert_eq!(extension_of_tool(&tool_name(&name("fs"), "read.file")), Some(name("fs")));
        for text in ["Cal_list", "_list", "Echo", ""] {
            assert_eq!(extension_of_tool(text), None, "{text}");
        }
    }

    #[test]
    fn tool_named_like_its_extension_has_one_name() {
        let weather = name("weather");
        assert_eq!(tool_name(&weather, "weather"), "weather");
        assert_eq!(tool_name(&weather, "weather_now"), "weather_weather_now");
        assert_eq!(extension_of_tool("weather"), Some(weather));
    }

    #[test]
    fn raw_names_never_share_a_tool_name() {
        let raw = ["read.file", "read_file", "read file", "read/file", "read-file"];
        let mut names: Vec<String> = raw.iter().map(|raw| tool_name(&name("fs"), raw)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), raw.len(), "{names:?}");
    }

    #[test]
    fn raw_name_with_the_hash_of_another_is_distinct() {
        let server = name("fs");
        let hashed = tool_name(&server, "read.file");
        let imitation = hashed.strip_prefix("fs_").expect("the prefix");
        assert_ne!(tool_name(&server, imitation), hashed);
    }

    #[test]
    fn long_raw_name_fits_the_wires() {
        let (one, other) = ("x".repeat(128), format!("{}y", "x".repeat(127)));
        let names = [one, other].map(|raw| tool_name(&name("server"), &raw));
        assert!(names.iter().all(|name| name.len() == MAX_TOOL_NAME), "{names:?}");
        assert_ne!(names[0], names[1]);
        assert!(tool_name(&name("server"), "").len() <= MAX_TOOL_NAME);
    }
}
