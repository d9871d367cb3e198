//! Tests of `write_file`: content, approval text and binding.

use std::fs;

use rouse_core::tool::ToolOutput;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::test_context::{call_in, context};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

async fn write(dir: &TempDir, path: &str, content: &str) -> ToolOutput {
    call_in(
        &WriteFile::new(Vec::new().into()),
        dir.path(),
        json!({ "path": path, "content": content }),
    )
    .await
}

async fn preview(dir: &TempDir, path: &str, content: &str) -> String {
    let arguments = json!({ "path": path, "content": content });
    WriteFile::new(Vec::new().into()).preview(&arguments, &context(dir.path())).await
}

async fn bound_to(dir: &TempDir, path: &str) -> Result<String, ToolOutput> {
    let arguments: Value = json!({ "path": path, "content": "x" });
    let bound =
        WriteFile::new(Vec::new().into()).surroundings(&arguments, &context(dir.path())).await?;
    assert_eq!(bound.directory, Some(dir.path().display().to_string()));
    Ok(bound.replaces[path].clone())
}

fn text(dir: &TempDir, path: &str) -> String {
    fs::read_to_string(dir.path().join(path)).expect("a file")
}

#[tokio::test]
async fn file_is_created_with_folders_and_replaced() {
    let dir = folder();
    for (path, content, created) in [
        ("a.txt", "one", true),
        ("a.txt", "", false),
        ("x/y/z/b.txt", "Grüße\r\n", true),
        ("./x//y/c.txt", "c", true),
    ] {
        let output = write(&dir, path, content).await;
        assert_eq!(output.value["success"], true, "{path}: {}", output.text());
        assert_eq!(output.value["created"], created, "{path}");
        assert_eq!(output.value["bytes"], content.len(), "{path}");
        let how = if created { "Created " } else { "Replaced " };
        assert!(output.words.is_some_and(|words| words.starts_with(how)), "{path}");
        assert_eq!(text(&dir, path), content);
    }
    let left: Vec<_> = fs::read_dir(dir.path()).expect("listed").collect();
    assert_eq!(left.len(), 2, "nothing is left beside: {left:?}");
}

#[tokio::test]
async fn oversized_content_is_refused() {
    let dir = folder();
    let most = "ü".repeat(MAX_BYTES / 2);
    assert!(!write(&dir, "a", &most).await.is_error());
    let output = write(&dir, "a", &format!("{most}x")).await;
    assert_eq!(output.fault, Some(Fault::InvalidParameters), "{:?}", output.words);
    assert_eq!(text(&dir, "a"), most, "the old content stays");
}

#[tokio::test]
async fn approval_shows_an_escaped_diff() {
    let dir = folder();
    let lines = |changed: &str| format!("1\n2\n3\n4\n5\n{changed}\n7\n8\n9\n10\n11\n");
    fs::write(dir.path().join("a"), lines("six")).expect("a file");
    let expected = "--- a\n+++ a\n@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-six\n+⟨U+001B⟩[2K⟨U+202E⟩xis⟨U+000D⟩\n 7\n 8\n 9\n";
    assert_eq!(preview(&dir, "a", &lines("\u{1b}[2K\u{202e}xis\r")).await, expected);
    assert_eq!(preview(&dir, "a", &lines("six")).await, "a already has this content.");
    let new = preview(&dir, "new/b", "x\ny").await;
    assert_eq!(
        new,
        "--- /dev/null\n+++ new/b\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n"
    );
    assert!(!dir.path().join("new").exists(), "asking makes nothing");
    assert_eq!(preview(&dir, "c", "").await, "--- /dev/null\n+++ c\n(empty)\n");
    fs::write(dir.path().join("d"), b"\xff\0").expect("a file");
    let binary = preview(&dir, "d", "text").await;
    assert!(binary.contains("d (2 bytes, not compared)") && binary.contains("+text"));
    let refused = preview(&dir, "../e", "\u{1b}").await;
    assert!(refused.contains("outside the workspace") && refused.contains("../e"), "{refused}");
}

