//! HEARTBEAT.md: the person's standing tasks for the heartbeat, and their taint.
//!
//! HEARTBEAT.md is an instruction, and lies in the workspace, where tools write. So its content is compared before and
//! after every call with side effects. A change during such a call taints the list: it is untrusted input until a
//! person has reviewed it. Any other change is the person's, and so is a call that a person has approved word for word.
//! The start of a call is recorded first, so that a crash hides no change. Each workspace has its own record. Never
//! follows a link, which could reach outside the sandbox. Parallel calls, and a manual edit during a call, count as the
//! agent's; an unreadable record counts as tainted. Pitfall: compare the content, not the writer; a file can be changed
//! in many ways.

mod content;

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rouse_core::Clock;
use rouse_core::event::EventKind;
use rouse_core::tool::ToolContext;
use rouse_store::{Store, StoreError, StoredSetting};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

pub(crate) use content::has_tasks;

/// The file's name in the workspace.
pub(crate) const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// The most bytes of the file.
const MAX_BYTES: u64 = 64 << 10;

/// The prefix of the setting with a workspace's record.
const SETTING_PREFIX: &str = "heartbeat.list:";

/// The list of each workspace, with the taint.
pub struct HeartbeatList {
    store: Store,
    clock: Arc<dyn Clock>,
    /// The number of calls with side effects in progress.
    calls: Arc<AtomicUsize>,
    records: Mutex<HashMap<PathBuf, WorkspaceRecord>>,
}

/// The record of a workspace, and the setting.
#[derive(Debug, Clone)]
struct WorkspaceRecord {
    setting: String,
    state: ListState,
}

/// The last known state of a list, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListState {
    digest: String,
    /// Why the list is tainted, until a person has reviewed it.
    doubt: Option<ListTaint>,
    /// A call that has begun and has no recorded end.
    at_work: Option<ListChange>,
}

/// Why a list is tainted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ListTaint {
    /// The content has changed during this call.
    ChangedBy(ListChange),
    /// The stored record cannot be read.
    #[serde(rename = "forgotten")]
    RecordLost,
}

impl ListTaint {
    /// The reason, for a person.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::ChangedBy(change) => change.in_words(),
            Self::RecordLost => format!(
                "The last change of {HEARTBEAT_FILE} is unknown, because Rouse's record of the file cannot be read"
            ),
        }
    }

    /// The run that may have changed the list.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        match self {
            Self::ChangedBy(change) => Some(&change.run_id),
            Self::RecordLost => None,
        }
    }
}

/// A call that may have changed the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListChange {
    /// The tool of the call.
    pub tool: String,
    /// The run of the call.
    pub run_id: String,
    /// The run's job; none for a turn of the main session.
    pub job_name: Option<String>,
    /// The time of the call.
    pub at_ms: i64,
}

impl ListChange {
    pub(crate) fn of(tool: &str, context: &ToolContext, at_ms: i64) -> Self {
        let job_name = context.job_id.is_some().then(|| context.job_name.clone());
        Self { tool: tool.to_owned(), run_id: context.run_id.to_string(), job_name, at_ms }
    }

    fn in_words(&self) -> String {
        let run = self.job_name.as_ref().map_or_else(
            || "a turn of the main session".to_owned(),
            |name| format!("a run of “{name}”"),
        );
        format!("{HEARTBEAT_FILE} was changed while {} of {run} was at work", self.tool)
    }
}

/// The current list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListContent {
    /// The text; none without a file.
    pub text: Option<String>,
    /// The digest of the text.
    pub digest: String,
    /// Why the list is tainted.
    pub taint: Option<ListTaint>,
}

