//! The log of a call.
//!
//! Owns the bounds of lines. Never writes to the log of Rouse: the caller shows the lines. Pitfall: a guest that logs
//! in a loop; lines past the bound are counted only.

use serde::{Deserialize, Serialize};
use wasmtime::component::{ComponentType, Lift};

/// Lines of a call that are kept.
const MAX_LINES: usize = 200;

/// Bytes of a line that are kept.
const MAX_LINE_BYTES: usize = 2_048;

/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ComponentType, Lift)]
#[serde(rename_all = "camelCase")]
#[component(enum)]
#[repr(u8)]
pub enum ToolLogLevel {
    /// Details for the author.
    #[component(name = "debug")]
    Debug,
    /// A fact.
    #[component(name = "info")]
    Info,
    /// Something unusual.
    #[component(name = "warn")]
    Warn,
    /// A failure.
    #[component(name = "error")]
    Error,
}

/// A log line of a tool. Text from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolLogLine {
    /// The level.
    pub level: ToolLogLevel,
    /// The text, at most 2 KB.
    pub text: String,
}

/// The log of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolLog {
    /// The first 200 lines.
    pub lines: Vec<ToolLogLine>,
    /// Further lines, which are not kept.
    pub dropped: usize,
}

impl ToolLog {
    /// Adds a line within the bounds.
    pub(crate) fn add(&mut self, level: ToolLogLevel, text: &str) {
        if self.lines.len() == MAX_LINES {
            self.dropped += 1;
            return;
        }
        let end = text.floor_char_boundary(MAX_LINE_BYTES);
        self.lines.push(ToolLogLine { level, text: text[..end].to_owned() });
    }
}
