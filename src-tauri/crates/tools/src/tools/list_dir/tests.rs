//! Tests of `list_dir`.

use std::fs;

use rouse_core::tool::ToolOutput;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::ListDir;
use crate::test_context::call_in;

fn fixture() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir_all(dir.path().join("sub/deep")).expect("folders");
    for (name, text) in
        [("b.txt", "bb"), ("a.txt", "a"), ("sub/c.txt", "ccc"), ("sub/deep/d.txt", "dddd")]
    {
        fs::write(dir.path().join(name), text).expect("a file");
    }
    dir
}

async fn list(dir: &TempDir, arguments: Value) -> ToolOutput {
    call_in(&ListDir::new(Vec::new().into()), dir.path(), arguments).await
}

fn names(output: &ToolOutput) -> Vec<&str> {
    let entries = output.value["entries"].as_array().unwrap_or_else(|| panic!("{}", output.text()));
    entries.iter().map(|entry| entry["name"].as_str().expect("a name")).collect()
}

#[tokio::test]
async fn folder_is_listed_by_name() {
    let expected = json!({
        "success": true,
        "path": ".",
        "entries": [
            { "name": "a.txt", "isFile": true, "isDirectory": false, "size": 1 },
            { "name": "b.txt", "isFile": true, "isDirectory": false, "size": 2 },
            { "name": "sub", "isFile": false, "isDirectory": true, "size": null },
        ],
        "truncated": false,
    });
    let output = list(&fixture(), json!({})).await;
    assert_eq!(output, ToolOutput::ok(expected).in_words("a.txt\nb.txt\nsub"));
}

#[tokio::test]
async fn recursive_listing_is_breadth_first() {
    let dir = fixture();
    fs::create_dir(dir.path().join("zoo")).expect("a folder");
    fs::write(dir.path().join("zoo/z.txt"), "").expect("a file");
    let output = list(&dir, json!({ "recursive": true })).await;
    let top = ["a.txt", "b.txt", "sub", "zoo"];
    let below = ["sub/c.txt", "sub/deep", "zoo/z.txt", "sub/deep/d.txt"];
    assert_eq!(names(&output), [top, below].concat());
    assert_eq!(output.value["truncated"], false);
}

#[tokio::test]
async fn names_are_relative_to_the_requested_folder() {
    let output = list(&fixture(), json!({ "path": "sub", "recursive": true })).await;
    assert_eq!(output.value["path"], "sub");
    assert_eq!(names(&output), ["c.txt", "deep", "deep/d.txt"]);
}

#[tokio::test]
async fn truncated_listing_keeps_the_top() {
    let dir = fixture();
    for index in 0..499 {
        fs::write(dir.path().join(format!("sub/deep/f{index:04}")), "").expect("a file");
    }
    let output = list(&dir, json!({ "recursive": true })).await;
    assert_eq!(names(&output).len(), 500);
    assert_eq!(names(&output)[..5], ["a.txt", "b.txt", "sub", "sub/c.txt", "sub/deep"]);
    assert_eq!(output.value["truncated"], true);
}

#[tokio::test]
async fn five_hundred_entries_are_not_truncated() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for index in 0..500 {
        fs::write(dir.path().join(format!("f{index:04}")), "").expect("a file");
    }
    let output = list(&dir, json!({})).await;
    assert_eq!((names(&output).len(), &output.value["truncated"]), (500, &json!(false)));
    fs::write(dir.path().join("one-more"), "").expect("a file");
    let output = list(&dir, json!({})).await;
    assert_eq!((names(&output).len(), &output.value["truncated"]), (500, &json!(true)));
}

#[tokio::test]
async fn depth_limit_truncates_the_listing() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir_all(dir.path().join("1/2/3/4/5/6/7")).expect("folders");
    let output = list(&dir, json!({ "recursive": true })).await;
    assert_eq!((names(&output).len(), &output.value["truncated"]), (7, &json!(false)));
    fs::create_dir_all(dir.path().join("1/2/3/4/5/6/7/8/9")).expect("folders");
    let output = list(&dir, json!({ "recursive": true })).await;
    assert_eq!(names(&output).last(), Some(&"1/2/3/4/5/6/7/8"));
    assert_eq!(output.value["truncated"], true);
}

#[tokio::test]
async fn path_that_is_no_folder_inside_is_an_error() {
    let dir = fixture();
    for (path, expected) in [
        ("a.txt", "not a folder"),
        ("none", "none does not exist"),
        ("..", "outside"),
        ("/", "outside"),
    ] {
        let output = list(&dir, json!({ "path": path })).await;
        assert!(output.is_error() && output.text().contains(expected), "{path}: {}", output.text());
    }
}

