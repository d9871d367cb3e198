//! `web_fetch`: a web page as text for a model.
//!
//! Owns the sequence: fetch through `http_guard`, read in a sandboxed child process, compare with the job's last fetch,
//! return a chunk. Approvals follow the rules of a GET of `http`. Never parses a page in this process. Never sends a
//! stored secret: a chunk could hold half of the secret. Pitfall: the tool's domain is `InProcess`, because the request
//! leaves from here; `Container` would mean that nothing leaves the sandbox.

mod reader_process;
pub(crate) mod reader;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderValue};
use rouse_core::approval::Surroundings;
use rouse_core::attachment::{Attachment, MediaKind};
use rouse_core::fetch_history::{FetchHistory, PastFetch};
use rouse_core::policy::ApprovedCall;
use rouse_core::text::escape_invisible;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Destination, MAX_OUTPUT_BYTES, SandboxMode, Tool,
    ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::http_guard::{
    FetchError, Fetcher, HttpConfig, HttpRequest, RawResponse, TextResponse, UrlTarget,
    WEB_RATE_LIMIT, is_host_allowed, is_host_named,
};
use crate::output::{OUTPUT_OVERHEAD, ToolFailure as _};
use crate::spec::{object_schema, read_only_spec};
use crate::text_chunk::{TextChunk, chunk_at};
use crate::{arguments, media};
use reader::PageText;
pub use reader_process::ReaderProgram;
use reader_process::{ReaderError, ReaderProcess};

/// Limit of a response as received.
const MAX_RESPONSE_BYTES: usize = 10 << 20;

/// Limit of an error response.
const MAX_ERROR_BYTES: usize = 16 << 10;

/// Size of a chunk for a model.
const CHUNK_BYTES: usize = 32 << 10;

pub(crate) struct WebFetch {
    spec: ToolSpec,
    fetcher: Fetcher,
    reader: ReaderProcess,
    history: Arc<dyn FetchHistory>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    url: String,
    #[serde(default)]
    offset: usize,
}

#[derive(Debug, thiserror::Error)]
enum WebFetchError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(transparent)]
    Reader(#[from] ReaderError),
}

impl WebFetchError {
    fn output(&self) -> ToolOutput {
        match self {
            Self::Fetch(error) => ToolOutput::faulty(error.fault(), error.to_string()),
            Self::Reader(error) => ToolOutput::faulty(error.fault(), error.to_string()),
        }
    }
}

impl Arguments {
    fn target(&self) -> Result<UrlTarget, String> {
        UrlTarget::parse(&self.url).map_err(|error| error.to_string())
    }

    fn parse_with_target(arguments: &Value) -> Result<(Self, UrlTarget), String> {
        let arguments: Self = arguments::parse(arguments)?;
        let target = arguments.target()?;
        Ok((arguments, target))
    }
}

impl WebFetch {
    pub(crate) fn new(
        config: &HttpConfig,
        program: ReaderProgram,
        history: Arc<dyn FetchHistory>,
    ) -> Self {
        let description = "Reads a web page: HTML as Markdown, PDF as text, images. nextOffset: offset of the rest. changed: since the job's last successful run.";
        let parameters = object_schema(
            &["url"],
            json!({
                "url": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "offset": { "type": "integer", "minimum": 0 },
            }),
        );
        let base = read_only_spec("web_fetch", "Read a web page", description, parameters);
        let spec = ToolSpec {
            annotations: Annotations { open_world: true, ..Annotations::READS },
            approval: ApprovalRule::Never,
            rate: WEB_RATE_LIMIT,
            untrusted_output: true,
            ..base
        };
        let reader = ReaderProcess::new(program);
        Self { spec, fetcher: Fetcher::new(config), reader, history }
    }

    async fn fetch_page(
        &self,
        arguments: &Arguments,
        target: UrlTarget,
        context: &ToolContext,
    ) -> Result<ToolOutput, WebFetchError> {
        let host = target.host().to_string();
        let response = self.fetcher.fetch(page_request(target, &context.sandbox)).await?;
        if response.fault().is_some() {
            return Ok(error_response(response, host)?);
        }
        let (status, url) = (response.status, response.url.clone());
        let content_type = response.content_type.clone();
        let (page, attachment) = self.read(response, context).await?;
        let content = attachment.as_ref().and_then(|file| file.data.as_deref());
        let hash = hash_content(content.unwrap_or(page.text.as_bytes()));
        let past = self.last_fetch(arguments, context).await;
        let chunk = chunk_at(&page.text, arguments.offset, chunk_limit(&context.sandbox));
        let mut value = json!({ "status": status, "url": url, "contentType": content_type });
        if let Some(title) = page.title.as_ref().filter(|title| !title.is_empty()) {
            value["title"] = title.as_str().into();
        }
        if let Some(note) = &page.note {
            value["note"] = note.as_str().into();
        }
        // A job without a model compares the whole result itself (`notifyWhen`).
        if !is_by_person(&context.sandbox) {
            value["changed"] = past.as_ref().map(|past| past.content_hash != hash).into();
            let at = past.and_then(|past| chrono::DateTime::from_timestamp_millis(past.at.0));
            value["lastFetchedAt"] = at.map(|at| at.to_rfc3339()).into();
        }
        value["contentHash"] = hash.into();
        let attachments = attachment.into_iter().collect();
        Ok(ToolOutput { attachments, ..add_chunk(value, &page, &chunk) })
    }

