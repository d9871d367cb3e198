//! The zone files of this system: their folder and version.
//!
//! Owns the folder and its version; `core` judges the content of a file. Windows stores zones in another format, so
//! the built-in tables apply there. A folder without a version cannot be compared and is ignored.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rouse_core::schedule::{ZoneFiles, ZoneSource, ZoneVersion, Zones};

/// The usual folders: macOS updates the first, other systems the second.
const FOLDERS: [&str; 2] = ["/var/db/timezone/zoneinfo", "/usr/share/zoneinfo"];
/// Files with the version on the first line.
const VERSION_FILES: [&str; 2] = ["tzdata.zi", "+VERSION"];
/// Far above the largest zone file; bounds the read of a device.
const MAX_BYTES: u64 = 256 * 1024;

/// A folder of zone files. Equal values mean equal files, as far as the version tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ZoneFolder {
    path: PathBuf,
    version: ZoneVersion,
    /// The modification time of the version file; detects an update within one version.
    modified: Option<SystemTime>,
}

impl ZoneFolder {
    /// The folder of this system; `TZDIR` has priority, as in the C library.
    pub(crate) fn of_system() -> Option<Self> {
        let from_variable =
            std::env::var_os("TZDIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let usual = FOLDERS.iter().map(PathBuf::from);
        from_variable.into_iter().chain(usual).find_map(|path| Self::at(&path))
    }

    fn at(path: &Path) -> Option<Self> {
        VERSION_FILES.iter().find_map(|name| {
            let file = File::open(path.join(name)).ok()?;
            let modified = file.metadata().and_then(|data| data.modified()).ok();
            let mut line = String::new();
            BufReader::new(file.take(100)).read_line(&mut line).ok()?;
            Some(Self { path: path.to_owned(), version: ZoneVersion::parse(&line)?, modified })
        })
    }

    /// The folder's zones, if newer than the built-in tables.
    pub(crate) fn zones(&self) -> Zones {
        let source = ZoneSource {
            version: self.version.clone(),
            folder: Some(self.path.display().to_string()),
        };
        Zones::newest(source, Box::new(ZoneFolderFiles(self.path.clone())))
    }

    /// The folders to watch for updates of zones and of the local zone.
    #[cfg(target_os = "linux")]
    pub(crate) fn watched_folders() -> Vec<PathBuf> {
        let folder = Self::of_system().map(|folder| folder.path);
        folder.into_iter().chain([PathBuf::from("/etc")]).collect()
    }
}

struct ZoneFolderFiles(PathBuf);

impl ZoneFiles for ZoneFolderFiles {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.0.join(name);
        // Opening a fifo would block until a writer comes.
        path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_version_is_the_first_line() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(ZoneFolder::at(folder.path()), None);
        std::fs::write(folder.path().join("+VERSION"), "2026a\n").expect("written");
        let found = ZoneFolder::at(folder.path()).expect("a version");
        assert_eq!(found.version.to_string(), "2026a");
        std::fs::write(folder.path().join("tzdata.zi"), "# version 2027c\nR …").expect("written");
        let found = ZoneFolder::at(folder.path()).expect("a version");
        assert_eq!(found.version.to_string(), "2027c");
        assert_eq!(found.zones().source().version.to_string(), "2027c");
        std::fs::write(folder.path().join("tzdata.zi"), "# version unknown\n").expect("written");
        assert_eq!(
            ZoneFolder::at(folder.path()).map(|f| f.version.to_string()),
            Some("2026a".into())
        );
    }

    #[test]
    fn older_folder_than_built_in_is_ignored() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("+VERSION"), "2019a").expect("written");
        let zones = ZoneFolder::at(folder.path()).expect("a version").zones();
        assert_eq!(zones.source().folder, None);
        assert!(zones.zone("Europe/Berlin").is_some_and(|zone| !zone.is_of_system()));
    }

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("Europe")).expect("made");
        std::fs::write(folder.path().join("UTC"), b"TZif").expect("written");
        let files = ZoneFolderFiles(folder.path().to_owned());
        assert_eq!(files.read("Europe"), None);
        assert_eq!(files.read("Nowhere"), None);
        assert_eq!(files.read("UTC").as_deref(), Some(&b"TZif"[..]));
    }
}
