//! `web_fetch`: a page of the web as text that a model reads.
//!
//! Owns the order: fetch by the rules of `http`, read in a confined child process (`child`), compare with the job's last
//! fetch, return one part. The rules of addresses, ports, redirects and approvals are those of a GET of `http`, by the same
//! code. Never parses a page in this process. Never sends a stored secret: a part of a page could hold half of it.
//! Pitfall: the tool runs `InProcess`, because the request leaves from here; `Container` would tell the gate that nothing
//! leaves the sandbox.

mod child;
pub(crate) mod reader;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderValue};
use rouse_core::attachment::{Attachment, MediaKind};
use rouse_core::fetches::{FetchHistory, PastFetch};
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    Annotations, ApprovalRule, BoxFuture, Destination, SandboxMode, TOLD_BYTES, Tool, ToolContext,
    ToolOutput, ToolSpec,
};
use rouse_core::visible::visible;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::answer::Faulty as _;
use crate::http::{self, Answer, FetchError, Fetcher, HttpConfig, Page, Request, Target};
use crate::piece::{Piece, piece};
use crate::{arguments, media, spec};
pub use child::ReaderProgram;
use child::{ReaderChild, ReaderError};
use reader::Reading;

/// The most bytes of an answer, as they come over the network.
const MOST_BYTES: usize = 10 << 20;

/// The most bytes of an answer that only says what is wrong.
const MOST_ERROR_BYTES: usize = 16 << 10;

/// The most bytes of a part: what a model reads at once without filling its window.
const PART: usize = 32 << 10;

/// The tool.
pub(crate) struct WebFetch {
    spec: ToolSpec,
    fetcher: Fetcher,
    child: ReaderChild,
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
    fn target(&self) -> Result<Target, String> {
        Target::parse(&self.url).map_err(|error| error.to_string())
    }

    fn read(arguments: &Value) -> Result<(Self, Target), String> {
        let arguments: Self = arguments::read(arguments)?;
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
        let description = "Reads a web page: HTML as Markdown, PDF as text, images. nextOffset: where to go on. changed: since the job's last successful run.";
        let parameters = spec::object(
            &["url"],
            json!({
                "url": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "offset": { "type": "integer", "minimum": 0 },
            }),
        );
        let harmless = spec::harmless(("web_fetch", "Read a web page"), description, parameters);
        let spec = ToolSpec {
            annotations: Annotations { open_world: true, ..Annotations::READS },
            // The strictest of its calls: a page of a host that the job does not name.
            approval: ApprovalRule::Never,
            rate: http::RATE,
            untrusted_output: true,
            ..harmless
        };
        Self { spec, fetcher: Fetcher::new(config), child: ReaderChild::new(program), history }
    }

    async fn page(
        &self,
        arguments: &Arguments,
        target: Target,
        context: &ToolContext,
    ) -> Result<ToolOutput, WebFetchError> {
        let host = target.host().to_string();
        let answer = self.fetcher.fetch(request(target, &context.sandbox)).await?;
        if answer.fault().is_some() {
            return Ok(refusal(answer, host)?);
        }
        let (status, url) = (answer.status, answer.url.clone());
        let content_type = answer.content_type.clone();
        let (reading, attachment) = self.read(answer, context).await?;
        let content = attachment.as_ref().and_then(|file| file.data.as_deref());
        let hash = hash_of(content.unwrap_or(reading.text.as_bytes()));
        let past = self.past(arguments, context).await;
        let part = piece(&reading.text, arguments.offset, room(&context.sandbox));
        let mut value = json!({ "status": status, "url": url, "contentType": content_type });
        if let Some(title) = reading.title.as_ref().filter(|title| !title.is_empty()) {
            value["title"] = title.as_str().into();
        }
        if let Some(note) = &reading.note {
            value["note"] = note.as_str().into();
        }
        // A job without a model compares the whole result with the last one by itself (`notifyWhen`).
        if !is_a_persons(&context.sandbox) {
            value["changed"] = past.as_ref().map(|past| past.content_hash != hash).into();
            let at = past.and_then(|past| chrono::DateTime::from_timestamp_millis(past.at.0));
            value["lastFetchedAt"] = at.map(|at| at.to_rfc3339()).into();
        }
        value["contentHash"] = hash.into();
        let attachments = attachment.into_iter().collect();
        Ok(ToolOutput { attachments, ..with_part(value, &reading, &part) })
    }

