//! Access to the sign-ins at MCP servers.

use std::time::Duration;

use rouse_core::extension::{ExtensionName, SignInCallback, SignInEnd, SignInStatus};
use rouse_core::tool::BoxFuture;

use crate::error::RpcError;

/// Access to the sign-ins at MCP servers. Never returns a token.
pub trait SignIns: Send + Sync {
    /// Starts a sign-in and returns the address that the person opens. `port` is the port of the redirect address
    /// without one in the definition.
    fn begin<'a>(
        &'a self,
        name: &'a ExtensionName,
        port: u16,
    ) -> BoxFuture<'a, Result<String, RpcError>>;
    /// Ends the sign-in of this callback.
    fn finish(&self, callback: SignInCallback) -> BoxFuture<'_, SignInEnd>;
    /// Forgets a sign-in that waits for the browser. Returns false if none waits.
    fn cancel(&self, name: &ExtensionName) -> bool;
    /// Waits until no sign-in is pending, for at most `limit`.
    fn await_end<'a>(&'a self, name: &'a ExtensionName, limit: Duration) -> BoxFuture<'a, ()>;
    /// Deletes the tokens and stops the server. Returns false if nobody was signed in.
    fn sign_out<'a>(&'a self, name: &'a ExtensionName) -> BoxFuture<'a, Result<bool, RpcError>>;
    /// The state of the sign-in.
    fn status<'a>(&'a self, name: &'a ExtensionName) -> BoxFuture<'a, SignInStatus>;
}
