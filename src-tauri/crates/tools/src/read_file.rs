//! `read_file`: one file of the workspace or of a granted folder: text, or an image or a PDF for the model.
//!
//! How the file is reached is `workspace`'s matter; here is what is read of it: at most the configured number of bytes
//! at once, of which a model gets as much as it can be told, and only text. A file that is too large, binary or in another
//! encoding is an error that says what to ask for instead, because a cut or garbled text that looks whole would be
//! believed; a part says where to go on.

mod decode;
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
    BoxFuture, Fault, SandboxMode, TOLD_BYTES, Tool, ToolContext, ToolOutput, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::answer::{self, Faulty, Told};
use crate::media::{self, MediaError};
use crate::reach::{Reach, Reached};
use crate::spec;
use crate::text::plain_text;
use crate::workspace::{RelativePath, Workspace, WorkspaceError};
use decode::{Piece, decoded};

/// The tool.
pub(crate) struct ReadFile {
    spec: ToolSpec,
    most: u64,
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

#[derive(Debug, Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(
        "{path} has {size} bytes; at most {most} are read at once. Ask for a part with offset and limit."
    )]
    TooLarge { path: RelativePath, size: u64, most: u64 },
    #[error("{path} has {size} bytes; there is nothing at offset {offset}.")]
    PastTheEnd { path: RelativePath, size: u64, offset: u64 },
    #[error("{path} is binary ({size} bytes), not text.")]
    Binary { path: RelativePath, size: u64 },
    #[error("{path} {source}")]
    Media { path: RelativePath, source: MediaError },
    #[error(
        "{path} is not {encoding} text. Say which encoding it is in, for example windows-1252."
    )]
    NotInEncoding { path: RelativePath, encoding: &'static str },
    #[error(
        "There is no encoding {0:?}. Known are utf-8, utf-16le, windows-1252, shift_jis and the others of the web."
    )]
    UnknownEncoding(String),
}

impl Faulty for ReadError {
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
    pub(crate) fn new(most: u64, hidden: Arc<[PathBuf]>) -> Self {
        let description = "Reads a file: text, an image or a PDF. A long text goes on at nextOffset; offset and limit are bytes.";
        let parameters = spec::object(
            &["path"],
            json!({
                "path": { "type": "string", "minLength": 1, "maxLength": 4_096 },
                "encoding": { "type": "string", "maxLength": 40 },
                "offset": { "type": "integer", "minimum": 0 },
                "limit": { "type": "integer", "minimum": 4 },
            }),
        );
        let harmless = spec::harmless(("read_file", "Read a file"), description, parameters);
        Self { spec: ToolSpec { untrusted_output: true, ..harmless }, most, hidden }
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
        let reach = Reach::of(context, &self.hidden);
        let bounds = Bounds::of(self.most, context);
        Box::pin(async move {
            answer::of(call.arguments(), move |arguments| read(&reach, &arguments, bounds)).await
        })
    }
}

/// How much is read at once, and how much of it is told.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    most: u64,
    /// As JSON; none where no model reads it.
    told: Option<usize>,
}

impl Bounds {
    /// Those of a call: a person who has written it gets all that is read.
    pub(crate) fn of(most: u64, context: &ToolContext) -> Self {
        let is_a_persons = matches!(context.sandbox, SandboxMode::ByPersonUnsandboxed { .. });
        Self { most, told: (!is_a_persons).then_some(TOLD_BYTES - BESIDE) }
    }
}

/// Bytes that tell the kind of a file.
const HEAD: u64 = 16;

/// What stands beside the content, and what is shown of it in more letters than it has.
const BESIDE: usize = 6 << 10;

fn read(reach: &Reach, arguments: &Arguments, bounds: Bounds) -> Result<Told, ReadError> {
    let Arguments { path, encoding, offset, limit } = arguments;
    let is_whole = encoding.is_none() && offset.is_none() && limit.is_none();
    let encoding = decode::named(encoding.as_deref())?;
    let Reached { workspace, path, .. } = reach.open(path, FolderAccess::Read)?;
    if is_whole && let Some(told) = read_media(&workspace, &path)? {
        return Ok(told);
    }
    read_part_of(&workspace, path, encoding, (*offset, *limit), bounds)
}

