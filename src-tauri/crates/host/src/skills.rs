//! Skills in zip archives, and the installer of skills.
//!
//! Owns the bounds of an archive. Never writes a file: `rouse_agent` installs what was read here. Pitfall: unpacking
//! before the consent; a page is made from memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rouse_agent::{SkillInstaller, SkillLibrary};
use rouse_core::skills::SkillArchives;
use rouse_core::text::escape_os_path;
use rouse_store::Store;

use crate::home::Home;
use crate::zip_archive::BoundedArchive;

/// The maximum bytes of an archive, and of its unpacked files.
const MAX_BYTES: u64 = 50 << 20;

/// The installer over the skills of `home`. Cleans up after an interrupted installation.
pub(crate) fn skill_installer(home: &Home, workspace: &Path, store: &Store) -> SkillInstaller {
    let library = SkillLibrary::new(home.skills(), workspace.to_owned(), store.clone());
    let installer = SkillInstaller::new(library, Arc::new(ZipSkills));
    if let Err(error) = installer.recover() {
        tracing::warn!(%error, "an interrupted installation of a skill was not cleaned up");
    }
    installer
}

/// Reads skills from zip archives.
struct ZipSkills;

impl SkillArchives for ZipSkills {
    fn read(&self, archive: &Path) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let content = File::open(archive)
            .map_err(|error| format!("{} cannot be read: {error}.", escape_os_path(archive)))?;
        let archive = BoundedArchive::open(content, MAX_BYTES);
        archive.and_then(|mut archive| archive.read_files()).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use rouse_agent::SkillInstallError;
    use rouse_core::UnixMs;
    use rouse_core::skills::SkillTrust;

    use super::*;
    use crate::zip_archive::built::{BuiltEntry, build, entry, folder};

    const NOW: UnixMs = UnixMs(1);
    const SKILL: &str = "---\nname: fetch\ndescription: Fetches.\n---\nFetch it.\n";

    struct ZipFixture {
        folder: tempfile::TempDir,
        home: Home,
        installer: SkillInstaller,
    }

    impl ZipFixture {
        async fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let home = Home::at(folder.path().join("data"));
            std::fs::create_dir(home.root()).expect("a folder");
            let store = Store::open(&home.database(), Arc::new(|_| {})).await.expect("a store");
            let installer = skill_installer(&home, &home.workspace(), &store);
            Self { folder, home, installer }
        }

        fn zip(&self, entries: &[BuiltEntry]) -> std::path::PathBuf {
            let path = self.folder.path().join("skill.zip");
            std::fs::write(&path, build(entries)).expect("written");
            path
        }

        async fn refusal(&self, entries: &[BuiltEntry]) -> String {
            let path = self.zip(entries);
            self.installer.preview(&path).await.expect_err("refused").to_string()
        }
    }

    #[tokio::test]
    async fn skill_of_a_zip_is_installed_from_root_or_top_folder() {
        let fixture = ZipFixture::new().await;
        let at_root = [entry("SKILL.md", SKILL), entry("data/list.txt", "one")];
        let in_folder = [
            folder("fetch-1.0/"),
            entry("fetch-1.0/SKILL.md", SKILL),
            entry("fetch-1.0/data/list.txt", "one"),
            entry("fetch-1.0/.DS_Store", "x"),
            entry("__MACOSX/fetch-1.0/._SKILL.md", "x"),
        ];
        let mut hashes = Vec::new();
        for entries in [&at_root[..], &in_folder] {
            let path = fixture.zip(entries);
            let page = fixture.installer.preview(&path).await.expect("a page");
            let files: Vec<_> = page.files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(files, ["SKILL.md", "data/list.txt"]);
            let installed = fixture.installer.install(&path, &page.hash, NOW).await;
            assert_eq!(installed.expect("installed").trust, SkillTrust::Trusted);
            hashes.push(page.hash);
        }
        assert_eq!(hashes[0], hashes[1], "the same content");
        let installed = fixture.home.skills().join("installed/fetch/data/list.txt");
        assert_eq!(std::fs::read_to_string(installed).expect("a file"), "one");
    }

    #[tokio::test]
    async fn zip_that_changed_after_its_page_is_refused() {
        let fixture = ZipFixture::new().await;
        let path = fixture.zip(&[entry("SKILL.md", SKILL)]);
        let page = fixture.installer.preview(&path).await.expect("a page");
        fixture.zip(&[entry("SKILL.md", SKILL), entry("more.txt", "x")]);
        let changed = fixture.installer.install(&path, &page.hash, NOW).await;
        assert!(matches!(changed, Err(SkillInstallError::Changed)));
        assert!(!fixture.home.skills().join("installed/fetch").exists());
    }

    #[tokio::test]
    async fn unusable_zip_names_the_reason() {
        let fixture = ZipFixture::new().await;
        let skill = || entry("SKILL.md", SKILL);
        let link = BuiltEntry { mode: 0o120_777, ..entry("out", "/etc/passwd") };
        let large = "0123456789abcdef".repeat(200_000);
        let large = BuiltEntry { is_deflated: false, ..entry("large", &large) };
        let bomb = "0".repeat(2 << 20);
        let declared = BuiltEntry { declared: Some(51 << 20), is_deflated: false, ..skill() };
        let deep = entry("a/b/c/d/e/f.txt", "x");
        for (entries, words) in [
            (vec![skill(), link], "out, which is a link"),
            (vec![skill(), entry("../evil.sh", "x")], "leaves its folder"),
            (vec![skill(), entry("a.txt", "x"), entry("A.txt", "x")], "clashes with another entry"),
            (vec![skill(), entry("zeros", &bomb)], "more than 200 times"),
            (vec![declared], "50 MB of unpacked files"),
            (vec![skill(), large], "more than 2 MB"),
            (vec![skill(), deep], "more than 4 deep"),
            (vec![skill(), entry("run", "\u{7f}ELF")], "run is a program in machine code"),
            (vec![entry("README.md", "x")], "has no SKILL.md"),
            (vec![entry("a/SKILL.md", SKILL), entry("b/SKILL.md", SKILL)], "has 2 skills: a, b."),
            (vec![entry("a/SKILL.md", SKILL), entry("b.txt", "x")], "is in its folder a"),
        ] {
            let refused = fixture.refusal(&entries).await;
            assert!(refused.contains(words), "{words}: {refused}");
        }
        let path = fixture.folder.path().join("text.zip");
        std::fs::write(&path, "no archive").expect("written");
        let refused = fixture.installer.preview(&path).await.expect_err("no archive");
        assert!(refused.to_string().contains("no zip archive that Rouse reads"), "{refused}");
        assert!(!fixture.home.skills().exists(), "a page writes nothing");
    }
}
