//! The middle layer: answers of the gateway as text for a terminal.
//!
//! Never imports `commands`, never changes anything.

pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod table;
pub(crate) mod facts;
pub(crate) mod error;
pub(crate) mod authorship;
pub(crate) mod run_state;
pub(crate) mod spending;
pub(crate) mod grants;
pub(crate) mod channel;
pub(crate) mod job;
pub(crate) mod run_table;
pub(crate) mod run_detail;
pub(crate) mod approval;
pub(crate) mod untrusted_text;
pub(crate) mod system;
pub(crate) mod scheduler;
pub(crate) mod heartbeat;
pub(crate) mod settings;
pub(crate) mod secrets;
pub(crate) mod package;
pub(crate) mod registry;
pub(crate) mod consent;
pub(crate) mod extension;
pub(crate) mod skill;
