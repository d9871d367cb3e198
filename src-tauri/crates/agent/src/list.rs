//! HEARTBEAT.md: the person's list for the main session, and whether it still is the person's.
//!
//! Owns its reading, and the knowledge of who changed it last. The list is an instruction, and it lies in the workspace, where
//! tools write. So its content is looked at before and after every call that changes something: what is another one after
//! the call was changed while an agent was at work, and is text from outside until a person has looked at it; what is
//! another one at any other time was changed by the person. A change that a person has said yes to word for word is theirs as
//! well. Before a program is started it is noted that one is at work, so that a crash in the middle hides nothing.
//!
//! It refuses to follow a link, which would have Rouse read what the sandbox cannot, and to guess: two calls at once, or an
//! edit by hand while one is at work, count as the agent's. One could get it wrong by remembering who has written instead
//! of what was there: a file can be changed by many ways, and has one content.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rouse_core::Clock;
use rouse_core::event::EventKind;
use rouse_core::tool::ToolContext;
use rouse_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

/// Its name in the workspace.
pub(crate) const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// The most bytes of it that are read.
const MOST_BYTES: u64 = 64 << 10;

/// Where it is kept what was there.
const KEY: &str = "heartbeat.list";

/// Keeps an eye on the list.
pub struct HeartbeatList {
    store: Store,
    clock: Arc<dyn Clock>,
    /// Calls that change something and are at work.
    at_work: Arc<AtomicUsize>,
    /// What was there when it was last looked at; none until then.
    seen: Mutex<Option<Seen>>,
}

/// What was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    digest: String,
    /// The call that has changed it, while nobody has looked at that.
    changed_by: Option<ChangedBy>,
    /// The program that was started and has not ended.
    at_work: Option<ChangedBy>,
    /// The call that works in this process, and ends with it.
    #[serde(skip)]
    within: Option<ChangedBy>,
}

impl Seen {
    /// Whoever is at work, or was when nobody waited any more.
    fn somebody(&self) -> Option<ChangedBy> {
        self.at_work.clone().or_else(|| self.within.clone())
    }

    fn is_stored_like(&self, other: &Self) -> bool {
        (&self.digest, &self.changed_by, &self.at_work)
            == (&other.digest, &other.changed_by, &other.at_work)
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

    /// For a person.
    #[must_use]
    pub fn in_words(&self) -> String {
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
    /// The call that has changed it, while nobody has looked at that.
    pub changed_by: Option<ChangedBy>,
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
        Self { store, clock, at_work: Arc::default(), seen: Mutex::new(None) }
    }

    /// The list, and whose it is.
    ///
    /// # Errors
    /// When the file or the store cannot be read.
    pub async fn look(&self, workspace: &Path) -> Result<ListSeen, ListError> {
        let mut seen = self.seen.lock().await;
        let text = read(workspace).await?;
        let Seen { digest, changed_by, .. } =
            self.settled(&mut seen, digest(text.as_deref())).await?;
        Ok(ListSeen { text, digest, changed_by })
    }

    /// A person has looked at the content that `digest` names; false when it is another one by now.
    ///
    /// # Errors
    /// When the file cannot be read, or the store cannot be written.
    pub async fn trust(&self, workspace: &Path, shown: &str) -> Result<bool, ListError> {
        let mut seen = self.seen.lock().await;
        let now = digest(read(workspace).await?.as_deref());
        let known = self.settled(&mut seen, now).await?;
        if known.digest != shown {
            return Ok(false);
        }
        let known = Seen { changed_by: None, ..known };
        let stored = serde_json::to_value(&known).expect("BUG: texts are JSON");
        let event = (EventKind::Heartbeat, json!({ "list": "trusted" }));
        self.store.put_setting(KEY, &stored, Some(event), self.clock.now()).await?;
        *seen = Some(known);
        Ok(true)
    }

    /// A call that changes something begins; `is_program` when what it starts could outlive a crash of this process.
    pub(crate) async fn begins(
        &self,
        workspace: &Path,
        by: ChangedBy,
        is_program: bool,
    ) -> Result<AtWork, StoreError> {
        let mut seen = self.seen.lock().await;
        let known = self.settled(&mut seen, now(workspace).await).await?;
        let known = match is_program {
            true if known.at_work.is_none() => Seen { at_work: Some(by.clone()), ..known },
            true => known,
            false => Seen { within: Some(by.clone()), ..known },
        };
        self.keep(&mut seen, known).await?;
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
        let mut seen = self.seen.lock().await;
        let Some(known) = seen.clone() else { return Ok(()) };
        let now = now(workspace).await;
        let is_last = self.at_work.load(Ordering::SeqCst) == 1;
        let changed_by = match known.digest == now {
            true => known.changed_by.clone(),
            false if was_shown && is_last && call.was_alone => None,
            false => Some(call.by.clone()),
        };
        let at_work = known.at_work.clone().filter(|_| !is_last);
        let within = known.within.clone().filter(|_| !is_last);
        drop(call);
        self.keep(&mut seen, Seen { digest: now, changed_by, at_work, within }).await
    }

    /// What is known now that `digest` is there. Another content than before is the person's when no call is at work.
    async fn settled(&self, seen: &mut Option<Seen>, digest: String) -> Result<Seen, StoreError> {
        let before = match seen.clone() {
            Some(seen) => seen,
            None => self.stored(&digest).await?,
        };
        let is_idle = self.at_work.load(Ordering::SeqCst) == 0;
        // Somebody who is still there when nothing is at work was cut off before the file was looked at again.
        let changed_by = match before.digest == digest {
            true => before.changed_by.clone(),
            false => before.somebody(),
        };
        let at_work = before.at_work.filter(|_| !is_idle);
        let within = before.within.filter(|_| !is_idle);
        let known = Seen { digest, changed_by, at_work, within };
        self.keep(seen, known.clone()).await?;
        Ok(known)
    }

    async fn stored(&self, digest: &str) -> Result<Seen, StoreError> {
        let stored = self.store.setting(KEY).await?;
        let stored = stored.and_then(|stored| serde_json::from_value(stored).ok());
        // What is there when Rouse looks for the first time is the person's.
        let digest = digest.to_owned();
        let first = || Seen { digest, changed_by: None, at_work: None, within: None };
        Ok(stored.unwrap_or_else(first))
    }

    async fn keep(&self, seen: &mut Option<Seen>, known: Seen) -> Result<(), StoreError> {
        if !seen.as_ref().is_some_and(|seen| seen.is_stored_like(&known)) {
            let stored = serde_json::to_value(&known).expect("BUG: texts are JSON");
            self.store.put_setting(KEY, &stored, None, self.clock.now()).await?;
        }
        *seen = Some(known);
        Ok(())
    }
}

impl std::fmt::Debug for HeartbeatList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeartbeatList").finish_non_exhaustive()
    }
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
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
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
