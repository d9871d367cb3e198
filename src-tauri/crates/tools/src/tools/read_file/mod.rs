//! `read_file`: a file of the workspace or of a granted folder: text, or an image or a PDF for the model.
//!
//! Reads at most the configured number of bytes, of which a model gets what fits into an output. A file that is too large, binary or
//! in another encoding is an error with the remedy, because a truncated or garbled text would be believed; a part names the offset of
//! the rest.

mod text_decoding;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use encoding_rs::Encoding;
use rouse_core::attachment::{MAX_ATTACHMENT_BYTES, MediaKind};
use rouse_core::job::FolderAccess;
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{
    BoxFuture, Fault, MAX_OUTPUT_BYTES, SandboxMode, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::media::{self, MediaError};
use crate::output::{self, OUTPUT_OVERHEAD, ToolFailure, ToolResult};
use crate::spec::{object_schema, read_only_spec};
use crate::text::plain_text;
use crate::workspace::{RelativePath, ResolvedPath, RunFolders, Workspace, WorkspaceError};
use text_decoding::{DecodeError, FilePart, decode_part};

pub(crate) struct ReadFile {
    spec: ToolSpec,
    max_bytes: u64,
    hidden: Arc<[PathBuf]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    encoding: Option<String>,
    offset: Option<u64>,
    limit: Option<u64>,
}

/// Failure to read a file, in words for the caller.

#[derive(Debug, Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(
        "{path} has {size} bytes; at most {max_bytes} are read at once. Request a part with offset and limit."
    )]
    TooLarge { path: RelativePath, size: u64, max_bytes: u64 },
    #[error("{path} has {size} bytes; offset {offset} is past the end.")]
    PastTheEnd { path: RelativePath, size: u64, offset: u64 },
    #[error("{path} is binary ({size} bytes), not text.")]
    Binary { path: RelativePath, size: u64 },
    #[error("{path} {source}")]
    Media { path: RelativePath, source: MediaError },
    #[error("{path} is not {encoding} text. Give its encoding, for example windows-1252.")]
    NotInEncoding { path: RelativePath, encoding: &'static str },
    #[error(
        "Unknown encoding {0:?}. Known are utf-8, utf-16le, windows-1252, shift_jis and the others of the web."
    )]
    UnknownEncoding(String),
}

impl ToolFailure for ReadError {
    fn fault(&self) -> Fault {
        match self {
            Self::Workspace(error) => error.fault(),
            Self::TooLarge { .. } | Self::PastTheEnd { .. } | Self::UnknownEncoding(_) => {
                Fault::InvalidParameters
            }
            Self::Binary { .. } | Self::NotInEncoding { .. } | Self::Media { .. } => {
                Fault::Execution
            }
        }
    }
}

impl ReadFile {
    pub(crate) fn new(max_bytes: u64, hidden: Arc<[PathBuf]>) -> Self {
        let description = "Reads a file: text, an image or a PDF. A long text continues at nextOffset; offset and limit are bytes.";
        let parameters = object_schema(
            &["path"],
            json!({
                "path": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "encoding": { "type": "string", "maxLength": 40 },
                "offset": { "type": "integer", "minimum": 0 },
                "limit": { "type": "integer", "minimum": 4 },
            }),
        );
        let base = read_only_spec("read_file", "Read a file", description, parameters);
        Self { spec: ToolSpec { untrusted_output: true, ..base }, max_bytes, hidden }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let folders = RunFolders::new(context, &self.hidden);
        let limits = ReadLimits::new(self.max_bytes, context);
        Box::pin(async move {
            output::run_tool(call.arguments(), move |arguments| read(&folders, &arguments, limits))
                .await
        })
    }
}

/// Limits of a read.
#[derive(Clone, Copy)]
pub(crate) struct ReadLimits {
    max_bytes: u64,
    /// Limit of the content as JSON, for a model.
    max_json_bytes: Option<usize>,
}

impl ReadLimits {
    /// A call written by a person gets everything that is read.
    pub(crate) fn new(max_bytes: u64, context: &ToolContext) -> Self {
        let is_by_person = matches!(context.sandbox, SandboxMode::ByPersonUnsandboxed { .. });
        let max_json_bytes = (!is_by_person).then_some(MAX_OUTPUT_BYTES - OUTPUT_OVERHEAD);
        Self { max_bytes, max_json_bytes }
    }
}

/// The requested part of a file, in bytes.
#[derive(Clone, Copy, Default)]
pub(crate) struct PartRange {
    pub(crate) offset: Option<u64>,
    pub(crate) limit: Option<u64>,
}

/// Bytes that identify the kind of a file.
const MAGIC_BYTES: u64 = 16;

