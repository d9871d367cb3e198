//! The state of a server, for people.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};
use ts_rs::TS;

use crate::UnixMs;

/// The state of a server.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    TS,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ServerState {
    /// Not running; a run starts the server when needed.
    Off,
    /// Starting.
    Starting,
    /// Running.
    Ready,
    /// The sign-in is missing or expired.
    NeedsSignIn,
    /// Did not start, was not reached, or ended.
    Broken,
    /// New or changed tools wait for a person, and no accepted tool is left.
    Quarantined,
}

impl ServerState {
    /// The label for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::NeedsSignIn => "needs sign-in",
            Self::Broken => "broken",
            Self::Quarantined => "quarantined",
        }
    }
}

/// The state of a server with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct ServerStatus {
    /// The state.
    pub state: ServerState,
    /// Why the server is in this state, and what to do; none when all is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last lines of the error output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_tail: Option<String>,
    /// When the server started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<UnixMs>,
}
