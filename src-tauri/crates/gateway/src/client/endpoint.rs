//! The files by which a client finds an engine on this computer.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The endpoint of a running engine, stored in the data directory (mode 0600).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Endpoint {
    /// The address.
    pub address: SocketAddr,
    /// Process id of the engine.
    pub pid: u32,
    /// Version of the engine.
    pub version: String,
}

/// The endpoint file of `home`.
pub(super) fn endpoint_path(home: &Path) -> PathBuf {
    home.join("gateway.json")
}

/// The token file of `home`.
pub(super) fn token_path(home: &Path) -> PathBuf {
    home.join("gateway.token")
}