fn read(
    folders: &RunFolders,
    arguments: &Arguments,
    limits: ReadLimits,
) -> Result<ToolResult, ReadError> {
    let Arguments { path, encoding: label, offset, limit } = arguments;
    let is_whole = label.is_none() && offset.is_none() && limit.is_none();
    let encoding = text_decoding::find_encoding(label.as_deref())
        .ok_or_else(|| ReadError::UnknownEncoding(label.clone().unwrap_or_default()))?;
    let ResolvedPath { workspace, path, .. } = folders.resolve(path, FolderAccess::Read)?;
    if is_whole && let Some(result) = read_media(&workspace, &path)? {
        return Ok(result);
    }
    let range = PartRange { offset: *offset, limit: *limit };
    read_text_part(&workspace, path, encoding, range, limits)
}

/// Reads an image or a PDF; `None` for any other file.
fn read_media(workspace: &Workspace, path: &RelativePath) -> Result<Option<ToolResult>, ReadError> {
    let failed = |source| WorkspaceError::Read { path: path.to_string(), source };
    let (mut file, size) = workspace.open_file(path)?;
    let head = read_bytes(&mut file, 0, MAGIC_BYTES).map_err(failed)?;
    let Some(kind) = MediaKind::of(&head) else { return Ok(None) };
    // A byte more than the limit, so that a larger file is recognised.
    let limit = as_u64(MAX_ATTACHMENT_BYTES) + 1;
    let bytes = read_bytes(&mut file, 0, limit).map_err(failed)?;
    let attachment = media::attachment(&path.to_string(), kind, bytes)
        .map_err(|source| ReadError::Media { path: path.clone(), source })?;
    let summary = format!("{path} is a {kind}.");
    Ok(Some(ToolResult {
        value: json!({ "size": size, "type": kind.media_type(), "note": summary }),
        summary,
        attachment: Some(attachment),
    }))
}

/// Reads a part of a text file.
pub(crate) fn read_text_part(
    workspace: &Workspace,
    path: RelativePath,
    encoding: &'static Encoding,
    range: PartRange,
    ReadLimits { max_bytes, max_json_bytes }: ReadLimits,
) -> Result<ToolResult, ReadError> {
    let (mut file, size) = workspace.open_file(&path)?;
    let offset = range.offset.unwrap_or(0);
    if range.limit.is_none() && size.saturating_sub(offset) > max_bytes {
        return Err(ReadError::TooLarge { path, size, max_bytes });
    }
    if offset > size {
        return Err(ReadError::PastTheEnd { path, size, offset });
    }
    let limit = range.limit.map_or(max_bytes, round_to_units).min(max_bytes);
    let failed = |source| WorkspaceError::Read { path: path.to_string(), source };
    let mut bytes = read_bytes(&mut file, offset, limit).map_err(failed)?;
    loop {
        let is_last = offset + as_u64(bytes.len()) >= size;
        let part = FilePart { bytes: &bytes, is_first: offset == 0, is_last };
        let decoded = decode_part(&part, encoding).map_err(|error| match error {
            DecodeError::Binary => ReadError::Binary { path: path.clone(), size },
            DecodeError::Invalid(encoding) => {
                ReadError::NotInEncoding { path: path.clone(), encoding: encoding.name() }
            }
        })?;
        let plain = plain_text(&decoded.text);
        match max_json_bytes.and_then(|max| reduced_length(bytes.len(), &plain, max)) {
            Some(length) => bytes.truncate(length),
            None => return Ok(part_result(&plain, size, offset, decoded.used, is_last)),
        }
    }
}

/// Estimates how many of the bytes fit into `max_json_bytes`; `None` if all do.
fn reduced_length(bytes: usize, text: &str, max_json_bytes: usize) -> Option<usize> {
    let json_bytes = Value::from(text).to_string().len();
    let fitting = as_u64(bytes) * as_u64(max_json_bytes) / as_u64(json_bytes).max(1);
    // A margin, because the remaining text may take more escapes than the rest.
    let fitting = round_to_units(fitting * 15 / 16);
    (json_bytes > max_json_bytes)
        .then(|| usize::try_from(fitting).unwrap_or(bytes))
        .filter(|length| *length < bytes)
}

/// Rounds to a multiple of four: a part holds at least 1 character and no half of a UTF-16 unit.
fn round_to_units(limit: u64) -> u64 {
    (limit / 4 * 4).max(4)
}

fn read_bytes(file: &mut std::fs::File, offset: u64, limit: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    // Bounded by the limit instead of the size, because the file may grow.
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The content is the last field, so that a truncated value keeps the others.
fn part_result(content: &str, size: u64, offset: u64, used: usize, is_last: bool) -> ToolResult {
    let mut value = json!({ "size": size });
    if !is_last {
        value["nextOffset"] = (offset + as_u64(used)).into();
    }
    value["content"] = content.into();
    let summary = if content.trim().is_empty() { "(empty)" } else { content };
    ToolResult { value, summary: summary.to_owned(), ..ToolResult::default() }
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).expect("BUG: a length does not fit 64 bits")
}
