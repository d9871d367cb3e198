//! The zone files of this system: where they are and how old.
//!
//! Owns the folder and its version; what is in a file is `core`'s to judge. Windows keeps its zones elsewhere and in
//! another form, so there the built-in tables speak. A folder without a version cannot be compared and is not used.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rouse_core::schedule::{ZoneFiles, ZoneSource, ZoneVersion, Zones};

/// Where systems keep them: macOS updates the first one, everybody else the second.
const FOLDERS: [&str; 2] = ["/var/db/timezone/zoneinfo", "/usr/share/zoneinfo"];
/// Files whose first line is the version.
const VERSION_FILES: [&str; 2] = ["tzdata.zi", "+VERSION"];
/// Far more than the largest zone; a device or a fifo under that name cannot fill the memory.
const MOST_BYTES: u64 = 256 * 1024;

/// A folder of zone files. Equal folders hold the same files, as far as can be told without reading them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ZoneFolder {
    path: PathBuf,
    version: ZoneVersion,
    /// When its version file was written: an update within one version is one, too.
    written: Option<SystemTime>,
}

impl ZoneFolder {
    /// The one this system uses; `TZDIR` goes first, as it does for the C library.
    pub(crate) fn of_system() -> Option<Self> {
        let named = std::env::var_os("TZDIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let usual = FOLDERS.iter().map(PathBuf::from);
        named.into_iter().chain(usual).find_map(|path| Self::at(&path))
    }

    fn at(path: &Path) -> Option<Self> {
        VERSION_FILES.iter().find_map(|name| {
            let file = File::open(path.join(name)).ok()?;
            let written = file.metadata().and_then(|data| data.modified()).ok();
            let mut line = String::new();
            BufReader::new(file.take(100)).read_line(&mut line).ok()?;
            Some(Self { path: path.to_owned(), version: ZoneVersion::parse(&line)?, written })
        })
    }

    /// Its zones where they are newer than the built-in tables.
    pub(crate) fn zones(&self) -> Zones {
        let source = ZoneSource {
            version: self.version.clone(),
            folder: Some(self.path.display().to_string()),
        };
        Zones::newest(source, Box::new(Files(self.path.clone())))
    }

    /// The folders whose change may be an update of the zones, or of which one is local.
    #[cfg(target_os = "linux")]
    pub(crate) fn watched() -> Vec<PathBuf> {
        let folder = Self::of_system().map(|folder| folder.path);
        folder.into_iter().chain([PathBuf::from("/etc")]).collect()
    }
}

struct Files(PathBuf);

impl ZoneFiles for Files {
    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.0.join(name);
        // Not a fifo, which would wait for a writer.
        path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_version_of_its_first_line() {
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
    fn a_folder_that_is_older_than_the_built_in_tables_is_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("+VERSION"), "2019a").expect("written");
        let zones = ZoneFolder::at(folder.path()).expect("a version").zones();
        assert_eq!(zones.source().folder, None);
        assert!(zones.zone("Europe/Berlin").is_some_and(|zone| !zone.is_of_system()));
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("Europe")).expect("made");
        std::fs::write(folder.path().join("UTC"), b"TZif").expect("written");
        let files = Files(folder.path().to_owned());
        assert_eq!(files.read("Europe"), None);
        assert_eq!(files.read("Nowhere"), None);
        assert_eq!(files.read("UTC").as_deref(), Some(&b"TZif"[..]));
    }
}
