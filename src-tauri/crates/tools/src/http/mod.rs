//! `http`: one request to one URL.
//!
//! The URL comes from a model or from text that a model has read, so it is treated as an attempt to reach what only
//! this computer can reach. `target` decides what a URL may look like, `address` where it may lead, `rules` what the
//! person has added, `request` what may be sent, and `fetch` holds all of that on every hop. Nothing here can be loosened
//! by an argument.
//!
//! What goes unasked: a mere look (GET or HEAD with headers that choose the form of the answer) at a host that the job
//! grants; of a job that names no hosts, at any public address and at those that the settings name. A job for the web
//! could otherwise do nothing without a person, and a person who wants less names the hosts. Everything else asks: other
//! methods, bodies, any header that could carry a key, and hosts beside those of the job. With such a list no redirect
//! leads to a host that is neither on it nor the one that was asked for. The call that a person has written into a job goes
//! unasked whatever it does, so with such a list even its first hop stays on it.
//!
//! Limits that are wanted: no proxy (a company proxy would do the lookup in our place, unchecked), no NAT64 (a network
//! that is IPv6 only), no client certificates. What it cannot see is a public address that leads back to this computer or
//! its network; services that answer there are reachable from anywhere anyway.

mod address;
mod target;

mod resolve;
mod rules;

mod request;
mod fetch;
mod packing;
mod page;

#[cfg(test)]
pub(crate) mod tests;

use std::time::Duration;

use rouse_core::approval::Surroundings;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Destination, RateLimit, SandboxMode, TOLD_BYTES, Tool,
    ToolContext, ToolOutput, ToolSpec,
};
use rouse_core::visible::visible;
use serde_json::{Value, json};

use crate::answer::Faulty as _;
use crate::{arguments, spec};
#[cfg(all(test, target_os = "linux"))]
pub(crate) use address::{Reach, reach};
pub(crate) use fetch::{FetchError, Fetcher, Request};
pub(crate) use packing::{Unpacked, unpack};
pub(crate) use page::{Answer, Page};
use request::{Arguments, MOST_BODY};
#[cfg(all(test, target_os = "linux"))]
pub(crate) use resolve::Resolve;
pub use rules::OwnPorts;
pub(crate) use rules::Rules;
pub(crate) use target::Target;

/// The headers by which somebody signs in.
const SENSITIVE: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "cookie",
    "api-key",
    "x-api-key",
    "x-goog-api-key",
    "x-amz-security-token",
    "x-auth-token",
    "x-access-token",
    "x-csrf-token",
    "private-token",
];

/// How often the web may be asked.
pub(crate) const RATE: RateLimit = RateLimit { per_minute: 30, per_hour: 500 };

/// The largest offset into a body.
const MOST_OFFSET: usize = 16 << 20;

/// What stands beside a body in an answer that a model is told, and what is shown of it in more letters than it has.
pub(crate) const BESIDE: usize = 6 << 10;

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

