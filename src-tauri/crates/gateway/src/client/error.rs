//! Errors of a call.

use std::io;
use std::net::SocketAddr;

use super::remote::RemoteError;
use crate::error::RpcError;

/// An error of a call.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No engine runs for this data directory.
    #[error("Rouse is not running. Start the app, or `rouse serve`.")]
    NotRunning,
    /// The endpoint or token file is unreadable.
    #[error("cannot read {path}")]
    Files {
        /// The file.
        path: std::path::PathBuf,
        /// The system error.
        #[source]
        source: io::Error,
    },
    /// The connection failed.
    #[error("cannot connect to Rouse at {address}")]
    Connection {
        /// The address.
        address: SocketAddr,
        /// The cause.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The listener accepts the connection but does not respond in time.
    #[error(
        "The program at {address} does not respond. If Rouse hangs, restart Rouse. If another program uses the port, \
         run `rouse serve`."
    )]
    TimedOut {
        /// The address.
        address: SocketAddr,
    },
    /// The listener does not prove the token.
    #[error(
        "The program at {address} does not prove that it is your Rouse, so no data was sent. Either Rouse was killed and \
         another program uses the port, or Rouse was updated while running. Restart the app or `rouse serve`."
    )]
    Unproven {
        /// The address.
        address: SocketAddr,
    },
    /// An error of the engine.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The engine rejects the token.
    #[error("Rouse does not accept the token in {0}. Restart Rouse, then try again.")]
    Unauthorized(std::path::PathBuf),
    /// The engine runs on another computer, and a layer between failed.
    #[error(transparent)]
    Remote(#[from] RemoteError),
}