/// Why the list cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The file cannot be read.
    #[error("{HEARTBEAT_FILE} could not be read: {0}")]
    File(#[from] io::Error),
    /// The record cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A call with side effects in progress; ends when dropped.
pub(crate) struct WatchedCall {
    calls: Arc<AtomicUsize>,
    change: ListChange,
    was_alone: bool,
}

impl Drop for WatchedCall {
    fn drop(&mut self) {
        self.calls.fetch_sub(1, Ordering::SeqCst);
    }
}

impl HeartbeatList {
    pub(crate) fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, calls: Arc::default(), records: Mutex::default() }
    }

    /// Reads the list of a workspace.
    ///
    /// # Errors
    /// When the file or the record cannot be read.
    pub async fn read(&self, workspace: &Path) -> Result<ListContent, ListError> {
        let mut records = self.records.lock().await;
        let text = read(workspace).await?;
        let record = self.update(&mut records, workspace, digest(text.as_deref())).await?;
        let ListState { digest, doubt, .. } = record.state.clone();
        Ok(ListContent { text, digest, taint: doubt })
    }

    /// Clears the taint after a person has reviewed the content of this digest; false when the content has changed
    /// since.
    ///
    /// # Errors
    /// When the file cannot be read, or the record cannot be written.
    pub async fn trust(&self, workspace: &Path, reviewed: &str) -> Result<bool, ListError> {
        let mut records = self.records.lock().await;
        let current = digest(read(workspace).await?.as_deref());
        let record = self.update(&mut records, workspace, current).await?;
        if record.state.digest != reviewed {
            return Ok(false);
        }
        let state = ListState { doubt: None, ..record.state.clone() };
        let event = (EventKind::Heartbeat, json!({ "list": "trusted" }));
        self.write(&record.setting, &state, Some(event)).await?;
        record.state = state;
        Ok(true)
    }

    /// Records the beginning of a call with side effects.
    pub(crate) async fn begin_call(
        &self,
        workspace: &Path,
        change: ListChange,
    ) -> Result<WatchedCall, StoreError> {
        let mut records = self.records.lock().await;
        let digest = current_digest(workspace).await;
        let record = self.update(&mut records, workspace, digest).await?;
        let state = record.state.clone();
        let at_work = state.at_work.or_else(|| Some(change.clone()));
        self.set(record, ListState { at_work, ..state }).await?;
        let was_alone = self.calls.fetch_add(1, Ordering::SeqCst) == 0;
        Ok(WatchedCall { calls: Arc::clone(&self.calls), change, was_alone })
    }

    /// Records the end of a call. `was_approved` if a person has approved the written content word for word.
    pub(crate) async fn end_call(
        &self,
        call: WatchedCall,
        workspace: &Path,
        was_approved: bool,
    ) -> Result<(), StoreError> {
        let mut records = self.records.lock().await;
        let Some(record) = records.get_mut(workspace) else { return Ok(()) };
        let (state, digest) = (record.state.clone(), current_digest(workspace).await);
        let is_last = self.calls.load(Ordering::SeqCst) == 1;
        let doubt = if state.digest == digest {
            state.doubt
        } else if was_approved && is_last && call.was_alone {
            None
        } else {
            Some(ListTaint::ChangedBy(call.change.clone()))
        };
        let at_work = state.at_work.filter(|_| !is_last);
        drop(call);
        self.set(record, ListState { digest, doubt, at_work }).await
    }

    /// Updates the record to the current content. A change without a call in progress is the person's.
    async fn update<'a>(
        &self,
        records: &'a mut HashMap<PathBuf, WorkspaceRecord>,
        workspace: &Path,
        digest: String,
    ) -> Result<&'a mut WorkspaceRecord, StoreError> {
        if !records.contains_key(workspace) {
            records.insert(workspace.to_owned(), self.load(workspace, &digest).await?);
        }
        let record = records.get_mut(workspace).expect("BUG: the record was inserted");
        let before = record.state.clone();
        let is_idle = self.calls.load(Ordering::SeqCst) == 0;
        // A recorded call without any call in progress was cut off by a crash.
        let doubt = if before.digest == digest {
            before.doubt
        } else {
            before.at_work.clone().map(ListTaint::ChangedBy)
        };
        let at_work = before.at_work.filter(|_| !is_idle);
        self.set(record, ListState { digest, doubt, at_work }).await?;
        Ok(record)
    }

    /// Loads the record of an earlier process.
    async fn load(&self, workspace: &Path, digest: &str) -> Result<WorkspaceRecord, StoreError> {
        let setting = setting_name(workspace).await;
        let untainted = ListState { digest: digest.to_owned(), doubt: None, at_work: None };
        let stored = match self.store.stored_setting(&setting).await? {
            StoredSetting::Value(stored) => serde_json::from_value(stored).ok(),
            StoredSetting::Unreadable => None,
            // The first content that Rouse sees is the person's.
            StoredSetting::Absent => Some(untainted.clone()),
        };
        let state = stored.unwrap_or_else(|| ListState {
            // A missing file holds no instruction.
            doubt: (!digest.is_empty()).then_some(ListTaint::RecordLost),
            ..untainted
        });
        self.write(&setting, &state, None).await?;
        Ok(WorkspaceRecord { setting, state })
    }

    async fn set(&self, record: &mut WorkspaceRecord, state: ListState) -> Result<(), StoreError> {
        if record.state != state {
            self.write(&record.setting, &state, None).await?;
            record.state = state;
        }
        Ok(())
    }

    async fn write(
        &self,
        setting: &str,
        state: &ListState,
        event: Option<(EventKind, Value)>,
    ) -> Result<(), StoreError> {
        let stored = serde_json::to_value(state).expect("BUG: a list state is JSON");
        self.store.put_setting(setting, &stored, event, self.clock.now()).await
    }
}