/// An image or a PDF, for a model that reads such files; none for any other file.
fn read_media(workspace: &Workspace, path: &RelativePath) -> Result<Option<Told>, ReadError> {
    let failed = |source| WorkspaceError::Read { path: path.to_string(), source };
    let (mut file, size) = workspace.open_file(path)?;
    let head = read_part(&mut file, 0, HEAD).map_err(failed)?;
    let Some(kind) = MediaKind::of(&head) else { return Ok(None) };
    // One byte more than the limit, so that a larger file is refused as such.
    let most = as_u64(MAX_ATTACHMENT_BYTES) + 1;
    let bytes = read_part(&mut file, 0, most).map_err(failed)?;
    let attachment = media::attachment(&path.to_string(), kind, bytes)
        .map_err(|source| ReadError::Media { path: path.clone(), source })?;
    let words = format!("{path} is a {kind}.");
    Ok(Some(Told {
        value: json!({ "size": size, "type": kind.media_type(), "note": words }),
        words,
        attachment: Some(attachment),
    }))
}

/// The text of a file from `offset` on, at most `limit` bytes.
pub(crate) fn read_part_of(
    workspace: &Workspace,
    path: RelativePath,
    encoding: &'static Encoding,
    (offset, limit): (Option<u64>, Option<u64>),
    Bounds { most, told: room }: Bounds,
) -> Result<Told, ReadError> {
    let (mut file, size) = workspace.open_file(&path)?;
    let offset = offset.unwrap_or(0);
    if limit.is_none() && size.saturating_sub(offset) > most {
        return Err(ReadError::TooLarge { path, size, most });
    }
    if offset > size {
        return Err(ReadError::PastTheEnd { path, size, offset });
    }
    let limit = limit.map_or(most, part_length).min(most);
    let failed = |source| WorkspaceError::Read { path: path.to_string(), source };
    let mut bytes = read_part(&mut file, offset, limit).map_err(failed)?;
    loop {
        let is_last = offset + as_u64(bytes.len()) >= size;
        let text = decoded(&Piece { bytes: &bytes, is_first: offset == 0, is_last }, encoding)
            .map_err(|problem| problem.of(path.clone(), size))?;
        let plain = plain_text(&text.text);
        match room.and_then(|room| shorter(bytes.len(), &plain, room)) {
            Some(shorter) => bytes.truncate(shorter),
            None => return Ok(told(&plain, size, offset, text.used, is_last)),
        }
    }
}

/// How many of so many bytes may fit into `room` as JSON, when their text does not.
fn shorter(bytes: usize, text: &str, room: usize) -> Option<usize> {
    let takes = Value::from(text).to_string().len();
    let fitting = as_u64(bytes) * as_u64(room) / as_u64(takes).max(1);
    // Each time a good deal less, because what is left may take more room than the rest has.
    let fitting = part_length(fitting * 15 / 16);
    (takes > room).then(|| usize::try_from(fitting).unwrap_or(bytes)).filter(|less| *less < bytes)
}

/// A multiple of four: no part is shorter than a character, and no part of UTF-16 ends inside of a unit.
fn part_length(limit: u64) -> u64 {
    (limit / 4 * 4).max(4)
}

fn read_part(file: &mut std::fs::File, offset: u64, limit: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    // The limit, and not the size told before, because the file may be growing.
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The content comes last: whoever shows only the beginning of a long answer still shows where to go on.
fn told(content: &str, size: u64, offset: u64, used: usize, is_last: bool) -> Told {
    let mut value = json!({ "size": size });
    if !is_last {
        value["nextOffset"] = (offset + as_u64(used)).into();
    }
    value["content"] = content.into();
    let words = if content.trim().is_empty() { "(empty)" } else { content };
    Told { value, words: words.to_owned(), ..Told::default() }
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).expect("BUG: a length does not fit 64 bits")
}
