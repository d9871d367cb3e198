//! Name resolution: a single lookup per hop.

use std::io;
use std::net::IpAddr;

use reqwest::dns::{Name, Resolve as ReqwestResolve, Resolving};
use rouse_core::tool::BoxFuture;

/// A name resolver.
pub(crate) trait Resolver: Send + Sync {
    /// Returns all addresses of `name`.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver: hosts file, DNS and other configured sources.
pub(crate) struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            // The port does not affect the lookup; the connection sets the port.
            let addresses = tokio::net::lookup_host((name, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// Blocks lookups by the HTTP client: every name was resolved and checked before.
pub(crate) struct LookupBlocker;

impl ReqwestResolve for LookupBlocker {
    fn resolve(&self, name: Name) -> Resolving {
        let error = io::Error::other(format!("{} was not resolved beforehand", name.as_str()));
        Box::pin(std::future::ready(Err(error.into())))
    }
}