impl std::fmt::Debug for HeartbeatList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeartbeatList").finish_non_exhaustive()
    }
}

/// The setting of a workspace's record, the same for all paths of the workspace.
async fn setting_name(workspace: &Path) -> String {
    let path = workspace.to_owned();
    let real = tokio::task::spawn_blocking(move || path.canonicalize()).await;
    let real = real.ok().and_then(Result::ok).unwrap_or_else(|| workspace.to_owned());
    format!("{SETTING_PREFIX}{:x}", Sha256::digest(real.as_os_str().as_encoded_bytes()))
}

/// The digest of the current content; an unreadable file differs from any content.
async fn current_digest(workspace: &Path) -> String {
    match read(workspace).await {
        Ok(text) => digest(text.as_deref()),
        Err(error) => format!("unread: {}", error.kind()),
    }
}

fn digest(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!("{:x}", Sha256::digest(text)))
}

/// The file's text; none without a file.
async fn read(workspace: &Path) -> io::Result<Option<String>> {
    let path = workspace.join(HEARTBEAT_FILE);
    let read = tokio::task::spawn_blocking(move || read_file(&path)).await;
    read.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn read_file(path: &Path) -> io::Result<Option<String>> {
    let file = match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if !is_plain(&file.metadata()?) {
        let why = "the file is a link, has a second name or is not a regular file. Put the text itself there";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let why = "the file is larger than 64 KiB. Shorten the file";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Opens the file without following a link and without waiting for a pipe.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<std::fs::File> {
    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(opened) => Ok(opened.into()),
        Err(rustix::io::Errno::LOOP) => {
            let why = "the file is a link, and links are not followed. Put the text itself there";
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(unix)]
fn is_plain(file: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    file.is_file() && file.nlink() == 1
}

#[cfg(windows)]
fn open(path: &Path) -> io::Result<std::fs::File> {
    use std::os::windows::fs::OpenOptionsExt as _;

    /// Opens a link itself instead of the target.
    const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    std::fs::OpenOptions::new().read(true).custom_flags(OPEN_REPARSE_POINT).open(path)
}

#[cfg(windows)]
fn is_plain(file: &std::fs::Metadata) -> bool {
    file.is_file() && !file.is_symlink()
}

#[cfg(test)]
mod tests;
