//! Wire types: parameters, results and events of the gateway, exported to TypeScript.
//!
//! Owns field names and JSON shapes. Closed sets come from `core`. Results write absent values as `null`; the job format
//! omits absent values. Never holds logic.

mod announcement;
mod approval;
mod backup;
mod channel;
mod config;
mod cron;
mod delivery;
mod device;
mod event;
mod extension;
mod gate;
mod heartbeat;
mod hook;
mod job;
mod mcp_access;
mod model;
mod provider;
mod registry;
mod run;
mod secret;
mod session;
mod sign_in;
mod skill;
mod spending;
mod status;
mod tool;
mod transfer;

pub use announcement::*;
pub use approval::*;
pub use backup::*;
pub use channel::*;
pub use config::*;
pub use cron::*;
pub use delivery::*;
pub use device::*;
pub use event::*;
pub use extension::*;
pub use gate::*;
pub use heartbeat::*;
pub use hook::*;
pub use job::*;
pub use mcp_access::*;
pub use model::*;
pub use provider::*;
pub use registry::*;
pub use run::*;
pub use secret::*;
pub use session::*;
pub use sign_in::*;
pub use skill::*;
pub use spending::*;
pub use status::*;
pub use tool::*;
pub use transfer::*;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// No parameters, or no result.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct EmptyObject {}

/// Result of a change.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, TS)]
pub struct ChangeResult {
    /// Whether anything changed.
    pub changed: bool,
}
