//! Build stamps: whether an output is up to date.
//!
//! Owns the two comparisons that make a second `cargo xtask run` fast: a stamp that repeats its sources byte for
//! byte, and a stamp that must be newer than every source. Unreadable files count as stale. Pitfall: stamping the end
//! of a build; a file saved during the build would never be built.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// Whether the stamp holds exactly these sources in order.
pub(crate) fn has_same_content(sources: &[&Path], stamp: &Path) -> bool {
    match (content_of(sources), fs::read(stamp)) {
        (Ok(expected), Ok(found)) => expected == found,
        _ => false,
    }
}

/// Writes the stamp for `has_same_content`.
pub(crate) fn write_content_stamp(sources: &[&Path], stamp: &Path) -> io::Result<()> {
    fs::write(stamp, content_of(sources)?)
}

/// Whether every file and folder below `sources` is older than the stamp, without the entries in `skip`.
pub(crate) fn is_older_than_stamp(sources: &Path, skip: &[&str], stamp: &Path) -> bool {
    match (newest_below(sources, skip), fs::metadata(stamp).and_then(|data| data.modified())) {
        (Ok(Some(newest)), Ok(made_at)) => newest < made_at,
        _ => false,
    }
}

/// The present time by the file system of this folder. Creates the folder if missing.
pub(crate) fn current_file_time(folder: &Path) -> io::Result<SystemTime> {
    fs::create_dir_all(folder)?;
    let probe = folder.join("moment");
    fs::write(&probe, [])?;
    fs::metadata(&probe)?.modified()
}

/// Sets the time of a stamp to the start of the work.
pub(crate) fn set_stamp_time(stamp: &Path, started: SystemTime) -> io::Result<()> {
    fs::File::options().write(true).open(stamp)?.set_modified(started)
}

/// The latest change below a folder. Folders count too: a deleted file changes only its folder.
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
        open_for_dates(path).and_then(|file| file.set_modified(at(seconds))).expect("a moment");
    }

    /// Opens a file or folder to set its times.
    #[cfg(not(windows))]
    fn open_for_dates(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    /// Windows needs an access mode for setting times, and a flag for folders.
    #[cfg(windows)]
    fn open_for_dates(path: &Path) -> io::Result<File> {
        use std::os::windows::fs::OpenOptionsExt as _;
        const FILE_WRITE_ATTRIBUTES: u32 = 0x100;
        const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
        File::options()
            .access_mode(FILE_WRITE_ATTRIBUTES)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
            .open(path)
    }

    /// A built tree: all sources changed at second 100, the stamp is from second 200.
    fn built_tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        touch(&dir.path().join("ui/src/main.tsx"), 100);
        touch(&dir.path().join("ui/dist/index.html"), 300);
        touch(&dir.path().join("ui/src"), 100);
        touch(&dir.path().join("stamp"), 200);
        dir
    }

    fn is_fresh(dir: &tempfile::TempDir) -> bool {
        is_older_than_stamp(&dir.path().join("ui"), &["dist"], &dir.path().join("stamp"))
    }

    #[test]
    fn unchanged_tree_is_fresh() {
        assert!(is_fresh(&built_tree()));
    }

    #[test]
    fn changed_file_is_stale() {
        let dir = built_tree();
        touch(&dir.path().join("ui/src/main.tsx"), 250);
        assert!(!is_fresh(&dir));
    }

    #[test]
    fn file_with_the_time_of_the_stamp_is_stale() {
        let dir = built_tree();
        touch(&dir.path().join("ui/src/main.tsx"), 200);
        assert!(!is_fresh(&dir));
    }

    #[test]
    fn deleted_file_is_stale() {
        let dir = built_tree();
        touch(&dir.path().join("ui/src/other.tsx"), 100);
        touch(&dir.path().join("ui/src"), 100);
        assert!(is_fresh(&dir));
        fs::remove_file(dir.path().join("ui/src/other.tsx")).expect("removed");
        touch(&dir.path().join("ui/src"), 250);
        assert!(!is_fresh(&dir));
    }

    #[test]
    fn file_saved_during_the_build_is_stale() {
        let dir = built_tree();
        let stamp = dir.path().join("stamp");
        let started = current_file_time(&dir.path().join("made/on/demand")).expect("a moment");
        set_stamp_time(&stamp, started).expect("dated");
        assert!(is_fresh(&dir));
        fs::write(dir.path().join("ui/src/main.tsx"), "saved").expect("saved");
        assert!(!is_fresh(&dir));
    }

    #[test]
    fn missing_stamp_or_sources_are_stale() {
        let dir = built_tree();
        fs::remove_file(dir.path().join("stamp")).expect("removed");
        assert!(!is_fresh(&dir));
        assert!(!is_older_than_stamp(
            &dir.path().join("nowhere"),
            &[],
            &dir.path().join("ui/dist/index.html")
        ));
    }

    #[test]
    fn content_stamp_detects_every_change() {
        let dir = tempfile::tempdir().expect("a folder");
        let [manifest, lock, stamp] =
            ["package.json", "package-lock.json", "stamp"].map(|name| dir.path().join(name));
        fs::write(&manifest, "ab").expect("written");
        fs::write(&lock, "c").expect("written");
        let sources: [&Path; 2] = [&manifest, &lock];
        assert!(!has_same_content(&sources, &stamp));
        write_content_stamp(&sources, &stamp).expect("written");
        assert!(has_same_content(&sources, &stamp));
        // The same bytes, split differently.
        fs::write(&manifest, "a").expect("written");
        fs::write(&lock, "bc").expect("written");
        assert!(!has_same_content(&sources, &stamp));
    }
}
