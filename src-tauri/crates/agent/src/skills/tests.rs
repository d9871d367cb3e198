//! Folders of skills, good and bad, and what becomes of trust in them.

use std::fs;
use std::path::PathBuf;

use rouse_core::UnixMs;
use rouse_core::skills::{SkillFiles as _, SkillFolder, SkillInRun, Trust};
use rouse_store::Store;

use super::{SkillShelf, TrustError};

const NOW: UnixMs = UnixMs(1);

struct Place {
    folder: tempfile::TempDir,
    shelf: SkillShelf,
}

impl Place {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("rouse.db"), std::sync::Arc::new(|_| {}))
            .await
            .expect("a store");
        let shelf =
            SkillShelf::new(folder.path().join("skills"), folder.path().join("workspace"), store);
        Self { folder, shelf }
    }

    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join("skills").join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, bytes).expect("a file");
        path
    }

    fn skill(&self, place: &str, name: &str, body: &str) {
        let text = format!("---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n");
        self.put(&format!("{place}{name}/SKILL.md"), text);
    }

    async fn listed(&self) -> Vec<SkillFolder> {
        self.shelf.list().await.expect("a list")
    }

    async fn trust(&self, name: &str) -> Trust {
        let named = self.shelf.named(&[name.to_owned()]).await.expect("the store");
        named.expect("a good skill")[0].trust
    }

    async fn why_not(&self, name: &str) -> String {
        self.shelf.named(&[name.to_owned()]).await.expect("the store").expect_err("no skill")
    }
}

#[tokio::test]
async fn own_skills_are_trusted_by_their_place_and_others_are_not() {
    let place = Place::new().await;
    assert!(place.listed().await.is_empty(), "no folder is no error");
    place.skill("", "report", "Write it.");
    place.skill("installed/", "fetch", "Fetch it.");
    place.put("installed/fetch/data/list.txt", "one");
    let listed = place.listed().await;
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
            ("report", false, Trust::Own, "Write it."),
            ("fetch", true, Trust::Untrusted, "Fetch it.")
        ]
    );
    let fetch = listed[1].skill.as_ref().expect("a good skill");
    assert_eq!(fetch.files, ["data/list.txt"]);
    assert_eq!(fetch.description, "Does fetch.");
}

#[tokio::test]
async fn trust_is_given_to_a_content_and_ends_with_any_change_of_it() {
    let place = Place::new().await;
    place.skill("installed/", "fetch", "Fetch it.");
    let digest = place.listed().await[0].skill.as_ref().expect("a good skill").digest.clone();
    let other = place.shelf.trust("fetch", "abc", NOW).await.expect_err("another content");
    assert!(matches!(other, TrustError::Changed(_)), "{other}");
    assert_eq!(place.trust("fetch").await, Trust::Untrusted);
    place.shelf.trust("fetch", &digest, NOW).await.expect("trust");
    assert_eq!(place.trust("fetch").await, Trust::Trusted);

    let more = place.put("installed/fetch/more.txt", "x");
    assert_eq!(place.trust("fetch").await, Trust::Changed, "one more file");
    fs::remove_file(&more).expect("gone");
    assert_eq!(place.trust("fetch").await, Trust::Trusted, "as it was");
    place.skill("installed/", "fetch", "Send it.");
    assert_eq!(place.trust("fetch").await, Trust::Changed);
    place.shelf.distrust("fetch", NOW).await.expect("taken back");
    assert_eq!(place.trust("fetch").await, Trust::Untrusted);
    place.shelf.distrust("fetch", NOW).await.expect("twice is once");

    place.skill("", "report", "Write it.");
    let own = place.shelf.distrust("report", NOW).await.expect_err("by its place");
    assert!(own.to_string().contains("your own"), "{own}");
}

#[tokio::test]
async fn two_folders_that_would_read_the_same_have_two_hashes() {
    let place = Place::new().await;
    for (name, file) in [("one", "a"), ("two", "ab")] {
        place.put(&format!("installed/{name}/SKILL.md"), "---\nname: x\ndescription: y\n---\nz");
        place.put(&format!("installed/{name}/{file}"), &"bc"[file.len() - 1..]);
    }
    let digest =
        |name: &str| super::Folder::read(&place.shelf.installed().join(name)).expect("read").digest;
    assert_ne!(digest("one"), digest("two"));
}

