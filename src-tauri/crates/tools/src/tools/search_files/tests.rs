use std::fs;

use serde_json::Value;

use super::*;
use crate::test_context::{call_in, call_with, context};

fn tool() -> SearchFiles {
    SearchFiles::new(Vec::new().into())
}

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [
        ("a.md", "first\nNOTE one\n"),
        ("b/c.rs", "fn main() {}\r\n// note two\r\n"),
        ("b/d.md", "NOTE three\n"),
        ("b/skip/e.md", "NOTE ignored\n"),
        (".hidden.md", "NOTE hidden\n"),
        (".gitignore", "skip\n"),
        ("bin.dat", "NOTE\0\n"),
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
    let content = found(json!({ "pattern": "^NOTE" })).await;
    assert_eq!(content, "a.md:2: NOTE one\nb/d.md:1: NOTE three");
    let content = found(json!({ "pattern": "note t", "ignoreCase": true })).await;
    assert_eq!(content, "b/c.rs:2: // note two\nb/d.md:1: NOTE three");
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
async fn hidden_and_ignored_files_are_omitted_unless_requested() {
    let content =
        found(json!({ "pattern": "NOTE", "showHidden": true, "showIgnored": true })).await;
    let names: Vec<&str> = content.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(names, [".hidden.md", "a.md", "b/d.md", "b/skip/e.md"]);
}

#[tokio::test]
async fn path_may_be_a_single_file() {
    assert_eq!(found(json!({ "pattern": "o", "path": "b/d.md" })).await, "");
    assert_eq!(found(json!({ "pattern": "O", "path": "b/d.md" })).await, "b/d.md:1: NOTE three");
}

#[tokio::test]
async fn long_result_is_paged() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a"), "x\n".repeat(PAGE_RESULTS + 3)).expect("written");
    let first = call_in(&tool(), folder.path(), json!({ "pattern": "x" })).await;
    assert_eq!(
        (&first.value["found"], &first.value["nextOffset"]),
        (&json!(PAGE_RESULTS), &json!(PAGE_RESULTS))
    );
    let rest = json!({ "pattern": "x", "offset": PAGE_RESULTS });
    let rest = call_in(&tool(), folder.path(), rest).await;
    assert_eq!((&rest.value["found"], rest.value.get("nextOffset")), (&json!(3), None));
    fs::write(folder.path().join("a"), format!("{}\n", "y".repeat(5_000))).expect("written");
    let long = call_in(&tool(), folder.path(), json!({ "pattern": "y" })).await;
    assert!(long.value["content"].as_str().is_some_and(|text| text.len() < 400), "{long:?}");
}

#[tokio::test]
async fn invalid_search_is_an_error_with_the_reason() {
    for (arguments, expected) in [
        (json!({}), "Give a pattern for lines, a glob for file names, or both"),
        (json!({ "pattern": "(" }), "not a valid regular expression: unclosed group"),
        (json!({ "pattern": r"\w{1000}{100}" }), "not a valid regular expression"),
        (json!({ "glob": "a[" }), "The glob is not valid"),
        (json!({ "glob": "*", "path": "nowhere" }), "nowhere does not exist"),
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
    fs::write(outside.path().join("key"), "NOTE secret").expect("written");
    std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).expect("a link");
    let output = call_in(&tool(), folder.path(), json!({ "pattern": "secret" })).await;
    assert_eq!(output.value["found"], 0, "{output:?}");
}

#[tokio::test]
async fn granted_folder_is_searched_by_absolute_path() {
    let (folder, notes) = (workspace(), workspace());
    let real = notes.path().canonicalize().expect("there").display().to_string();
    let context =
        ToolContext { folders: vec![real.parse().expect("a folder")], ..context(folder.path()) };
    let arguments = json!({ "glob": "*.rs", "path": real });
    let output = call_with(&tool(), &context, arguments).await;
    assert_eq!(output.value["content"], json!(format!("{real}/b/c.rs")), "{output:?}");
}
