//! Folders of skills, valid and invalid, and the trust in skills.

use std::fs;
use std::path::PathBuf;

use rouse_core::UnixMs;
use rouse_core::skills::{SkillFiles as _, SkillFolder, SkillInRun, SkillTrust};
use rouse_store::Store;

use super::{SkillLibrary, TrustError};

const NOW: UnixMs = UnixMs(1);

struct SkillFixture {
    folder: tempfile::TempDir,
    library: SkillLibrary,
}

impl SkillFixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("rouse.db"), std::sync::Arc::new(|_| {}))
            .await
            .expect("a store");
        let library =
            SkillLibrary::new(folder.path().join("skills"), folder.path().join("workspace"), store);
        Self { folder, library }
    }

    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join("skills").join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, bytes).expect("a file");
        path
    }

    fn skill(&self, folder: &str, name: &str, body: &str) {
        let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n");
        self.put(&format!("{folder}{name}/SKILL.md"), text);
    }

    async fn listed(&self) -> Vec<SkillFolder> {
        self.library.list().await.expect("a list")
    }

    async fn trust(&self, name: &str) -> SkillTrust {
        let named = self.library.load_named(&[name.to_owned()]).await.expect("the store");
        named.expect("a good skill")[0].trust
    }

    async fn error_of(&self, name: &str) -> String {
        self.library.load_named(&[name.to_owned()]).await.expect("the store").expect_err("no skill")
    }
}

#[tokio::test]
async fn own_skills_are_trusted_and_installed_skills_are_not() {
    let fixture = SkillFixture::new().await;
    assert!(fixture.listed().await.is_empty(), "no folder is no error");
    fixture.skill("", "report", "Write it.");
    fixture.skill("installed/", "fetch", "Fetch it.");
    fixture.put("installed/fetch/data/list.txt", "one");
    let listed = fixture.listed().await;
    let told: Vec<_> = listed
        .iter()
        .map(|found| {
            let skill = found.skill.as_ref().expect("a good skill");
            (found.name.as_str(), found.is_installed, skill.trust, skill.body.as_str())
        })
        .collect();
    assert_eq!(
        told,
        [
            ("report", false, SkillTrust::Own, "Write it."),
            ("fetch", true, SkillTrust::Untrusted, "Fetch it.")
        ]
    );
    let fetch = listed[1].skill.as_ref().expect("a good skill");
    assert_eq!(fetch.files, ["data/list.txt"]);
    assert_eq!(fetch.description, "Does fetch.");
}

#[tokio::test]
async fn trust_ends_with_any_change_of_the_content() {
    let fixture = SkillFixture::new().await;
    fixture.skill("installed/", "fetch", "Fetch it.");
    let digest = fixture.listed().await[0].skill.as_ref().expect("a good skill").digest.clone();
    let other = fixture.library.trust("fetch", "abc", NOW).await.expect_err("another content");
    assert!(matches!(other, TrustError::Changed(_)), "{other}");
    assert_eq!(fixture.trust("fetch").await, SkillTrust::Untrusted);
    fixture.library.trust("fetch", &digest, NOW).await.expect("trust");
    assert_eq!(fixture.trust("fetch").await, SkillTrust::Trusted);

    let more = fixture.put("installed/fetch/more.txt", "x");
    assert_eq!(fixture.trust("fetch").await, SkillTrust::Changed, "an additional file");
    fs::remove_file(&more).expect("gone");
    assert_eq!(fixture.trust("fetch").await, SkillTrust::Trusted, "unchanged");
    fixture.skill("installed/", "fetch", "Send it.");
    assert_eq!(fixture.trust("fetch").await, SkillTrust::Changed);
    fixture.library.distrust("fetch", NOW).await.expect("taken back");
    assert_eq!(fixture.trust("fetch").await, SkillTrust::Untrusted);
    fixture.library.distrust("fetch", NOW).await.expect("twice is once");

    fixture.skill("", "report", "Write it.");
    let own = fixture.library.distrust("report", NOW).await.expect_err("by its fixture");
    assert!(own.to_string().contains("your own"), "{own}");
}

#[tokio::test]
async fn folders_with_shifted_bytes_have_different_digests() {
    let fixture = SkillFixture::new().await;
    for (name, file) in [("one", "a"), ("two", "ab")] {
        fixture.put(&format!("installed/{name}/SKILL.md"), "---\nname: x\ndescription: y\n---\nz");
        fixture.put(&format!("installed/{name}/{file}"), &"bc"[file.len() - 1..]);
    }
    let digest = |name: &str| {
        super::Folder::read(&fixture.library.installed().join(name)).expect("read").digest
    };
    assert_ne!(digest("one"), digest("two"));
}

