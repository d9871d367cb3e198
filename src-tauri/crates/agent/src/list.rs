//! HEARTBEAT.md: the person's list for the main session, and whether it still is the person's.
//!
//! Owns its reading, and the knowledge of who changed it last. The list is an instruction, and it lies in the workspace, where
//! tools write. So its content is looked at before and after every call that changes something: what is another one after
//! the call was changed while an agent was at work, and is text from outside until a person has looked at it; what is
//! another one at any other time was changed by the person. A change that a person has said yes to word for word is theirs as
//! well. Before a call it is written down that one is at work, so that a crash in the middle hides nothing. Each workspace
//! has a record of its own: a list in another folder is another list.
//!
//! It refuses to follow a link, which would have Rouse read what the sandbox cannot, and to guess: two calls at once, or an
//! edit by hand while one is at work, count as the agent's, and a record that cannot be read is no trust. One could get it
//! wrong by remembering who has written instead of what was there: a file can be changed by many ways, and has one content.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rouse_core::Clock;
use rouse_core::event::EventKind;
use rouse_core::tool::ToolContext;
use rouse_store::{Setting, Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

/// Its name in the workspace.
pub(crate) const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// The most bytes of it that are read.
const MOST_BYTES: u64 = 64 << 10;

/// Where it is kept what was there; the workspace follows.
const KEY: &str = "heartbeat.list:";

/// Keeps an eye on the list.
pub struct HeartbeatList {
    store: Store,
    clock: Arc<dyn Clock>,
    /// Calls that change something and are at work.
    at_work: Arc<AtomicUsize>,
    /// What was there when it was last looked at, by workspace.
    all: Mutex<HashMap<PathBuf, Kept>>,
}

/// What was there, and where that is stored.
#[derive(Debug, Clone)]
struct Kept {
    key: String,
    seen: Seen,
}

/// What was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    digest: String,
    /// Why it may not be the person's, while nobody has looked at that.
    doubt: Option<Doubt>,
    /// A call that has begun and was not seen to end.
    at_work: Option<ChangedBy>,
}

/// Why the list is not taken for the person's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Doubt {
    /// It is another one since this call.
    ChangedBy(ChangedBy),
    /// What was kept about it cannot be read any more.
    Forgotten,
}

impl Doubt {
    /// For a person.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::ChangedBy(by) => by.in_words(),
            Self::Forgotten => format!(
                "Nobody knows who changed {HEARTBEAT_FILE} last, for what Rouse had kept about it cannot be read"
            ),
        }
    }

    /// The run that may have changed it.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        match self {
            Self::ChangedBy(by) => Some(&by.run_id),
            Self::Forgotten => None,
        }
    }
}

/// A call that changed the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangedBy {
    /// Its tool.
    pub tool: String,
    /// Its run.
    pub run_id: String,
    /// The job of that; none for a turn of the main session.
    pub job_name: Option<String>,
    /// When it was noticed.
    pub at_ms: i64,
}

impl ChangedBy {
    pub(crate) fn of(tool: &str, context: &ToolContext, at_ms: i64) -> Self {
        let job_name = context.job_id.is_some().then(|| context.job_name.clone());
        Self { tool: tool.to_owned(), run_id: context.run_id.to_string(), job_name, at_ms }
    }

    fn in_words(&self) -> String {
        let whose = self.job_name.as_ref().map_or_else(
            || "a turn of the main session".to_owned(),
            |name| format!("a run of “{name}”"),
        );
        format!("{HEARTBEAT_FILE} was changed while {} of {whose} was at work", self.tool)
    }
}

/// The list as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListSeen {
    /// What it says; none when it is not there.
    pub text: Option<String>,
    /// Names this content.
    pub digest: String,
    /// Why it may not be the person's, while nobody has looked at that.
    pub doubt: Option<Doubt>,
}

