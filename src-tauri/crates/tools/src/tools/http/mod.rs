//! `http`: a single request to a URL.
//!
//! Owns the rule which requests need no approval: a GET or HEAD with content negotiation headers only, to a host that
//! the job grants, or, for a job without hosts, to any public address and the hosts of the settings. Other methods,
//! bodies, other headers (any could carry a key) and other hosts need an approval. If the job lists hosts, redirects
//! stay on the list and on the requested host; a call that a person has written into the job needs no approval, so the
//! first hop stays on the list too.
//!
//! Never lets an argument loosen the limits: `http_guard` enforces the limits on every hop.

mod request;
#[cfg(test)]
mod tests;

use rouse_core::approval::Surroundings;
use rouse_core::policy::ApprovedCall;
use rouse_core::text::escape_invisible;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Destination, MAX_OUTPUT_BYTES, SandboxMode, Tool,
    ToolContext, ToolOutput, ToolSpec,
};
use serde_json::{Value, json};

use crate::arguments;
use crate::http_guard::{
    Fetcher, HttpConfig, HttpRequest, TextResponse, WEB_RATE_LIMIT, is_host_allowed, is_host_named,
};
use crate::output::{OUTPUT_OVERHEAD, ToolFailure as _};
use crate::spec::{object_schema, read_only_spec};
use request::{Arguments, MAX_BODY_BYTES};

/// Credential headers.
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

/// Largest offset into a body.
const MAX_OFFSET: usize = 16 << 20;

pub(crate) struct Http {
    spec: ToolSpec,
    fetcher: Fetcher,
    max_bytes: usize,
}

impl Http {
    pub(crate) fn new(config: HttpConfig) -> Self {
        let description = "Sends a request to a public URL; for pages use web_fetch. A long body continues at nextOffset. A status of 400 or more is an error.";
        let parameters = object_schema(
            &["url"],
            json!({
                "url": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "method": { "type": "string", "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] },
                "headers": {
                    "type": "object",
                    "maxProperties": 20,
                    "additionalProperties": { "type": "string", "maxLength": 4_096 },
                },
                "body": { "type": "string", "maxLength": MAX_BODY_BYTES },
                "json": { "description": "Instead of body." },
                "maxBytes": { "type": "integer", "minimum": 1 },
                "offset": { "type": "integer", "minimum": 0, "maximum": MAX_OFFSET },
            }),
        );
        let base = read_only_spec("http", "HTTP request", description, parameters);
        let spec = ToolSpec {
            annotations: Annotations::ANYTHING,
            rate: WEB_RATE_LIMIT,
            untrusted_output: true,
            sensitive: SENSITIVE.iter().map(|header| format!("headers.{header}")).collect(),
            ..base
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
            Err(error) => return arguments::invalid_arguments(error.to_string()),
        };
        // A caller that chooses the cut could split a secret, and no half would be recognised.
        let cuts = [
            request.range_header().map(|header| format!("headers.{header}")),
            arguments.max_bytes.map(|_| "maxBytes".to_owned()),
            (arguments.offset > 0).then(|| "offset".to_owned()),
        ];
        if has_secret && let Some(cut) = cuts.into_iter().flatten().next() {
            return arguments::invalid_arguments(format!(
                "{cut} cannot be combined with a stored secret: a part of its value could come back unrecognised."
            ));
        }
        let limit = arguments.max_bytes.unwrap_or(self.max_bytes).min(self.max_bytes);
        let max_bytes = arguments.offset + limit;
        let request = HttpRequest { max_bytes, has_secret, ..request.restricted_to(sandbox) };
        match self.fetcher.send(request).await {
            Ok(page) => {
                let mut page = select_part(page, arguments, has_secret, sandbox);
                let (fault, words) = (page.fault(), page.error_summary());
                // A server could draw the secret, and no redaction looks into images.
                let attachment = page.attachment.take().filter(|_| !has_secret);
                let attachments = attachment.into_iter().collect();
                ToolOutput { fault, words, attachments, ..ToolOutput::ok(page.into_value()) }
            }
            Err(error) => {
                let is_uncertain = error.may_have_arrived() && !arguments.annotations().read_only;
                let note = if is_uncertain { " It may have been carried out anyway." } else { "" };
                ToolOutput::faulty(error.fault(), format!("{error}{note}"))
            }
        }
    }

    fn needs_approval(arguments: &Value, sandbox: &SandboxMode) -> bool {
        let Ok(arguments) = arguments::parse::<Arguments>(arguments) else { return true };
        let Ok(request) = arguments.request() else { return true };
        !(arguments.is_plain_read() && is_host_allowed(&request.target, sandbox))
    }
}

/// Selects the part of a body that fits into the model's window. A call written by a person gets the whole body.
fn select_part(
    page: TextResponse,
    arguments: &Arguments,
    has_secret: bool,
    sandbox: &SandboxMode,
) -> TextResponse {
    let is_by_person = matches!(sandbox, SandboxMode::ByPersonUnsandboxed { .. });
    let room = if is_by_person { usize::MAX } else { MAX_OUTPUT_BYTES - OUTPUT_OVERHEAD };
    let page = page.select_chunk(arguments.offset, room);
    let next = page.next.filter(|_| arguments.is_resumable() && !has_secret);
    let page = TextResponse { next, ..page };
    if has_secret { page.without_tail() } else { page }
}

impl Tool for Http {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn argument_error(&self, arguments: &Value) -> Option<String> {
        let arguments = arguments::parse::<Arguments>(arguments).ok()?;
        arguments.request().err().map(|error| error.to_string())
    }

    fn approval(&self, arguments: &Value, context: &ToolContext) -> ApprovalRule {
        if Self::needs_approval(arguments, &context.sandbox) {
            ApprovalRule::UnlessGranted
        } else {
            ApprovalRule::Never
        }
    }

    fn annotations(&self, arguments: &Value) -> Annotations {
        let parsed = arguments::parse::<Arguments>(arguments);
        parsed.map_or(self.spec.annotations, |arguments| arguments.annotations())
    }

    /// Redirects carry neither headers, nor a body, nor a secret to another origin.
    fn destination(&self, arguments: &Value) -> Option<Destination> {
        let arguments = arguments::parse::<Arguments>(arguments).ok()?;
        Some(arguments.request().ok()?.target.destination())
    }

    /// A URL can carry data out, unless a person has named the host.
    fn has_egress(&self, arguments: &Value, context: &ToolContext) -> bool {
        let Ok(arguments) = arguments::parse::<Arguments>(arguments) else { return true };
        let Ok(request) = arguments.request() else { return true };
        !(arguments.is_plain_read() && is_host_named(&request.target, context))
    }

    fn preview<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, String> {
        let shown = match arguments::parse::<Arguments>(arguments) {
            Ok(arguments) => arguments.describe(),
            Err(error) => format!("{error}\n\n{arguments:#}"),
        };
        Box::pin(std::future::ready(escape_invisible(&shown)))
    }

    /// Refuses an impossible request before the approval, as far as that needs no network.
    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let request = arguments::parse::<Arguments>(arguments)
            .and_then(|arguments| arguments.request().map_err(|error| error.to_string()));
        let surroundings = match request {
            Err(message) => Err(arguments::invalid_arguments(message)),
            Ok(request) => match self.fetcher.check(&request.restricted_to(&context.sandbox)) {
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
            match arguments::parse(call.arguments()) {
                Ok(arguments) => self.send(&arguments, call.has_values(), &context.sandbox).await,
                Err(message) => arguments::invalid_arguments(message),
            }
        })
    }
}