/// Nested folders whose path is longer than the system allows.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn unreadable_folder_is_noted_and_hides_nothing() {
    use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
    let dir = tempfile::tempdir().expect("a temporary folder");
    let name = "d".repeat(250);
    let mut at = open(dir.path(), OFlags::DIRECTORY, Mode::empty()).expect("opened");
    for _ in 0..17 {
        mkdirat(&at, &name, Mode::RWXU).expect("a folder");
        at = openat(&at, &name, OFlags::DIRECTORY, Mode::empty()).expect("opened");
    }
    let start = [name.as_str(); 15].join("/");
    let output = list(&dir, json!({ "path": start, "recursive": true })).await;
    assert_eq!(names(&output), [name.clone(), format!("{name}/{name}")]);
    let notes = output.value["notes"].as_array().expect("notes");
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_listed_but_not_entered() {
    let dir = fixture();
    let outside = tempfile::tempdir().expect("a temporary folder");
    fs::write(outside.path().join("secret.txt"), "secret").expect("a file");
    std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).expect("a link");
    std::os::unix::fs::symlink(".", dir.path().join("sub/around")).expect("a link");
    let output = list(&dir, json!({ "recursive": true })).await;
    let link = json!({ "name": "link", "isFile": false, "isDirectory": false, "size": null, "isLink": true });
    assert!(
        output.value["entries"].as_array().expect("entries").contains(&link),
        "{}",
        output.text()
    );
    assert!(
        !output.text().contains("secret") && !output.text().contains("around/"),
        "{}",
        output.text()
    );
}

#[cfg(unix)]
#[tokio::test]
async fn name_with_line_end_is_escaped() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    fs::write(dir.path().join("evil\n\u{1b}[2J\u{202e}name"), "").expect("a file");
    assert_eq!(names(&list(&dir, json!({})).await), ["evil⟨U+000A⟩⟨U+001B⟩[2J⟨U+202E⟩name"]);
}

fn with_ignores() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for folder in [".git/objects", "target/debug", "app/node_modules/x", "app/build"] {
        fs::create_dir_all(dir.path().join(folder)).expect("folders");
    }
    let files = [
        (".gitignore", "target/\n*.log\n!keep.log\n/only-top\n# a comment\n[broken\n"),
        (".env", ""),
        ("a.log", ""),
        ("keep.log", ""),
        ("only-top", ""),
        ("app/.gitignore", "node_modules\n!b.log\n"),
        ("app/.ignore", "build/\n"),
        ("app/b.log", ""),
        ("app/c.log", ""),
        ("app/only-top", ""),
        ("app/target", "a file, not a folder"),
        ("app/node_modules/x/index.js", ""),
    ];
    for (name, text) in files {
        fs::write(dir.path().join(name), text).expect("a file");
    }
    dir
}

#[tokio::test]
async fn ignored_and_hidden_entries_are_counted_or_shown() {
    let dir = with_ignores();
    let output = list(&dir, json!({ "recursive": true })).await;
    let shown = ["app", "keep.log", "app/b.log", "app/only-top", "app/target"];
    assert_eq!(names(&output), shown);
    assert_eq!(output.value["leftOut"], json!({ "hidden": 4, "ignored": 7 }));
    let output = list(&dir, json!({ "showHidden": true })).await;
    assert_eq!(names(&output), [".env", ".gitignore", "app", "keep.log"]);
    let output = list(&dir, json!({ "showHidden": true, "showIgnored": true })).await;
    let all = [".env", ".git", ".gitignore", "a.log", "app", "keep.log", "only-top", "target"];
    assert_eq!(names(&output), all);
    assert!(output.value.get("leftOut").is_none(), "{}", output.text());
}

#[tokio::test]
async fn parent_rules_apply_and_ignored_folder_can_be_listed() {
    let dir = with_ignores();
    let output = list(&dir, json!({ "path": "app" })).await;
    assert_eq!(names(&output), ["b.log", "only-top", "target"]);
    let output = list(&dir, json!({ "path": "app/node_modules/x" })).await;
    assert_eq!(names(&output), ["index.js"]);
}

#[tokio::test]
async fn omitted_entries_do_not_count_as_listed() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    fs::write(dir.path().join(".gitignore"), "junk*\n").expect("a file");
    for index in 0..700 {
        fs::write(dir.path().join(format!("junk{index:04}")), "").expect("a file");
    }
    fs::write(dir.path().join("work"), "").expect("a file");
    let output = list(&dir, json!({})).await;
    assert_eq!((names(&output), &output.value["truncated"]), (vec!["work"], &json!(false)));
}

#[cfg(unix)]
#[tokio::test]
async fn ignore_rules_outside_are_not_read() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let outside = tempfile::tempdir().expect("a temporary folder");
    fs::write(outside.path().join("rules"), "a*\n").expect("a file");
    std::os::unix::fs::symlink(outside.path().join("rules"), dir.path().join(".gitignore"))
        .expect("a link");
    fs::write(dir.path().join("a"), "").expect("a file");
    assert_eq!(names(&list(&dir, json!({})).await), ["a"]);
}
