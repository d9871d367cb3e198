//! Whether something made earlier still matches what it was made from.
//!
//! Owns the two comparisons that make a second `cargo xtask run` fast: a stamp that repeats its sources byte for byte, and
//! a moment that must be later than every source. Refuses to guess: what cannot be read is stale. One could get it wrong
//! by taking the moment at the end of a build: a file saved while it ran would never be built.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// True when the stamp holds exactly these sources, one after the other.
pub(crate) fn same_content(sources: &[&Path], stamp: &Path) -> bool {
    match (content_of(sources), fs::read(stamp)) {
        (Ok(wanted), Ok(found)) => wanted == found,
        _ => false,
    }
}

/// Writes the stamp that `same_content` accepts.
pub(crate) fn stamp_content(sources: &[&Path], stamp: &Path) -> io::Result<()> {
    fs::write(stamp, content_of(sources)?)
}

/// True when every file and folder below `sources` is older than the stamp. `skip` names entries that do not count.
pub(crate) fn older_than_stamp(sources: &Path, skip: &[&str], stamp: &Path) -> bool {
    match (newest_below(sources, skip), fs::metadata(stamp).and_then(|data| data.modified())) {
        (Ok(Some(newest)), Ok(made_at)) => newest < made_at,
        _ => false,
    }
}

/// This moment, by the clock that dates files in this folder; the folder is made when it is missing.
pub(crate) fn moment(folder: &Path) -> io::Result<SystemTime> {
    fs::create_dir_all(folder)?;
    let probe = folder.join("moment");
    fs::write(&probe, [])?;
    fs::metadata(&probe)?.modified()
}

/// Gives a stamp the moment at which the work began.
pub(crate) fn date_back(stamp: &Path, begun: SystemTime) -> io::Result<()> {
    fs::File::options().write(true).open(stamp)?.set_modified(begun)
}

/// The latest change below a folder. Folders count too: a deleted file leaves no other trace.
fn newest_below(folder: &Path, skip: &[&str]) -> io::Result<Option<SystemTime>> {
    let mut newest = None;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if skip.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let data = entry.metadata()?;
        newest = newest.max(Some(data.modified()?));
        if data.is_dir() {
            newest = newest.max(newest_below(&entry.path(), skip)?);
        }
    }
    Ok(newest)
}

fn content_of(files: &[&Path]) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    for file in files {
        content.extend(fs::read(file)?);
        content.push(0);
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::Duration;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn touch(path: &Path, seconds: u64) {
        if !path.is_dir() {
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            File::create(path).expect("a file");
        }
        opened(path).and_then(|file| file.set_modified(at(seconds))).expect("a moment");
    }

    /// A file or folder whose dates may be set.
    #[cfg(not(windows))]
    fn opened(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    /// Windows wants to know beforehand that dates will be set, and that it may be a folder.
    #[cfg(windows)]
    fn opened(path: &Path) -> io::Result<File> {
        use std::os::windows::fs::OpenOptionsExt as _;
        const FILE_WRITE_ATTRIBUTES: u32 = 0x100;
        const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
        File::options()
            .access_mode(FILE_WRITE_ATTRIBUTES)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
            .open(path)
    }

    /// A built tree: everything changed at second 100, the stamp is from second 200.
    fn built() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        touch(&dir.path().join("ui/src/main.tsx"), 100);
        touch(&dir.path().join("ui/dist/index.html"), 300);
        touch(&dir.path().join("ui/src"), 100);
        touch(&dir.path().join("stamp"), 200);
        dir
    }

    fn fresh(dir: &tempfile::TempDir) -> bool {
        older_than_stamp(&dir.path().join("ui"), &["dist"], &dir.path().join("stamp"))
    }

    #[test]
    fn an_untouched_tree_is_fresh_and_skipped_entries_do_not_count() {
        assert!(fresh(&built()));
    }

    #[test]
    fn a_changed_file_is_stale() {
        let dir = built();
        touch(&dir.path().join("ui/src/main.tsx"), 250);
        assert!(!fresh(&dir));
    }

    #[test]
    fn a_file_saved_in_the_very_moment_of_the_stamp_is_stale() {
        let dir = built();
        touch(&dir.path().join("ui/src/main.tsx"), 200);
        assert!(!fresh(&dir));
    }

    #[test]
    fn a_deleted_file_is_stale() {
        let dir = built();
        touch(&dir.path().join("ui/src/other.tsx"), 100);
        touch(&dir.path().join("ui/src"), 100);
        assert!(fresh(&dir));
        fs::remove_file(dir.path().join("ui/src/other.tsx")).expect("removed");
        touch(&dir.path().join("ui/src"), 250);
        assert!(!fresh(&dir));
    }

    #[test]
    fn a_file_saved_during_the_build_is_stale_afterwards() {
        let dir = built();
        let stamp = dir.path().join("stamp");
        let begun = moment(&dir.path().join("made/on/demand")).expect("a moment");
        date_back(&stamp, begun).expect("dated");
        assert!(fresh(&dir));
        fs::write(dir.path().join("ui/src/main.tsx"), "saved").expect("saved");
        assert!(!fresh(&dir));
    }

    #[test]
    fn without_a_stamp_or_sources_nothing_is_fresh() {
        let dir = built();
        fs::remove_file(dir.path().join("stamp")).expect("removed");
        assert!(!fresh(&dir));
        assert!(!older_than_stamp(
            &dir.path().join("nowhere"),
            &[],
            &dir.path().join("ui/dist/index.html")
        ));
    }

    #[test]
    fn a_content_stamp_notices_every_change() {
        let dir = tempfile::tempdir().expect("a folder");
        let [manifest, lock, stamp] =
            ["package.json", "package-lock.json", "stamp"].map(|name| dir.path().join(name));
        fs::write(&manifest, "ab").expect("written");
        fs::write(&lock, "c").expect("written");
        let sources: [&Path; 2] = [&manifest, &lock];
        assert!(!same_content(&sources, &stamp));
        stamp_content(&sources, &stamp).expect("written");
        assert!(same_content(&sources, &stamp));
        // The same bytes, cut in another place.
        fs::write(&manifest, "a").expect("written");
        fs::write(&lock, "bc").expect("written");
        assert!(!same_content(&sources, &stamp));
    }
}