impl Http {
    pub(crate) fn new(config: HttpConfig) -> Self {
        let description = "Sends a request to a public URL; for pages use web_fetch. A long body goes on at nextOffset. A status of 400 or more is an error.";
        let parameters = spec::object(
            &["url"],
            json!({
                "url": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "method": { "type": "string", "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] },
                "headers": {
                    "type": "object",
                    "maxProperties": 20,
                    "additionalProperties": { "type": "string", "maxLength": 4_096 },
                },
                "body": { "type": "string", "maxLength": MOST_BODY },
                "json": { "description": "Instead of body." },
                "maxBytes": { "type": "integer", "minimum": 1 },
                "offset": { "type": "integer", "minimum": 0, "maximum": MOST_OFFSET },
            }),
        );
        let harmless = spec::harmless(("http", "Ask a web address"), description, parameters);
        let spec = ToolSpec {
            annotations: Annotations::ANYTHING,
            rate: RATE,
            untrusted_output: true,
            sensitive: SENSITIVE.iter().map(|header| format!("headers.{header}")).collect(),
            ..harmless
        };
        Self { spec, fetcher: Fetcher::new(&config), max_bytes: config.max_bytes }
    }

    async fn send(
        &self,
        arguments: &Arguments,
        has_secret: bool,
        sandbox: &SandboxMode,
    ) -> ToolOutput {
        let request = match arguments.request() {
            Ok(request) => request,
            Err(error) => return arguments::misfit(error.to_string()),
        };
        if has_secret && let Some(part) = request.asks_for_part() {
            let words = format!(
                "headers.{part} cannot stand beside a stored secret: a part of its value could come back unseen."
            );
            return arguments::misfit(words);
        }
        // A caller that chooses where an answer is cut could cut a secret in two, and neither half would be recognised.
        let cuts = [("maxBytes", arguments.max_bytes.is_some()), ("offset", arguments.offset > 0)];
        if let Some((cut, _)) = cuts.iter().find(|(_, is_given)| has_secret && *is_given) {
            let words = format!(
                "{cut} cannot stand beside a stored secret: a part of its value could come back unseen."
            );
            return arguments::misfit(words);
        }
        let most = arguments.max_bytes.unwrap_or(self.max_bytes).min(self.max_bytes);
        let most = arguments.offset + most;
        match self.fetcher.send(Request { most, has_secret, ..request.among(sandbox) }).await {
            Ok(page) => {
                let mut page = shown(page, arguments, has_secret, sandbox);
                let (fault, words) = (page.fault(), page.complaint());
                // A server may draw the secret that it was sent, and nothing looks for it in an image.
                let attachment = page.attachment.take().filter(|_| !has_secret);
                let attachments = attachment.into_iter().collect();
                ToolOutput { fault, words, attachments, ..ToolOutput::ok(page.into_value()) }
            }
            Err(error) => {
                let is_in_doubt = error.may_have_arrived() && !arguments.annotations().read_only;
                let doubt =
                    if is_in_doubt { " It may have been carried out all the same." } else { "" };
                ToolOutput::faulty(error.fault(), format!("{error}{doubt}"))
            }
        }
    }

    fn asks(arguments: &Value, sandbox: &SandboxMode) -> bool {
        let Ok(arguments) = arguments::read::<Arguments>(arguments) else { return true };
        let Ok(request) = arguments.request() else { return true };
        !(arguments.is_mere_look() && may_look_at(&request.target, sandbox))
    }
}

/// The part of a page that is returned: its beginning, or what follows the offset, as far as a model is told. A call that
/// a person has written gets all that was read.
fn shown(page: Page, arguments: &Arguments, has_secret: bool, sandbox: &SandboxMode) -> Page {
    let is_a_persons = matches!(sandbox, SandboxMode::ByPersonUnsandboxed { .. });
    let room = if is_a_persons { usize::MAX } else { TOLD_BYTES - BESIDE };
    let page = page.part(arguments.offset, room);
    let next = page.next.filter(|_| arguments.may_go_on() && !has_secret);
    let page = Page { next, ..page };
    if has_secret { page.without_tail() } else { page }
}

/// Whether a mere look at this target needs no approval: its host is granted to the job, or the job names no hosts.
pub(crate) fn may_look_at(target: &Target, sandbox: &SandboxMode) -> bool {
    let hosts = sandbox.hosts();
    hosts.is_empty() || granted(hosts).names(target)
}

/// Whether a person has named this host for the run, in the job's hosts or in the text of the task.
pub(crate) fn is_named(target: &Target, context: &ToolContext) -> bool {
    let names = |hosts: &[String]| granted(hosts).names(target);
    names(context.sandbox.hosts()) || names(&context.named_hosts)
}

/// The hosts of a job, as rules.
fn granted(hosts: &[String]) -> Rules {
    Rules::new(hosts, OwnPorts::default())
}

impl Tool for Http {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn argument_error(&self, arguments: &Value) -> Option<String> {
        let arguments = arguments::read::<Arguments>(arguments).ok()?;
        arguments.request().err().map(|error| error.to_string())
    }

    fn approval(&self, arguments: &Value, context: &ToolContext) -> ApprovalRule {
        if Self::asks(arguments, &context.sandbox) {
            ApprovalRule::UnlessGranted
        } else {
            ApprovalRule::Never
        }
    }

    fn annotations(&self, arguments: &Value) -> Annotations {
        let read = arguments::read::<Arguments>(arguments);
        read.map_or(self.spec.annotations, |arguments| arguments.annotations())
    }

    /// No redirect carries headers, a body or the value of a secret on to another origin.
    fn destination(&self, arguments: &Value) -> Option<Destination> {
        let arguments = arguments::read::<Arguments>(arguments).ok()?;
        Some(arguments.request().ok()?.target.destination())
    }

    /// A URL can carry anything, so a look is a message as well, unless a person has named the host.
    fn sends_out(&self, arguments: &Value, context: &ToolContext) -> bool {
        let Ok(arguments) = arguments::read::<Arguments>(arguments) else { return true };
        let Ok(request) = arguments.request() else { return true };
        !(arguments.is_mere_look() && is_named(&request.target, context))
    }

    fn preview<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, String> {
        let shown = match arguments::read::<Arguments>(arguments) {
            Ok(arguments) => arguments.shown(),
            Err(error) => format!("{error}\n\n{arguments:#}"),
        };
        Box::pin(std::future::ready(visible(&shown)))
    }

    /// Nothing beside the arguments decides what is sent; what cannot be sent is said here, as far as that needs no network.
    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let request = arguments::read::<Arguments>(arguments)
            .and_then(|arguments| arguments.request().map_err(|error| error.to_string()));
        let surroundings = match request {
            Err(misfit) => Err(arguments::misfit(misfit)),
            Ok(request) => match self.fetcher.check(&request.among(&context.sandbox)) {
                Err(error) => Err(ToolOutput::faulty(error.fault(), error.to_string())),
                Ok(()) => Ok(Surroundings::default()),
            },
        };
        Box::pin(std::future::ready(surroundings))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match arguments::read(call.arguments()) {
                Ok(arguments) => self.send(&arguments, call.has_values(), &context.sandbox).await,
                Err(error) => arguments::misfit(error),
            }
        })
    }
}