/// Why the list cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The file.
    #[error("{HEARTBEAT_FILE} could not be read: {0}")]
    File(#[from] io::Error),
    /// What was there before.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A call at work. Ends with it, also when nobody waits for the call any more.
pub(crate) struct AtWork {
    count: Arc<AtomicUsize>,
    by: ChangedBy,
    was_alone: bool,
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

impl HeartbeatList {
    pub(crate) fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, at_work: Arc::default(), all: Mutex::default() }
    }

    /// The list, and whose it is.
    ///
    /// # Errors
    /// When the file or the store cannot be read.
    pub async fn look(&self, workspace: &Path) -> Result<ListSeen, ListError> {
        let mut all = self.all.lock().await;
        let text = read(workspace).await?;
        let kept = self.settled(&mut all, workspace, digest(text.as_deref())).await?;
        let Seen { digest, doubt, .. } = kept.seen.clone();
        Ok(ListSeen { text, digest, doubt })
    }

    /// A person has looked at the content that `digest` names; false when it is another one by now.
    ///
    /// # Errors
    /// When the file cannot be read, or the store cannot be written.
    pub async fn trust(&self, workspace: &Path, shown: &str) -> Result<bool, ListError> {
        let mut all = self.all.lock().await;
        let now = digest(read(workspace).await?.as_deref());
        let kept = self.settled(&mut all, workspace, now).await?;
        if kept.seen.digest != shown {
            return Ok(false);
        }
        let known = Seen { doubt: None, ..kept.seen.clone() };
        self.put(&kept.key, &known, Some((EventKind::Heartbeat, json!({ "list": "trusted" }))))
            .await?;
        kept.seen = known;
        Ok(true)
    }

    /// A call that changes something begins.
    pub(crate) async fn begins(
        &self,
        workspace: &Path,
        by: ChangedBy,
    ) -> Result<AtWork, StoreError> {
        let mut all = self.all.lock().await;
        let kept = self.settled(&mut all, workspace, now(workspace).await).await?;
        let known = kept.seen.clone();
        let at_work = known.at_work.or_else(|| Some(by.clone()));
        self.keep(kept, Seen { at_work, ..known }).await?;
        let was_alone = self.at_work.fetch_add(1, Ordering::SeqCst) == 0;
        Ok(AtWork { count: Arc::clone(&self.at_work), by, was_alone })
    }

    /// It has ended. `was_shown` when a person has said yes to every word of it.
    pub(crate) async fn ended(
        &self,
        call: AtWork,
        workspace: &Path,
        was_shown: bool,
    ) -> Result<(), StoreError> {
        let mut all = self.all.lock().await;
        let Some(kept) = all.get_mut(workspace) else { return Ok(()) };
        let (known, digest) = (kept.seen.clone(), now(workspace).await);
        let is_last = self.at_work.load(Ordering::SeqCst) == 1;
        let doubt = match known.digest == digest {
            true => known.doubt,
            false if was_shown && is_last && call.was_alone => None,
            false => Some(Doubt::ChangedBy(call.by.clone())),
        };
        let at_work = known.at_work.filter(|_| !is_last);
        drop(call);
        self.keep(kept, Seen { digest, doubt, at_work }).await
    }

    /// What is known now that `digest` is there. Another content than before is the person's when no call is at work.
    async fn settled<'a>(
        &self,
        all: &'a mut HashMap<PathBuf, Kept>,
        workspace: &Path,
        digest: String,
    ) -> Result<&'a mut Kept, StoreError> {
        if !all.contains_key(workspace) {
            all.insert(workspace.to_owned(), self.stored(workspace, &digest).await?);
        }
        let kept = all.get_mut(workspace).expect("BUG: it was put there");
        let before = kept.seen.clone();
        let is_idle = self.at_work.load(Ordering::SeqCst) == 0;
        // Who is still there when nothing is at work was cut off before the file was looked at again.
        let doubt = match before.digest == digest {
            true => before.doubt,
            false => before.at_work.clone().map(Doubt::ChangedBy),
        };
        let at_work = before.at_work.filter(|_| !is_idle);
        self.keep(kept, Seen { digest, doubt, at_work }).await?;
        Ok(kept)
    }

    /// What an earlier process has kept of this workspace.
    async fn stored(&self, workspace: &Path, digest: &str) -> Result<Kept, StoreError> {
        let key = key(workspace).await;
        let stored = match self.store.stored_setting(&key).await? {
            Setting::Is(stored) => serde_json::from_value(stored).map_err(|_| Doubt::Forgotten),
            Setting::Unreadable => Err(Doubt::Forgotten),
            // What is there when Rouse looks for the first time is the person's.
            Setting::Absent => Ok(Seen { digest: digest.to_owned(), doubt: None, at_work: None }),
        };
        // A list that is not there gives no orders.
        let doubtful = |doubt| Seen {
            digest: digest.to_owned(),
            doubt: Some(doubt).filter(|_| !digest.is_empty()),
            at_work: None,
        };
        let seen = stored.unwrap_or_else(doubtful);
        self.put(&key, &seen, None).await?;
        Ok(Kept { key, seen })
    }

    async fn keep(&self, kept: &mut Kept, known: Seen) -> Result<(), StoreError> {
        if kept.seen != known {
            self.put(&kept.key, &known, None).await?;
            kept.seen = known;
        }
        Ok(())
    }

    async fn put(
        &self,
        key: &str,
        seen: &Seen,
        event: Option<(EventKind, Value)>,
    ) -> Result<(), StoreError> {
        let stored = serde_json::to_value(seen).expect("BUG: texts are JSON");
        self.store.put_setting(key, &stored, event, self.clock.now()).await
    }
}

impl std::fmt::Debug for HeartbeatList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeartbeatList").finish_non_exhaustive()
    }
}

/// Where the record of a workspace is stored, by whichever of its names it is called.
async fn key(workspace: &Path) -> String {
    let path = workspace.to_owned();
    let real = tokio::task::spawn_blocking(move || path.canonicalize()).await;
    let real = real.ok().and_then(Result::ok).unwrap_or_else(|| workspace.to_owned());
    format!("{KEY}{:x}", Sha256::digest(real.as_os_str().as_encoded_bytes()))
}

/// The digest of what is there now; what cannot be read is another content than any.
async fn now(workspace: &Path) -> String {
    match read(workspace).await {
        Ok(text) => digest(text.as_deref()),
        Err(error) => format!("unread: {}", error.kind()),
    }
}

fn digest(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!("{:x}", Sha256::digest(text)))
}

/// The file in the workspace; none when it is not there.
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
        let why = "it is a link, has a second name or is no file. Put the text itself there";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        let why = "it has more than 64 KiB, and no part of it is to be left out without a word. Make it shorter";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Without following a link, and without waiting for a pipe.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<std::fs::File> {
    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(opened) => Ok(opened.into()),
        Err(rustix::io::Errno::LOOP) => {
            let why = "it is a link, which is not followed. Put the text itself there";
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

    /// Opens a link itself and not what it leads to.
    const OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    std::fs::OpenOptions::new().read(true).custom_flags(OPEN_REPARSE_POINT).open(path)
}

#[cfg(windows)]
fn is_plain(file: &std::fs::Metadata) -> bool {
    file.is_file() && !file.is_symlink()
}

#[cfg(test)]
mod tests;
