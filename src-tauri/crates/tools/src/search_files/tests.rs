use std::fs;

use serde_json::Value;

use super::*;
use crate::testing::{call_in, call_with, context};

fn tool() -> SearchFiles {
    SearchFiles::new(Vec::new().into())
}

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("a.md", "first\nTODO one\n"),
        ("b/c.rs", "fn main() {}\r\n// todo two\r\n"),
        ("b/d.md", "TODO three\n"),
        ("b/skip/e.md", "TODO ignored\n"),
        (".hidden.md", "TODO hidden\n"),
        (".gitignore", "skip\n"),
        ("bin.dat", "TODO\0\n"),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    folder
}

async fn found(arguments: Value) -> String {
    let output = call_in(&tool(), workspace().path(), arguments).await;
    assert!(!output.is_error(), "{output:?}");
    output.value["content"].as_str().expect("content").to_owned()
}

#[tokio::test]
async fn pattern_finds_lines_with_their_numbers() {
    let content = found(json!({ "pattern": "^TODO" })).await;
    assert_eq!(content, "a.md:2: TODO one\nb/d.md:1: TODO three");
    let content = found(json!({ "pattern": "todo t", "ignoreCase": true })).await;
    assert_eq!(content, "b/c.rs:2: // todo two\nb/d.md:1: TODO three");
    assert_eq!(found(json!({ "pattern": r"\{\}$" })).await, "b/c.rs:1: fn main() {}");
}

#[tokio::test]
async fn glob_finds_files_and_narrows_a_pattern() {
    assert_eq!(found(json!({ "glob": "*.md" })).await, "a.md\nb/d.md");
    assert_eq!(found(json!({ "glob": "b/*.md" })).await, "b/d.md");
    assert_eq!(found(json!({ "glob": "*.md", "path": "b" })).await, "b/d.md");
    assert_eq!(found(json!({ "glob": "*.rs", "pattern": "main" })).await, "b/c.rs:1: fn main() {}");
    assert_eq!(found(json!({ "glob": "*.txt" })).await, "");
}

#[tokio::test]
async fn hidden_and_ignored_files_are_left_out_unless_wanted() {
    let content =
        found(json!({ "pattern": "TODO", "showHidden": true, "showIgnored": true })).await;
    let names: Vec<&str> = content.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(names, [".hidden.md", "a.md", "b/d.md", "b/skip/e.md"]);
}

#[tokio::test]
async fn path_may_be_a_single_file() {
    assert_eq!(found(json!({ "pattern": "o", "path": "b/d.md" })).await, "");
    assert_eq!(found(json!({ "pattern": "O", "path": "b/d.md" })).await, "b/d.md:1: TODO three");
}

#[tokio::test]
async fn long_result_says_how_to_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a"), "x\n".repeat(PAGE + 3)).expect("written");
    let first = call_in(&tool(), folder.path(), json!({ "pattern": "x" })).await;
    assert_eq!((&first.value["found"], &first.value["nextOffset"]), (&json!(PAGE), &json!(PAGE)));
    let rest = json!({ "pattern": "x", "offset": PAGE });
    let rest = call_in(&tool(), folder.path(), rest).await;
    assert_eq!((&rest.value["found"], rest.value.get("nextOffset")), (&json!(3), None));
    fs::write(folder.path().join("a"), format!("{}\n", "y".repeat(5_000))).expect("written");
    let long = call_in(&tool(), folder.path(), json!({ "pattern": "y" })).await;
    assert!(long.value["content"].as_str().is_some_and(|text| text.len() < 400), "{long:?}");
}

#[tokio::test]
async fn search_that_cannot_be_made_says_why() {
    for (arguments, expected) in [
        (json!({}), "Say what to search for"),
        (json!({ "pattern": "(" }), "no regular expression: unclosed group"),
        (json!({ "pattern": r"\w{1000}{100}" }), "no regular expression"),
        (json!({ "glob": "a[" }), "The glob cannot be read"),
        (json!({ "glob": "*", "path": "nowhere" }), "nothing at nowhere"),
        (json!({ "glob": "*", "path": "../x" }), "outside the workspace"),
    ] {
        let output = call_in(&tool(), workspace().path(), arguments.clone()).await;
        let words = output.words.clone().unwrap_or_default();
        assert!(output.is_error() && words.contains(expected), "{arguments}: {words}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn link_is_not_followed() {
    let (folder, outside) = (workspace(), tempfile::tempdir().expect("a folder"));
    fs::write(outside.path().join("key"), "TODO secret").expect("written");
    std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).expect("a link");
    let output = call_in(&tool(), folder.path(), json!({ "pattern": "secret" })).await;
    assert_eq!(output.value["found"], 0, "{output:?}");
}

#[tokio::test]
async fn granted_folder_is_searched_by_its_whole_path() {
    let (folder, notes) = (workspace(), workspace());
    let real = notes.path().canonicalize().expect("there").display().to_string();
    let context =
        ToolContext { folders: vec![real.parse().expect("a folder")], ..context(folder.path()) };
    let arguments = json!({ "glob": "*.rs", "path": real });
    let output = call_with(&tool(), &context, arguments).await;
    assert_eq!(output.value["content"], json!(format!("{real}/b/c.rs")), "{output:?}");
}
