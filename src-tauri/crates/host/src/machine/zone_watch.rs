//! Watches the files that define the local zone and its rules.
//!
//! inotify reports changes, so nothing polls. Only a few names in two folders count. A system update writes hundreds
//! of files, so a change is reported after a short delay, once. Never reports what changed.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::change_sender::ChangeSender;
use crate::zone_files::ZoneFolder;

/// The watched file names.
const NAMES: [&[u8]; 4] = [b"localtime", b"timezone", b"tzdata.zi", b"+VERSION"];
/// An update is complete within this time.
const SETTLE_TIME: Duration = Duration::from_secs(2);

/// Reports each change.
pub(super) async fn listen(changes_tx: &ChangeSender) {
    if let Err(error) = watch(ZoneFolder::watched_folders(), SETTLE_TIME, changes_tx).await {
        tracing::debug!(%error, "the zone files cannot be watched");
    }
}

async fn watch(
    folders: Vec<PathBuf>,
    delay: Duration,
    changes_tx: &ChangeSender,
) -> io::Result<()> {
    let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE;
    for folder in folders {
        if let Err(error) = inotify::add_watch(&inotify, &folder, flags) {
            tracing::debug!(folder = %folder.display(), %error, "a folder cannot be watched");
        }
    }
    let inotify = {
        // SAFETY: an `OwnedFd` names the same open file for its whole life, and the `AsyncFd` owns it.
        unsafe { AsyncFd::register_with_interest(inotify, Interest::READABLE) }?
    };
    loop {
        inotify.readable().await?.clear_ready();
        if drain_events(inotify.get_ref())? {
            settle(delay).await;
            drain_events(inotify.get_ref())?;
            if changes_tx.send(()).is_err() {
                return Ok(());
            }
        }
    }
}

/// Reads all pending events. Returns whether a watched name is among them.
fn drain_events(inotify: &OwnedFd) -> io::Result<bool> {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = Reader::new(inotify, &mut buffer);
    let mut counts = false;
    loop {
        match reader.next() {
            Ok(event) => {
                counts |= event.file_name().is_some_and(|name| NAMES.contains(&name.to_bytes()));
            }
            Err(Errno::WOULDBLOCK) => return Ok(counts),
            Err(error) => return Err(error.into()),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "an update is still being written; it ends by itself"
)]
async fn settle(delay: Duration) {
    tokio::time::sleep(delay).await;
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn new_zone_is_reported_and_other_files_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let (changes_tx, mut changes) = mpsc::unbounded_channel();
        let change = async {
            std::fs::write(folder.path().join("passwd"), "").expect("written");
            tokio::task::yield_now().await;
            assert!(changes.try_recv().is_err(), "not of this file");
            let new = folder.path().join("new");
            std::os::unix::fs::symlink("/usr/share/zoneinfo/UTC", &new).expect("linked");
            std::fs::rename(new, folder.path().join("localtime")).expect("renamed");
            assert_eq!(changes.recv().await, Some(()));
            assert!(changes.try_recv().is_err(), "reported once");
        };
        tokio::select! {
            biased;
            ended = watch(vec![folder.path().to_owned()], Duration::ZERO, &changes_tx) => panic!("{ended:?}"),
            () = change => {}
        }
    }
}
