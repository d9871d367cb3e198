//! `rouse skills`: what there is is listed, looked at and trusted, by the real programs.

use std::fs;

use crate::engine::Home;

fn put(home: &Home, name: &str, text: &str) {
    let folder = home.data().join("skills/installed").join(name);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("SKILL.md"), text).expect("a file");
}

#[tokio::test]
async fn a_skill_is_listed_looked_at_trusted_and_lost_again_by_a_change() {
    let home = Home::new();
    let engine = home.serve().await;
    assert!(home.rouse(["skills", "list"]).ok().starts_with("No skills. Put a folder"));
    put(&home, "fetch", "---\nname: fetch\ndescription: Fetches.\n---\nFetch \u{202e}it.\n");
    put(&home, "broken", "no head");
    let list = home.rouse(["skills", "list"]);
    assert!(list.ok().contains("not trusted") && list.ok().contains("cannot be used"), "{list:#?}");
    let shown = home.rouse(["skills", "show", "fetch"]);
    assert!(shown.ok().contains("Fetch ⟨U+202E⟩it."), "{shown:#?}");
    let added =
        ["cron", "add", "--manual", "--name", "Get", "--message", "Get it", "--skills", "fetch"];
    home.rouse(added).ok();
    let offered = home.rouse(["tools", "--job", "Get"]);
    assert!(offered.ok().contains("the skill fetch, which nobody has trusted"), "{offered:#?}");
    assert!(!offered.ok().contains("write_file"), "{offered:#?}");
    assert!(home.rouse(["skills", "trust", "fetch"]).ok().starts_with("Trusted as it is: fetch."));
    assert!(home.rouse(["tools", "--job", "Get"]).ok().contains("write_file"));
    put(&home, "fetch", "---\nname: fetch\ndescription: Fetches.\n---\nSend it.\n");
    assert!(home.rouse(["skills", "list"]).ok().contains("changed since it was trusted"));
    assert!(home.rouse(["skills", "distrust", "fetch"]).ok().contains("is not trusted any more"));
    for word in ["trust", "distrust"] {
        home.rouse(["skills", word, "broken"]).refused(5, "broken cannot be used: ");
    }
    let missing = home.rouse(["skills", "show", "nothing"]);
    assert!(missing.err.contains("There is no skill called nothing."), "{missing:#?}");
    drop(engine);
}
