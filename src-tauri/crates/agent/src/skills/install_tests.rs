//! Installation of skills from folders: the page, the swap, the trust, and interrupted installations.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rouse_core::UnixMs;
use rouse_core::skills::{SkillArchives, SkillPage, SkillTrust};
use rouse_store::Store;

use super::{SkillInstallError, SkillInstaller, SkillLibrary};

const NOW: UnixMs = UnixMs(1);

/// No archive is read here; the host's tests read real ones.
struct NoArchives;

impl SkillArchives for NoArchives {
    fn read(&self, _: &Path) -> Result<BTreeMap<String, Vec<u8>>, String> {
        Err("The file is no archive.".to_owned())
    }
}

struct InstallFixture {
    folder: tempfile::TempDir,
    installer: SkillInstaller,
}

impl InstallFixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store =
            Store::open(&folder.path().join("rouse.db"), Arc::new(|_| {})).await.expect("a store");
        let (skills, workspace) = (folder.path().join("skills"), folder.path().join("workspace"));
        let library = SkillLibrary::new(skills, workspace, store);
        Self { folder, installer: SkillInstaller::new(library, Arc::new(NoArchives)) }
    }

    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }

    /// A skill named `fetch`, whose folder has another name.
    fn put_source(&self, body: &str) -> PathBuf {
        self.put("source/SKILL.md", skill("fetch", body));
        self.put("source/data/list.txt", "one");
        self.path("source")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    async fn page(&self, path: &Path) -> SkillPage {
        self.installer.preview(path).await.expect("a page")
    }

    async fn refusal(&self, path: &Path) -> String {
        self.installer.preview(path).await.expect_err("no page").to_string()
    }

    async fn install(&self, path: &Path) -> SkillPage {
        let page = self.page(path).await;
        self.installer.install(path, &page.hash, NOW).await.expect("installed");
        page
    }

    /// The body and the trust of the installed skill `fetch`.
    async fn installed(&self) -> Option<(String, SkillTrust)> {
        let named = self.installer.library().load_named(&["fetch".to_owned()]).await;
        let skill = named.expect("the store").ok()?.remove(0);
        Some((skill.body, skill.trust))
    }

    fn is_clean(&self) -> bool {
        !self.path("skills/installed/.install").exists()
    }
}

fn skill(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n")
}

fn trusted(body: &str) -> Option<(String, SkillTrust)> {
    Some((body.to_owned(), SkillTrust::Trusted))
}

#[tokio::test]
async fn installed_skill_is_trusted_in_the_shown_content() {
    let fixture = InstallFixture::new().await;
    let source = fixture.put_source("Fetch it.");
    fixture.put("source/.git/config", "[core]");
    fixture.put("source/.DS_Store", "x");
    let page = fixture.page(&source).await;
    let files: Vec<_> = page.files.iter().map(|file| (file.path.as_str(), file.bytes)).collect();
    assert_eq!(files, [("SKILL.md", page.text.len() as u64), ("data/list.txt", 3)]);
    assert_eq!((page.name.as_str(), page.description.as_str()), ("fetch", "Does fetch."));
    assert_eq!((page.replaces, page.is_own), (None, false));
    assert_eq!(page.text, skill("fetch", "Fetch it."));
    assert!(!fixture.path("skills").exists(), "a page writes nothing");
    let installed = fixture.installer.install(&source, &page.hash, NOW).await.expect("installed");
    assert_eq!((installed.digest, installed.trust), (page.hash, SkillTrust::Trusted));
    assert_eq!(installed.files, ["data/list.txt"], "the files of the page");
    assert_eq!(fixture.installed().await, trusted("Fetch it."));
    assert!(fixture.is_clean());
}

#[tokio::test]
async fn change_after_the_page_is_refused() {
    let fixture = InstallFixture::new().await;
    let source = fixture.put_source("Fetch it.");
    let page = fixture.install(&source).await;
    fixture.put_source("Send it.");
    let changed = fixture.installer.install(&source, &page.hash, NOW).await.expect_err("changed");
    assert!(matches!(changed, SkillInstallError::Changed), "{changed}");
    assert_eq!(fixture.installed().await, trusted("Fetch it."), "the installed skill stays");
    assert!(fixture.is_clean());
}

#[tokio::test]
async fn new_version_replaces_the_installed_skill() {
    let fixture = InstallFixture::new().await;
    let source = fixture.put_source("Fetch it.");
    let old = fixture.install(&source).await;
    fixture.put("skills/installed/fetch/leftover.txt", "x");
    fixture.put_source("Fetch all.");
    let new = fixture.page(&source).await;
    assert!(new.replaces.is_some_and(|replaced| replaced != old.hash && replaced.len() == 64));
    fixture.install(&source).await;
    assert_eq!(fixture.installed().await, trusted("Fetch all."));
    assert!(!fixture.path("skills/installed/fetch/leftover.txt").exists());
    assert_eq!(fixture.page(&source).await.replaces, Some(new.hash));
}