    /// The text of an answer; an image, or a PDF without text, as a file for the model.
    async fn read(
        &self,
        answer: Answer,
        context: &ToolContext,
    ) -> Result<(Reading, Option<Attachment>), ReaderError> {
        let is_whole = answer.packing.is_none() && !answer.body.is_cut;
        let media = MediaKind::of(&answer.body.bytes).filter(|_| is_whole);
        let Some(kind) = media else {
            return Ok((self.child.read(answer, &context.loose_ends).await?, None));
        };
        let (url, bytes) = (answer.url.clone(), answer.body.bytes.clone());
        let reading = match kind.is_image() {
            true => Reading { title: None, text: String::new(), note: None },
            false => self.child.read(answer, &context.loose_ends).await?,
        };
        if !reading.text.is_empty() {
            return Ok((reading, None));
        }
        let (words, attachment) = match media::attachment(&url, kind, bytes) {
            Ok(file) => (format!("It is a {kind}."), Some(file)),
            Err(error) => (format!("The answer {error}"), None),
        };
        let note = reading.note.map_or(words.clone(), |note| format!("{note} {words}"));
        Ok((Reading { note: Some(note), ..reading }, attachment))
    }

    /// A history that cannot be read is as good as none: the page itself is there.
    async fn past(&self, arguments: &Arguments, context: &ToolContext) -> Option<PastFetch> {
        let job = context.job_id.as_ref()?;
        match self.history.last(job, &context.run_id, &arguments.url).await {
            Ok(past) => past,
            Err(error) => {
                tracing::warn!(%error, "the earlier fetches of a job could not be read");
                None
            }
        }
    }
}

/// The content stands last, so that a reader of only the beginning sees every other field.
fn with_part(mut value: Value, reading: &Reading, part: &Piece<'_>) -> ToolOutput {
    value["size"] = reading.text.len().into();
    if part.has_more {
        value["nextOffset"] = part.end.into();
    }
    value["content"] = part.text.into();
    let note = reading.note.as_deref().unwrap_or("(empty)");
    let words = if part.text.trim().is_empty() { note } else { part.text };
    let words = words.to_owned();
    ToolOutput::ok(value).in_words(&words)
}

fn request(target: Target, sandbox: &SandboxMode) -> Request {
    let mut request = Request::new(Method::GET, target).among(sandbox);
    let wanted = "text/html, application/xhtml+xml, application/pdf, application/json, text/*;q=0.9, image/*;q=0.8, */*;q=0.5";
    request.headers.insert(ACCEPT, HeaderValue::from_static(wanted));
    Request { most: MOST_BYTES, ..request }
}

/// An answer that says "no": the status, and what the server says in a few words.
fn refusal(mut answer: Answer, host: String) -> Result<ToolOutput, FetchError> {
    answer.body.is_cut |= answer.body.bytes.len() > MOST_ERROR_BYTES;
    answer.body.bytes.truncate(MOST_ERROR_BYTES);
    let page = Page::of(answer, MOST_ERROR_BYTES);
    let page = page.map_err(|source| FetchError::Packing { host, source })?;
    let (fault, words) = (page.fault(), page.complaint());
    Ok(ToolOutput { fault, words, ..ToolOutput::ok(page.into_value()) })
}

const fn is_a_persons(sandbox: &SandboxMode) -> bool {
    matches!(sandbox, SandboxMode::ByPersonUnsandboxed { .. })
}

/// A person who has written the call gets as much as fits into a result.
fn room(sandbox: &SandboxMode) -> usize {
    if is_a_persons(sandbox) { TOLD_BYTES - http::BESIDE } else { PART }
}

fn hash_of(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn approval(&self, arguments: &Value, context: &ToolContext) -> ApprovalRule {
        match Arguments::read(arguments) {
            Ok((_, target)) if http::may_look_at(&target, &context.sandbox) => ApprovalRule::Never,
            _ => ApprovalRule::UnlessGranted,
        }
    }

    fn argument_error(&self, arguments: &Value) -> Option<String> {
        let arguments = arguments::read::<Arguments>(arguments).ok()?;
        arguments.target().err()
    }

    /// No stored secret goes along.
    fn destination(&self, _: &Value) -> Option<Destination> {
        None
    }

    /// A URL can carry anything, so a look is a message as well, unless a person has named the host.
    fn sends_out(&self, arguments: &Value, context: &ToolContext) -> bool {
        let read = Arguments::read(arguments);
        !read.is_ok_and(|(_, target)| http::is_named(&target, context))
    }

    fn preview<'a>(&'a self, arguments: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, String> {
        let shown = match arguments::read::<Arguments>(arguments) {
            Ok(arguments) => format!("GET {}\n", arguments.url),
            Err(error) => format!("{error}\n\n{arguments:#}"),
        };
        Box::pin(std::future::ready(visible(&shown)))
    }

    /// A call that can never be made is refused before a person is asked.
    fn surroundings<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<rouse_core::approval::Surroundings, ToolOutput>> {
        let checked = match Arguments::read(arguments) {
            Err(misfit) => Err(arguments::misfit(misfit)),
            Ok((_, target)) => self
                .fetcher
                .check(&request(target, &context.sandbox))
                .map(|()| rouse_core::approval::Surroundings::default())
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
            match Arguments::read(call.arguments()) {
                Err(misfit) => arguments::misfit(misfit),
                Ok((arguments, target)) => {
                    let page = self.page(&arguments, target, context).await;
                    page.unwrap_or_else(|error| error.output())
                }
            }
        })
    }
}