#[tokio::test]
async fn skill_in_the_workspace_is_untrusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("rouse.db"), std::sync::Arc::new(|_| {}))
        .await
        .expect("a store");
    let skills = folder.path().join("skills");
    fs::create_dir_all(skills.join("report")).expect("a folder");
    fs::write(skills.join("report/SKILL.md"), "---\nname: report\ndescription: d\n---\nx")
        .expect("a file");
    let library = SkillLibrary::new(skills, folder.path().to_owned(), store);
    let trust = library.list().await.expect("a list")[0].skill.as_ref().expect("a skill").trust;
    assert_eq!(trust, SkillTrust::Untrusted);
}

#[tokio::test]
async fn bad_skill_is_listed_with_error_and_advice() {
    let fixture = SkillFixture::new().await;
    let head = |name: &str| format!("---\nname: {name}\ndescription: d\n---\n");
    fixture.put("no-file/README.md", "x");
    fixture.put("no-head/SKILL.md", "# Just text");
    fixture.put("not-text/SKILL.md", [0xff, 0xfe, 0x00]);
    fixture.put("too-large/SKILL.md", head("too-large") + &"x".repeat(65 << 10));
    fixture.put("too-much/SKILL.md", head("too-much") + "x");
    fixture.put("too-much/data.bin", vec![0; 3 << 20]);
    fixture.put("no-body/SKILL.md", head("no-body"));
    fixture.put("other-name/SKILL.md", head("another") + "x");
    fixture.put("Capital/SKILL.md", head("Capital") + "x");
    for number in 0..101 {
        fixture.put(&format!("too-many/{number}.txt"), "x");
    }
    fixture.put("too-deep/a/b/c/d/e/f.txt", "x");
    fixture.skill("", "twice", "Mine.");
    fixture.skill("installed/", "twice", "Theirs.");
    #[cfg_attr(not(unix), expect(unused_mut, reason = "links are tried on Unix"))]
    let mut expected = vec![
        ("no-file", "has no SKILL.md"),
        ("no-head", "has no head"),
        ("not-text", "not UTF-8 text"),
        ("too-large", "larger than 64 KB"),
        ("too-much", "more than 2 MB"),
        ("no-body", "no instructions"),
        ("other-name", "name is another"),
        ("Capital", "small letters"),
        ("too-many", "more than 100 files"),
        ("too-deep", "more than 4 deep"),
    ];
    #[cfg(unix)]
    {
        fixture.put("linked/SKILL.md", head("linked") + "x");
        let to = fixture.folder.path().join("rouse.db");
        std::os::unix::fs::symlink(to, fixture.library.root().join("linked/out")).expect("a link");
        std::os::unix::fs::symlink("linked", fixture.library.root().join("link")).expect("a link");
        expected.extend([("linked", "out is a link"), ("link", "folder is a link")]);
    }
    let listed = fixture.listed().await;
    for (name, words) in expected {
        let found = listed.iter().find(|found| found.name == name).expect(name);
        let flaw = found.skill.as_ref().expect_err(name);
        assert!(flaw.contains(words), "{name}: {flaw}");
        let why = fixture.error_of(name).await;
        assert!(why.contains(name), "{why}");
    }
    let twice: Vec<_> = listed.iter().filter(|found| found.name == "twice").collect();
    assert!(twice[0].skill.is_ok() && !twice[0].is_installed);
    assert!(twice[1].skill.as_ref().is_err_and(|flaw| flaw.contains("your own skills")));
    assert_eq!(fixture.trust("twice").await, SkillTrust::Own, "the person's own skill wins");
    let why = fixture.error_of("missing").await;
    assert!(
        why.contains("There is no skill missing") && why.contains("remove it from the list"),
        "{why}"
    );
    assert!(fixture.error_of("../etc").await.contains("is not a valid skill name"));
    assert!(fixture.error_of("installed").await.contains("There is no skill"));
}

#[tokio::test]
async fn changed_skill_file_is_not_read() {
    let fixture = SkillFixture::new().await;
    fixture.skill("installed/", "fetch", "Fetch it.");
    fixture.put("installed/fetch/data/list.txt", "one");
    let skill = fixture.listed().await[0].skill.clone().expect("a good skill");
    let in_run = SkillInRun::from(&skill);
    let read = async |path: Option<&str>| {
        fixture.library.read(&in_run, path).await.map_err(|error| error.0)
    };
    assert_eq!(read(None).await.as_deref(), Ok("Fetch it.\n"));
    assert_eq!(read(Some("data/list.txt")).await.as_deref(), Ok("one"));
    for out in ["../../../rouse.db", "/etc/passwd", "data", "data/../SKILL.md"] {
        let refused = read(Some(out)).await.expect_err(out);
        assert!(refused.contains("has no file"), "{refused}");
    }
    fixture.put("installed/fetch/data/list.txt", "two");
    let changed = read(Some("data/list.txt")).await.expect_err("changed");
    assert!(changed.contains("has changed since this run began"), "{changed}");
}
