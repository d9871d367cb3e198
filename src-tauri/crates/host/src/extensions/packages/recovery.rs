//! Installations that ended with the engine: each is completed or undone at the next start.
//!
//! The record decides: the files with the recorded hash stay or come back. Never changes the record. Blocks. Pitfall: the
//! swapped files before the record; the old files are still in the place of the installation.

use std::fs;
use std::io;
use std::path::Path;

use rouse_core::extension::ExtensionName;
use rouse_gateway::write_private;

use super::files::hash_files;
use super::site::{PackageSite, staging_folder};

/// Completes or undoes the installations below the private `folders` of all extensions. `accepted` is the recorded hash
/// of an extension's files.
pub(crate) fn recover_installations(
    folders: &Path,
    accepted: impl Fn(&ExtensionName) -> Option<String>,
) {
    // silent-ok: without the folder, nothing was being installed.
    let Ok(entries) = fs::read_dir(staging_folder(folders)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().parse::<ExtensionName>();
        let Ok(name) = name else { continue };
        let site = PackageSite::new(folders, &name);
        let recovered = match accepted(&name) {
            Some(hash) => recover(&site, &hash),
            None => Ok(()),
        };
        match recovered.and_then(|()| site.clear()) {
            Ok(()) => tracing::info!(%name, "an interrupted installation was cleaned up"),
            Err(error) => tracing::error!(%name, %error, "an interrupted installation remains"),
        }
    }
}

/// Keeps the installed files if they have the recorded hash. Otherwise brings the old ones back if they have it.
fn recover(site: &PackageSite, accepted: &str) -> io::Result<()> {
    if let Some(list) = list_with_hash(&site.folder, accepted) {
        return write_private(&site.list, &list);
    }
    let old = site.old();
    let Some(list) = list_with_hash(&old, accepted) else { return Ok(()) };
    site.delete_package()?;
    fs::rename(&old, &site.folder)?;
    write_private(&site.list, &list)
}

/// The text of the list of files with this hash; none for other files.
fn list_with_hash(folder: &Path, accepted: &str) -> Option<String> {
    let found = folder.exists().then(|| hash_files(folder))?.ok()?;
    (found.list.sha256() == accepted).then(|| found.list.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        folders: tempfile::TempDir,
        site: PackageSite,
    }

    impl Fixture {
        fn new() -> Self {
            let folders = tempfile::tempdir().expect("a folder");
            let site = PackageSite::new(folders.path(), &"dice".parse().expect("a name"));
            site.prepare().expect("folders");
            Self { folders, site }
        }

        /// Writes a file into `folder`. Returns the hash of the folder's list.
        fn write(&self, folder: &Path, text: &str) -> String {
            fs::create_dir_all(folder).expect("a folder");
            fs::write(folder.join("tool.js"), text).expect("a file");
            hash_files(folder).expect("files").list.sha256()
        }

        fn recover(&self, accepted: &str) -> (String, String) {
            recover_installations(self.folders.path(), |_| Some(accepted.to_owned()));
            assert!(!self.site.staging.exists());
            let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
            (read(&self.site.folder.join("tool.js")), read(&self.site.list))
        }
    }

    #[test]
    fn recorded_new_files_stay() {
        let fixture = Fixture::new();
        fixture.write(&fixture.site.old(), "old");
        let new = fixture.write(&fixture.site.folder, "new");
        let (file, list) = fixture.recover(&new);
        assert_eq!(file, "new");
        assert!(list.starts_with("tool.js "), "{list}");
    }

    #[test]
    fn old_files_come_back_before_the_record() {
        let fixture = Fixture::new();
        let old = fixture.write(&fixture.site.old(), "old");
        fixture.write(&fixture.site.folder, "new");
        let (file, list) = fixture.recover(&old);
        assert_eq!(file, "old");
        assert!(list.starts_with("tool.js "), "{list}");
    }

    #[test]
    fn files_without_a_record_are_left() {
        let fixture = Fixture::new();
        fixture.write(&fixture.site.folder, "other");
        assert_eq!(fixture.recover("00"), ("other".to_owned(), String::new()));
    }
}