#[tokio::test]
async fn nothing_is_trusted_by_its_place_where_agents_can_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("rouse.db"), std::sync::Arc::new(|_| {}))
        .await
        .expect("a store");
    let skills = folder.path().join("skills");
    fs::create_dir_all(skills.join("report")).expect("a folder");
    fs::write(skills.join("report/SKILL.md"), "---\nname: report\ndescription: d\n---\nx")
        .expect("a file");
    let shelf = SkillShelf::new(skills, folder.path().to_owned(), store);
    let trust = shelf.list().await.expect("a list")[0].skill.as_ref().expect("a skill").trust;
    assert_eq!(trust, Trust::Untrusted);
}

#[tokio::test]
async fn a_bad_skill_is_listed_with_what_is_wrong_and_named_with_what_to_do() {
    let place = Place::new().await;
    let head = |name: &str| format!("---\nname: {name}\ndescription: d\n---\n");
    place.put("no-file/README.md", "x");
    place.put("no-head/SKILL.md", "# Just text");
    place.put("not-text/SKILL.md", [0xff, 0xfe, 0x00]);
    place.put("too-large/SKILL.md", head("too-large") + &"x".repeat(65 << 10));
    place.put("too-much/SKILL.md", head("too-much") + "x");
    place.put("too-much/data.bin", vec![0; 3 << 20]);
    place.put("no-body/SKILL.md", head("no-body"));
    place.put("other-name/SKILL.md", head("another") + "x");
    place.put("Capital/SKILL.md", head("Capital") + "x");
    for number in 0..101 {
        place.put(&format!("too-many/{number}.txt"), "x");
    }
    place.put("too-deep/a/b/c/d/e/f.txt", "x");
    place.skill("", "twice", "Mine.");
    place.skill("installed/", "twice", "Theirs.");
    #[cfg_attr(not(unix), expect(unused_mut, reason = "links are tried on Unix"))]
    let mut expected = vec![
        ("no-file", "has no SKILL.md"),
        ("no-head", "has no head"),
        ("not-text", "no text in UTF-8"),
        ("too-large", "larger than 64 KB"),
        ("too-much", "more than 2 MB"),
        ("no-body", "no instructions"),
        ("other-name", "calls itself another"),
        ("Capital", "small letters"),
        ("too-many", "more than 100 files"),
        ("too-deep", "more than 4 deep"),
    ];
    #[cfg(unix)]
    {
        place.put("linked/SKILL.md", head("linked") + "x");
        let to = place.folder.path().join("rouse.db");
        std::os::unix::fs::symlink(to, place.shelf.root().join("linked/out")).expect("a link");
        std::os::unix::fs::symlink("linked", place.shelf.root().join("link")).expect("a link");
        expected.extend([("linked", "out is a link"), ("link", "It is a link")]);
    }
    let listed = place.listed().await;
    for (name, words) in expected {
        let found = listed.iter().find(|found| found.name == name).expect(name);
        let flaw = found.skill.as_ref().expect_err(name);
        assert!(flaw.contains(words), "{name}: {flaw}");
        let why = place.why_not(name).await;
        assert!(why.contains(name), "{why}");
    }
    let twice: Vec<_> = listed.iter().filter(|found| found.name == "twice").collect();
    assert!(twice[0].skill.is_ok() && !twice[0].is_installed);
    assert!(twice[1].skill.as_ref().is_err_and(|flaw| flaw.contains("among your own")));
    assert_eq!(place.trust("twice").await, Trust::Own, "the person's own is the one");
    let why = place.why_not("missing").await;
    assert!(
        why.contains("There is no skill called missing") && why.contains("do not name it"),
        "{why}"
    );
    assert!(place.why_not("../etc").await.contains("is no name of a skill"));
    assert!(place.why_not("installed").await.contains("There is no skill"));
}

#[tokio::test]
async fn a_file_of_a_skill_is_read_only_as_it_was_when_the_run_began() {
    let place = Place::new().await;
    place.skill("installed/", "fetch", "Fetch it.");
    place.put("installed/fetch/data/list.txt", "one");
    let skill = place.listed().await[0].skill.clone().expect("a good skill");
    let in_run = SkillInRun::from(&skill);
    let read =
        async |path: Option<&str>| place.shelf.read(&in_run, path).await.map_err(|error| error.0);
    assert_eq!(read(None).await.as_deref(), Ok("Fetch it.\n"));
    assert_eq!(read(Some("data/list.txt")).await.as_deref(), Ok("one"));
    for out in ["../../../rouse.db", "/etc/passwd", "data", "data/../SKILL.md"] {
        let refused = read(Some(out)).await.expect_err(out);
        assert!(refused.contains("has no file"), "{refused}");
    }
    place.put("installed/fetch/data/list.txt", "two");
    let changed = read(Some("data/list.txt")).await.expect_err("changed");
    assert!(changed.contains("has changed since this run began"), "{changed}");
}