#[cfg(unix)]
#[tokio::test]
async fn approval_names_the_written_file() {
    let dir = folder();
    fs::write(dir.path().join("notes.txt"), "old\n").expect("a file");
    for (path, named) in [
        ("a\u{202e}b.txt", "a⟨U+202E⟩b.txt"),
        ("notes.txt ", "notes.txt⟨U+0020⟩"),
        (" notes.txt", "⟨U+0020⟩notes.txt"),
        ("x /a  b", "x⟨U+0020⟩/a ⟨U+0020⟩b"),
        ("a\u{200b}\u{1b}[2K\n+++ b", "a⟨U+200B⟩⟨U+001B⟩[2K⟨U+000A⟩+++ b"),
        ("⟨U+202E⟩", "⟨U+27E8⟩U+202E⟩"),
        ("two words", "two words"),
    ] {
        let shown = preview(&dir, path, "new\n").await;
        assert_eq!(shown, format!("--- /dev/null\n+++ {named}\n@@ -0,0 +1 @@\n+new\n"));
        let arguments: Value = json!({ "path": path, "content": "x" });
        let bound =
            WriteFile::new(Vec::new().into()).surroundings(&arguments, &context(dir.path())).await;
        let files = bound.expect("writable").replaces;
        assert_eq!(files.keys().collect::<Vec<_>>(), [named]);
    }
}

#[tokio::test]
async fn approval_shows_the_lines_of_the_new_file() {
    let dir = folder();
    fs::write(dir.path().join("a"), "one\r").expect("a file");
    let shown = preview(&dir, "a", "one\rtwo\u{2028}three\r").await;
    let end = "\n\\ No newline at end of file\n";
    assert_eq!(
        shown,
        format!(
            "--- a\n+++ a\n@@ -1 +1 @@\n-one⟨U+000D⟩{end}+one⟨U+000D⟩two⟨U+2028⟩three⟨U+000D⟩{end}"
        )
    );
}

#[tokio::test]
async fn long_diff_is_not_truncated() {
    let dir = folder();
    let content: String = (0..20_000).map(|line| format!("line {line}\n")).collect();
    let shown = preview(&dir, "a", &content).await;
    let shown: std::collections::HashSet<&str> = shown.lines().collect();
    assert!((0..20_000).all(|line| shown.contains(format!("+line {line}").as_str())));
}

#[tokio::test]
async fn approval_is_bound_to_the_replaced_content() {
    let dir = folder();
    assert_eq!(bound_to(&dir, "new/a").await.expect("writable"), "absent");
    assert!(!dir.path().join("new").exists(), "asking makes nothing");
    fs::write(dir.path().join("a"), "abc").expect("a file");
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(bound_to(&dir, "a").await.expect("writable"), abc);
    fs::create_dir(dir.path().join("folder")).expect("a folder");
    for path in ["folder", ".", "../a", "a/b"] {
        let refused = bound_to(&dir, path).await.expect_err(path);
        assert_eq!(refused.value["success"], false, "{path}");
    }
}

#[tokio::test]
async fn redaction_mark_is_not_written_over_the_secret() {
    let dir = folder();
    fs::write(dir.path().join("conf.ini"), "# see [redacted: b]\nkey=real\n").expect("a file");
    let (told, kept) = ("key=[redacted: secret:vault]\n", "# see [redacted: b]\nkey=other\n");
    let twice = "# see [redacted: b]\nkey=[redacted: b]\n";
    for (path, content, is_written) in [
        ("conf.ini", told, false),
        ("conf.ini", twice, false),
        ("other.ini", told, true),
        ("conf.ini", kept, true),
        ("new.ini", "key={{secret:vault}} [redacted\n", true),
    ] {
        let arguments = json!({ "path": path, "content": content });
        let surroundings =
            WriteFile::new(Vec::new().into()).surroundings(&arguments, &context(dir.path())).await;
        assert_eq!(surroundings.is_ok(), is_written, "{content}");
        let output = write(&dir, path, content).await;
        assert_eq!(output.is_error(), !is_written, "{content}: {}", output.text());
        let message = output.words.unwrap_or_default();
        assert!(is_written || message.contains("Leave this file unchanged"), "{message}");
        assert!(is_written || !message.contains("{{{{"), "{message}");
    }
    assert_eq!(text(&dir, "conf.ini"), kept);
}
