//! The guard for HTTP requests to addresses that a model or a server definition chose.
//!
//! Owns the path of every such request: `target` parses the URL, `rules` and `address` decide the allowed destinations,
//! `resolve` looks the name up once, `fetch` checks every hop, `exchange` streams one answer, `response` and `content_encoding` bound the body. Never
//! uses a proxy (which would resolve names unchecked), NAT64 or client certificates.
//! Limit: a public address that leads back to this computer is not recognised; services there are reachable from anywhere anyway.

mod address;
mod content_encoding;
mod error;
mod exchange;
mod fetch;
mod resolve;
mod response;
mod rules;
mod target;
#[cfg(test)]
pub(crate) mod tests;

use rouse_core::tool::RateLimit;

#[cfg(all(test, target_os = "linux"))]
pub(crate) use address::{AddressScope, classify_address};
pub(crate) use content_encoding::{Body, decode_body};
pub(crate) use error::FetchError;
pub use exchange::GuardedHttp;
pub(crate) use fetch::{Fetcher, HttpRequest};
#[cfg(all(test, target_os = "linux"))]
pub(crate) use resolve::Resolver;
pub(crate) use response::{RawResponse, TextResponse};
pub use rules::{AcceptedServerUrls, GatewayPorts, HttpConfig};
pub(crate) use rules::{HostRules, is_host_allowed, is_host_named};
pub(crate) use target::{UrlError, UrlTarget};

/// Rate limit of the web tools.
pub(crate) const WEB_RATE_LIMIT: RateLimit = RateLimit { per_minute: 30, per_hour: 500 };
