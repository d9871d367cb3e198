//! `rouse skills`: list, show, add, trust, distrust and remove.

use std::fs;

use crate::engine::TestHome;

fn put(home: &TestHome, name: &str, text: &str) {
    let folder = home.data().join("skills/installed").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("SKILL.md"), text).expect("a file");
}

#[tokio::test]
async fn changed_skill_loses_its_trust() {
    let home = TestHome::new();
    let engine = home.serve().await;
    assert!(home.rouse(["skills", "list"]).ok().starts_with("No skills. Put a folder"));
    put(&home, "fetch", "---\nname: fetch\ndescription: Fetches.\n---\nFetch \u{202e}it.\n");
    put(&home, "broken", "no head");
    let list = home.rouse(["skills", "list"]);
    assert!(list.ok().contains("not trusted") && list.ok().contains("unusable"), "{list:#?}");
    let shown = home.rouse(["skills", "show", "fetch"]);
    assert!(shown.ok().contains("Fetch ⟨U+202E⟩it."), "{shown:#?}");
    let added =
        ["cron", "add", "--manual", "--name", "Get", "--message", "Get it", "--skills", "fetch"];
    home.rouse(added).ok();
    let offered = home.rouse(["tools", "--job", "Get"]);
    assert!(offered.ok().contains("the skill fetch, which is not trusted"), "{offered:#?}");
    assert!(!offered.ok().contains("write_file"), "{offered:#?}");
    assert!(
        home.rouse(["skills", "trust", "fetch"])
            .ok()
            .starts_with("Trusted until its folder changes: fetch.")
    );
    assert!(home.rouse(["tools", "--job", "Get"]).ok().contains("write_file"));
    put(&home, "fetch", "---\nname: fetch\ndescription: Fetches.\n---\nSend it.\n");
    assert!(home.rouse(["skills", "list"]).ok().contains("changed since it was trusted"));
    assert!(home.rouse(["skills", "distrust", "fetch"]).ok().contains("is not trusted any more"));
    for word in ["trust", "distrust"] {
        home.rouse(["skills", word, "broken"]).assert_error(5, "broken is unusable: ");
    }
    let missing = home.rouse(["skills", "show", "nothing"]);
    assert!(missing.err.contains("There is no skill nothing."), "{missing:#?}");
    drop(engine);
}

#[tokio::test]
async fn skill_is_installed_after_its_page_was_accepted() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let source = home.sibling("download");
    fs::create_dir(&source).expect("a folder");
    let write = |body: &str| {
        let text = format!("---\nname: fetch\ndescription: Fetches.\n---\n{body}\n");
        fs::write(source.join("SKILL.md"), text).expect("a file");
    };
    write("Fetch \u{202e}it.");
    let path = source.to_str().expect("UTF-8");
    let offered = home.rouse(["skills", "add", path]);
    assert_eq!(offered.code, 5, "{offered:#?}");
    let accept = "To accept exactly this page: rouse skills add --accept ";
    assert!(offered.err.contains(accept), "{offered:#?}");
    for words in ["You install the skill fetch.", "\u{2502} Fetch \u{27e8}U+202E\u{27e9}it."] {
        assert!(offered.out.contains(words), "{words}: {offered:#?}");
    }
    let hash = offered.out.lines().last().and_then(|line| line.split(' ').next_back());
    let accepting = ["skills", "add", path, "--accept", hash.expect("a hash")];
    let installed = home.rouse(accepting);
    assert!(installed.ok().contains("rouse cron add \u{2026} --skills fetch"), "{installed:#?}");
    assert!(!home.rouse(["skills", "list"]).ok().contains("not trusted"));
    write("Send it.");
    home.rouse(accepting).assert_error(5, "The files have changed since you read their page.");
    let page = home.rouse(["skills", "add", path, "--json"]);
    assert!(page.code == 5 && page.err.contains("Nothing was installed."), "{page:#?}");
    assert!(page.out.contains("\"replaces\": \""), "{page:#?}");

    put(&home, "fetch", "---\nname: fetch\ndescription: Fetches.\n---\nSend it.\n");
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.out.contains("The skill fetch has changed since you trusted it"), "{doctor:#?}");
    let added =
        ["cron", "add", "--manual", "--name", "Get", "--message", "Get it", "--skills", "fetch"];
    home.rouse(added).ok();
    home.rouse(["skills", "remove", "fetch"]).assert_error(5, "rouse skills remove fetch --yes");
    let removed = home.rouse(["skills", "remove", "fetch", "--yes"]);
    assert!(removed.ok().contains("Its runs fail without the skill: Get"), "{removed:#?}");
    assert!(!home.data().join("skills/installed/fetch").exists());
    home.rouse(["skills", "remove", "fetch", "--yes"]).assert_error(4, "There is no skill fetch");
    drop(engine);
}