    /// Reads a response as text; attaches an image, or a PDF without text.
    async fn read(
        &self,
        response: RawResponse,
        context: &ToolContext,
    ) -> Result<(PageText, Option<Attachment>), ReaderError> {
        let is_whole = response.content_encoding.is_none() && !response.body.is_truncated;
        let media = MediaKind::of(&response.body.bytes).filter(|_| is_whole);
        let Some(kind) = media else {
            return Ok((self.reader.read(response, &context.pending_cleanup).await?, None));
        };
        let (url, bytes) = (response.url.clone(), response.body.bytes.clone());
        let page = if kind.is_image() {
            PageText { title: None, text: String::new(), note: None }
        } else {
            self.reader.read(response, &context.pending_cleanup).await?
        };
        if !page.text.is_empty() {
            return Ok((page, None));
        }
        let (description, attachment) = match media::attachment(&url, kind, bytes) {
            Ok(file) => (format!("The response is a {kind}."), Some(file)),
            Err(error) => (format!("The response {error}"), None),
        };
        let note = match page.note {
            Some(note) => format!("{note} {description}"),
            None => description,
        };
        Ok((PageText { note: Some(note), ..page }, attachment))
    }

    /// The job's last fetch of this URL. Without a readable history there is none.
    async fn last_fetch(&self, arguments: &Arguments, context: &ToolContext) -> Option<PastFetch> {
        let job = context.job_id.as_ref()?;
        match self.history.last(job, &context.run_id, &arguments.url).await {
            Ok(past) => past,
            Err(error) => {
                tracing::warn!(%error, "failed to read a job's earlier fetches");
                None
            }
        }
    }
}

/// The content is the last field, so that a truncated value keeps the others.
fn add_chunk(mut value: Value, page: &PageText, chunk: &TextChunk<'_>) -> ToolOutput {
    value["size"] = page.text.len().into();
    if chunk.has_more {
        value["nextOffset"] = chunk.end.into();
    }
    value["content"] = chunk.text.into();
    let note = page.note.as_deref().unwrap_or("(empty)");
    let shown = if chunk.text.trim().is_empty() { note } else { chunk.text };
    ToolOutput::ok(value).in_words(shown)
}

fn page_request(target: UrlTarget, sandbox: &SandboxMode) -> HttpRequest {
    let mut request = HttpRequest::new(Method::GET, target).restricted_to(sandbox);
    let accept = "text/html, application/xhtml+xml, application/pdf, application/json, text/*;q=0.9, image/*;q=0.8, */*;q=0.5";
    request.headers.insert(ACCEPT, HeaderValue::from_static(accept));
    HttpRequest { max_bytes: MAX_RESPONSE_BYTES, ..request }
}

/// The output of an error status, with the server's text.
fn error_response(mut response: RawResponse, host: String) -> Result<ToolOutput, FetchError> {
    response.body.is_truncated |= response.body.bytes.len() > MAX_ERROR_BYTES;
    response.body.bytes.truncate(MAX_ERROR_BYTES);
    let page = TextResponse::decode(response, MAX_ERROR_BYTES)
        .map_err(|source| FetchError::Encoding { host, source })?;
    let (fault, words) = (page.fault(), page.error_summary());
    Ok(ToolOutput { fault, words, ..ToolOutput::ok(page.into_value()) })
}

const fn is_by_person(sandbox: &SandboxMode) -> bool {
    matches!(sandbox, SandboxMode::ByPersonUnsandboxed { .. })
}

/// A call written by a person gets as much as fits into a result.
fn chunk_limit(sandbox: &SandboxMode) -> usize {
    if is_by_person(sandbox) { MAX_OUTPUT_BYTES - OUTPUT_OVERHEAD } else { CHUNK_BYTES }
}

fn hash_content(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn approval(&self, arguments: &Value, context: &ToolContext) -> ApprovalRule {
        match Arguments::parse_with_target(arguments) {
            Ok((_, target)) if is_host_allowed(&target, &context.sandbox) => ApprovalRule::Never,
            _ => ApprovalRule::UnlessGranted,
        }
    }

    fn argument_error(&self, arguments: &Value) -> Option<String> {
        let arguments = arguments::parse::<Arguments>(arguments).ok()?;
        arguments.target().err()
    }

    /// Never takes a stored secret.
    fn destination(&self, _: &Value) -> Option<Destination> {
        None
    }

    /// A URL can carry data out, unless a person has named the host.
    fn has_egress(&self, arguments: &Value, context: &ToolContext) -> bool {
        let parsed = Arguments::parse_with_target(arguments);
        !parsed.is_ok_and(|(_, target)| is_host_named(&target, context))
    }

    fn preview<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, String> {
        let shown = match arguments::parse::<Arguments>(arguments) {
            Ok(arguments) => format!("GET {}\n", arguments.url),
            Err(error) => format!("{error}\n\n{arguments:#}"),
        };
        Box::pin(std::future::ready(escape_invisible(&shown)))
    }

    /// Refuses an impossible call before the approval.
    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Surroundings, ToolOutput>> {
        let checked = match Arguments::parse_with_target(arguments) {
            Err(message) => Err(arguments::invalid_arguments(message)),
            Ok((_, target)) => self
                .fetcher
                .check(&page_request(target, &context.sandbox))
                .map(|()| Surroundings::default())
                .map_err(|error| ToolOutput::faulty(error.fault(), error.to_string())),
        };
        Box::pin(std::future::ready(checked))
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match Arguments::parse_with_target(call.arguments()) {
                Err(message) => arguments::invalid_arguments(message),
                Ok((arguments, target)) => {
                    let output = self.fetch_page(&arguments, target, context).await;
                    output.unwrap_or_else(|error| error.output())
                }
            }
        })
    }
}
