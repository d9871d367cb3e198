//! The wire: every shape that crosses the gateway, written once and exported to TypeScript.
//!
//! Owns names and JSON shapes, nothing else. Core's types do not serialise on purpose: the wire can stay as it is
//! while the core moves. Results write absent values as `null`; the job format leaves them out.

mod announcement;
mod approval;
mod backup;
mod config;
mod cron;
mod delivery;
mod event;
mod gate;
mod heartbeat;
mod hook;
mod job;
mod model;
mod provider;
mod run;
mod secret;
mod session;
mod skill;
mod spending;
mod status;
mod tool;
mod transfer;

pub use announcement::*;
pub use approval::*;
pub use backup::*;
pub use config::*;
pub use cron::*;
pub use delivery::*;
pub use event::*;
pub use gate::*;
pub use heartbeat::*;
pub use hook::*;
pub use job::*;
pub use model::*;
pub use provider::*;
pub use run::*;
pub use secret::*;
pub use session::*;
pub use skill::*;
pub use spending::*;
pub use status::*;
pub use tool::*;
pub use transfer::*;

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// No parameters.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, TS)]
#[serde(default)]
pub struct Empty {}

/// It is done; there is nothing more to say.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, TS)]
pub struct Done {
    /// Whether anything changed.
    pub changed: bool,
}
