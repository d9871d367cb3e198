//! `http`: fetches one URL with GET.
//!
//! The URL comes from a model or from text that a model has read, so it is treated as an attempt to reach what only
//! this computer can reach. `target` decides what a URL may look like, `address` where it may lead, `rules` what the
//! person has added, and `fetch` holds all of that on every hop. Nothing here can be loosened by an argument.
//!
//! Limits that are wanted: no proxy (a company proxy would do the lookup in our place, unchecked), no NAT64 (a network
//! that is IPv6 only), no other method, no body, no client certificates. What it cannot see is a public address that
//! leads back to this computer or its network; services that answer there are reachable from anywhere anyway.

mod address;
mod target;

mod resolve;
mod rules;

mod fetch;
mod page;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, BoxFuture, Fault, RateLimit, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::json;

use crate::{arguments, spec};
#[cfg(test)]
pub(crate) use address::{Reach, reach};
pub(crate) use fetch::Fetcher;
use fetch::Request;
#[cfg(test)]
pub(crate) use resolve::Resolve;
pub use rules::OwnPorts;
pub(crate) use rules::Rules;
pub(crate) use target::Target;

const RATE: RateLimit = RateLimit { per_minute: 30, per_hour: 500 };
/// A server may do anything with a request, but a GET asks it to change nothing (RFC 9110 section 9.2.1).
const READS_THE_WEB: Annotations = Annotations { open_world: true, ..Annotations::READS };

/// Where `http` may go, and how much of it comes back. The default is the strictest.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Hosts that may be on this computer or its network: `nas.local`, `192.168.1.20`, `printer:631`, `[fd00::5]:8000`.
    /// With a port, that port is allowed for this host too.
    pub allow_private_hosts: Vec<String>,
    /// Most bytes of a body.
    pub max_bytes: usize,
    /// For the whole call, redirects and body included.
    pub timeout: Duration,
    /// The gateway's ports, which stay out of reach.
    pub own_ports: OwnPorts,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            allow_private_hosts: Vec::new(),
            max_bytes: 262_144,
            timeout: Duration::from_secs(30),
            own_ports: OwnPorts::default(),
        }
    }
}

/// The tool.
pub(crate) struct Http {
    spec: ToolSpec,
    fetcher: Fetcher,
    max_bytes: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    max_bytes: Option<usize>,
}

impl Http {
    pub(crate) fn new(config: HttpConfig) -> Self {
        let description = format!(
            "Fetches a URL with GET and returns status, url, contentType, body as text and truncated. Public http and https \
             addresses only; at most {} bytes and {} seconds. A status of 400 or more is an error.",
            config.max_bytes,
            config.timeout.as_secs()
        );
        let parameters = spec::object(
            &["url"],
            json!({
                "url": { "type": "string", "description": "The whole URL.", "minLength": 1, "maxLength": 4_096 },
                "headers": {
                    "type": "object",
                    "description": "Request headers, for example Accept. Not sent on after a redirect to another site.",
                    "maxProperties": 20,
                    "additionalProperties": { "type": "string", "maxLength": 4_096 },
                },
                "maxBytes": { "type": "integer", "minimum": 1, "description": "Read at most so much of the body." },
            }),
        );
        let harmless = spec::harmless("http", &description, parameters);
        let spec =
            ToolSpec { annotations: READS_THE_WEB, rate: RATE, untrusted_output: true, ..harmless };
        Self { spec, fetcher: Fetcher::new(&config), max_bytes: config.max_bytes }
    }

    async fn fetch(&self, arguments: Arguments) -> Result<ToolOutput, String> {
        let target = Target::parse(&arguments.url).map_err(|error| error.to_string())?;
        let headers = headers(&arguments.headers)?;
        let most = arguments.max_bytes.unwrap_or(self.max_bytes).min(self.max_bytes);
        let request = Request { target, headers, most };
        let page = self.fetcher.get(request).await.map_err(|error| error.to_string())?;
        let fault = page.is_error().then_some(Fault::ExternalService);
        Ok(ToolOutput { fault, ..ToolOutput::ok(page.into_value()) })
    }
}

impl Tool for Http {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, call: ApprovedCall, _: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let fetched = match arguments::read(call.arguments()) {
                Ok(arguments) => self.fetch(arguments).await,
                Err(error) => Err(error),
            };
            fetched.unwrap_or_else(ToolOutput::error)
        })
    }
}

fn headers(wanted: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(
        ACCEPT,
        HeaderValue::from_static("text/html, application/json, text/*;q=0.9, */*;q=0.5"),
    );
    for (name, value) in wanted {
        let parsed = HeaderName::try_from(name.as_str()).ok().filter(is_free);
        let name = parsed.ok_or_else(|| format!("The header {name:?} cannot be set."))?;
        let value = HeaderValue::try_from(value.as_str())
            .map_err(|_| format!("The value of the header {name} is not valid."))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Whether a caller may set this header: not those that speak for the connection, the message's frame or a proxy.
fn is_free(name: &HeaderName) -> bool {
    const OURS: [&str; 13] = [
        "host",
        "connection",
        "keep-alive",
        "content-length",
        "content-type",
        "transfer-encoding",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "accept-encoding",
        "user-agent",
        "http2-settings",
    ];
    let name = name.as_str();
    !OURS.contains(&name)
        && !name.starts_with("proxy-")
        && !name.starts_with("x-forwarded")
        && name != "forwarded"
}
