//! `extensions.signIn`, `extensions.awaitSignIn`: sign-ins at MCP servers over HTTP.

pub use rouse_core::extension::SignInStatus;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// `extensions.signIn`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SignInLink {
    /// The address that the person opens in a browser within ten minutes: https, or http on this computer.
    pub url: String,
}
