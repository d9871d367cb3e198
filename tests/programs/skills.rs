//! `rouse skills`: list, show, trust and distrust.

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
