//! `[tools]`: limits of tools and runs.

use std::time::Duration;

use rouse_core::json_fields::Fields;

use super::{READ_FILE_BYTES, whole};

/// Limits of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolLimits {
    /// The largest file that `read_file` reads.
    pub read_file_max_bytes: u64,
    /// Model turns with tools of a run that names no `maxSteps`.
    pub max_steps: u32,
    /// The time limit of a command that names none.
    pub command_timeout: Duration,
    /// Private hosts that `http` may reach all the same.
    pub allow_private_hosts: Vec<String>,
}

impl ToolLimits {
    /// Each of their keys, and whether `other` says something else of it.
    pub(super) fn differ_from(&self, other: &Self) -> [(&'static str, bool); 4] {
        [
            ("tools.readFileMaxBytes", self.read_file_max_bytes != other.read_file_max_bytes),
            ("tools.maxSteps", self.max_steps != other.max_steps),
            ("tools.runCommandTimeoutMs", self.command_timeout != other.command_timeout),
            ("tools.allowPrivateHosts", self.allow_private_hosts != other.allow_private_hosts),
        ]
    }
}

impl ToolLimits {
    pub(super) const DEFAULT: Self = Self {
        read_file_max_bytes: 524_288,
        max_steps: 10,
        command_timeout: Duration::from_secs(600),
        allow_private_hosts: Vec::new(),
    };
}

pub(super) fn read(mut fields: Fields<'_>) -> ToolLimits {
    let defaults = ToolLimits::DEFAULT;
    ToolLimits {
        read_file_max_bytes: fields
            .integer("readFileMaxBytes", READ_FILE_BYTES)
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(defaults.read_file_max_bytes),
        max_steps: whole(&mut fields, "maxSteps", 1, 50).unwrap_or(defaults.max_steps),
        command_timeout: fields
            .integer("runCommandTimeoutMs", 1..=86_400_000)
            .and_then(|ms| u64::try_from(ms).ok())
            .map_or(defaults.command_timeout, Duration::from_millis),
        allow_private_hosts: fields.texts("allowPrivateHosts").unwrap_or_default(),
    }
}
