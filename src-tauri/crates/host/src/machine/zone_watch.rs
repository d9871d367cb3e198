//! A watch on the files that say which zone this is and what its rules are.
//!
//! inotify: the kernel tells, nothing looks. Only a few names in two folders count. An update of the system writes
//! hundreds of files, so after the first word there is a moment of waiting, then one look. It refuses to say what
//! changed; whoever is told looks for itself.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::Tell;
use crate::zone_files::ZoneFolder;

/// The names whose change means something.
const NAMES: [&[u8]; 4] = [b"localtime", b"timezone", b"tzdata.zi", b"+VERSION"];
/// An update is written within this.
const MOMENT: Duration = Duration::from_secs(2);

/// Tells of each change.
pub(super) async fn listen(tell: &Tell) {
    if let Err(error) = watch(ZoneFolder::watched(), MOMENT, tell).await {
        tracing::debug!(%error, "the zone files are not watched");
    }
}

async fn watch(folders: Vec<PathBuf>, moment: Duration, tell: &Tell) -> io::Result<()> {
    let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let flags = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE;
    for folder in folders {
        if let Err(error) = inotify::add_watch(&inotify, &folder, flags) {
            tracing::debug!(folder = %folder.display(), %error, "a folder is not watched");
        }
    }
    let inotify = {
        // SAFETY: an `OwnedFd` names the same open file for as long as it lives, and it lives in the `AsyncFd`.
        unsafe { AsyncFd::register_with_interest(inotify, Interest::READABLE) }?
    };
    loop {
        inotify.readable().await?.clear_ready();
        if changed(inotify.get_ref())? {
            settle(moment).await;
            changed(inotify.get_ref())?;
            if tell.send(()).is_err() {
                return Ok(());
            }
        }
    }
}

/// Takes all that the kernel has to tell; whether any of it counts.
fn changed(inotify: &OwnedFd) -> io::Result<bool> {
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
async fn settle(moment: Duration) {
    tokio::time::sleep(moment).await;
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_new_zone_is_told_and_other_files_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let (tell, mut changes) = mpsc::unbounded_channel();
        let change = async {
            std::fs::write(folder.path().join("passwd"), "").expect("written");
            tokio::task::yield_now().await;
            assert!(changes.try_recv().is_err(), "not of this file");
            let new = folder.path().join("new");
            std::os::unix::fs::symlink("/usr/share/zoneinfo/UTC", &new).expect("linked");
            std::fs::rename(new, folder.path().join("localtime")).expect("renamed");
            assert_eq!(changes.recv().await, Some(()));
            assert!(changes.try_recv().is_err(), "told once");
        };
        tokio::select! {
            biased;
            ended = watch(vec![folder.path().to_owned()], Duration::ZERO, &tell) => panic!("{ended:?}"),
            () = change => {}
        }
    }
}