#[tokio::test]
async fn name_of_an_own_skill_is_refused() {
    let fixture = InstallFixture::new().await;
    let source = fixture.put_source("Fetch it.");
    fixture.put("skills/fetch/SKILL.md", skill("fetch", "Mine."));
    let page = fixture.page(&source).await;
    assert!(page.is_own);
    let refused = fixture.installer.install(&source, &page.hash, NOW).await.expect_err("own");
    assert!(matches!(refused, SkillInstallError::OwnName(_)), "{refused}");
    let kept = fixture.installer.remove("fetch", NOW).await.expect_err("own");
    assert!(kept.to_string().contains("fetch is your own skill."), "{kept}");
    assert_eq!(fixture.installed().await, Some(("Mine.".to_owned(), SkillTrust::Own)));
}

#[tokio::test]
async fn unusable_source_names_the_remedy() {
    let fixture = InstallFixture::new().await;
    let head = "---\nname: x\ndescription: d\n---\nx";
    fixture.put("empty/README.md", "x");
    fixture.put("bad-name/SKILL.md", skill("Bad Name", "x"));
    fixture.put("reserved/SKILL.md", skill("installed", "x"));
    fixture.put("case/SKILL.md", head);
    fixture.put("case/a.txt", "x");
    fixture.put("case/A.TXT", "x");
    fixture.put("program/SKILL.md", head);
    fixture.put("program/.run", b"\x7fELF\x02\x01\x01\x00");
    fixture.put("windows/SKILL.md", head);
    fixture.put("windows/run.txt", b"MZ\x90\x00\x03");
    fixture.put("large/SKILL.md", head);
    fixture.put("large/data.bin", vec![b'x'; 3 << 20]);
    #[cfg_attr(not(unix), expect(unused_mut, reason = "links are tried on Unix"))]
    let mut expected = vec![
        ("empty", "has no SKILL.md"),
        ("bad-name", "The name of the skill is Bad Name."),
        ("reserved", "is not `installed`"),
        ("program", ".run is a program in machine code"),
        ("windows", "run.txt is a program in machine code"),
        ("large", "more than 2 MB"),
        ("case/SKILL.md", "Name its folder."),
        ("none", "cannot be read"),
    ];
    #[cfg(unix)]
    {
        fixture.put("linked/SKILL.md", head);
        let link = fixture.path("linked/out");
        std::os::unix::fs::symlink(fixture.path("rouse.db"), link).expect("a link");
        expected.push(("linked", "out is a link"));
    }
    // Other systems make the two files one.
    if cfg!(target_os = "linux") {
        expected.push(("case", "A.TXT and a.txt differ only in case"));
    }
    for (path, words) in expected {
        let refused = fixture.refusal(&fixture.path(path)).await;
        assert!(refused.contains(words), "{path}: {refused}");
    }
    assert!(fixture.refusal(Path::new("source")).await.contains("is no absolute path"));
    assert!(!fixture.path("skills").exists());
}

#[tokio::test]
async fn removed_skill_loses_files_and_trust() {
    let fixture = InstallFixture::new().await;
    let source = fixture.put_source("Fetch it.");
    fixture.install(&source).await;
    fixture.put("skills/installed/Broken/README.md", "x");
    for name in ["fetch", "Broken"] {
        fixture.installer.remove(name, NOW).await.expect("removed");
        assert!(!fixture.path("skills/installed").join(name).exists(), "{name}");
    }
    assert!(fixture.is_clean());
    fixture.put("skills/installed/fetch/SKILL.md", skill("fetch", "Fetch it."));
    fixture.put("skills/installed/fetch/data/list.txt", "one");
    let by_hand = Some(("Fetch it.".to_owned(), SkillTrust::Untrusted));
    assert_eq!(fixture.installed().await, by_hand, "the trust does not come back");
    for name in ["nothing", "", "..", ".install", "fetch/data"] {
        let missing = fixture.installer.remove(name, NOW).await.expect_err(name);
        assert!(matches!(missing, SkillInstallError::NotInstalled(_)), "{name}: {missing}");
    }
    assert_eq!(fixture.installed().await, by_hand);
}

/// A crash between the two renames of a swap, and one after both.
#[tokio::test]
async fn interrupted_installation_leaves_the_old_or_the_new_skill() {
    let fixture = InstallFixture::new().await;
    fixture.put("skills/installed/.install/new/SKILL.md", skill("fetch", "New."));
    fixture.put("skills/installed/.install/old/fetch/SKILL.md", skill("fetch", "Old."));
    assert!(fixture.installed().await.is_none());
    fixture.installer.recover().expect("recovered");
    assert_eq!(fixture.installed().await.expect("the old skill").0, "Old.");
    assert!(fixture.is_clean());
    fixture.put("skills/installed/.install/old/fetch/SKILL.md", skill("fetch", "Older."));
    fixture.installer.recover().expect("recovered");
    assert_eq!(fixture.installed().await.expect("the new skill").0, "Old.");
    assert!(fixture.is_clean());
}

#[cfg(unix)]
#[tokio::test]
async fn installed_files_are_private_and_not_executable() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = InstallFixture::new().await;
    let source = fixture.put_source("Fetch it.");
    let program = source.join("data/list.txt");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("permissions");
    fixture.install(&source).await;
    for (path, mode) in [("", 0o700), ("data", 0o700), ("data/list.txt", 0o600)] {
        let found = fs::metadata(fixture.path("skills/installed/fetch").join(path));
        assert_eq!(found.expect("a file").permissions().mode() & 0o777, mode, "{path}");
    }
}
