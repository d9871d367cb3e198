//! Names to addresses: once per hop, and never again behind our back.

use std::io;
use std::net::IpAddr;

use reqwest::dns::{Name, Resolve as ReqwestResolve, Resolving};
use rouse_core::tool::BoxFuture;

/// Answers with the addresses of a name.
pub(crate) trait Resolve: Send + Sync {
    /// All addresses of `name`.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The system's resolver: hosts file, DNS, and whatever else is set up.
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            // The port plays no part in the lookup and is set again when connecting.
            let addresses = tokio::net::lookup_host((name, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// Stands where the HTTP client would look up a name that was not looked up and checked before: there is none.
pub(crate) struct NoSecondLookup;

impl ReqwestResolve for NoSecondLookup {
    fn resolve(&self, name: Name) -> Resolving {
        let error = io::Error::other(format!("{} was not looked up before", name.as_str()));
        Box::pin(std::future::ready(Err(error.into())))
    }
}
