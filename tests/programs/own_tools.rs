//! Tools in folders on the command line: the example of `docs/make-a-tool.md`, from its check to its removal.

use serde_json::{Value, json};

use crate::engine::TestHome;

const PAGE: &str = include_str!("../../docs/make-a-tool.md");

/// The first block of the page in this language, without its indentation.
fn block(language: &str) -> String {
    let start = format!("   ```{language}\n");
    let (_, rest) = PAGE.split_once(&start).expect("a block");
    let (text, _) = rest.split_once("   ```\n").expect("its end");
    text.lines().map(|line| format!("{}\n", line.strip_prefix("   ").unwrap_or(line))).collect()
}

#[tokio::test]
async fn tool_of_the_documentation_is_checked_and_installed() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let folder = home.sibling("dice");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("tool.toml"), block("toml")).expect("a file");
    let path = folder.to_str().expect("a path");
    let unfinished = home.rouse(["tools", "check", path]);
    assert!(unfinished.code == 1 && unfinished.out.contains("no tool.js"), "{unfinished:#?}");
    std::fs::write(folder.join("tool.js"), block("js")).expect("a file");
    let checked = home.rouse(["tools", "check", path]);
    assert!(checked.ok().contains("dice: 2 of 2 tests passed"), "{checked:#?}");

    let page = home.rouse(["tools", "add", path]);
    assert!(page.code == 5 && page.out.starts_with("You install the tool dice."), "{page:#?}");
    let accept = |text: &str| {
        let (_, rest) = text.split_once("--accept ").expect("a hash");
        rest.split_whitespace().next().expect("a hash").to_owned()
    };
    let tools = home.rouse(["tools", "add", path, "--accept", &accept(&page.err)]);
    assert_eq!(tools.code, 5, "{tools:#?}");
    home.rouse(["extensions", "accept", "dice", "--accept", &accept(&tools.err)]).ok();
    let tried = home.rouse(["tools", "try", "dice", r#"{"dice":[2,5]}"#]);
    let result: Value = serde_json::from_str(tried.ok()).expect("JSON");
    assert_eq!(result, json!({ "pips": 7 }));
    assert!(home.rouse(["tools", "built"]).ok().contains("accepted"));
    assert!(home.rouse(["tools", "source", "dice"]).ok().contains("args.dice.reduce"));
    home.rouse(["tools", "remove", "dice"]).ok();
    assert!(
        home.rouse(["tools", "built"]).ok().contains("accepted"),
        "the installed version stays"
    );
    home.rouse(["extensions", "remove", "dice", "--yes"]).ok();
    assert!(home.rouse(["tools", "remove", "dice"]).ok().contains("are removed"));
    let gone = home.rouse(["tools", "source", "dice"]);
    assert!(gone.err.contains("no such version of a built tool dice"), "{gone:#?}");
    drop(engine);
}
