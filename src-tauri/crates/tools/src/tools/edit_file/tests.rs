use std::fs;

use rouse_core::policy::{PolicyVerdict, ToolPolicy};

use super::*;
use crate::test_context::{call_in, context};

fn tool() -> EditFile {
    EditFile::new(Vec::new().into())
}

fn workspace(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.md"), text).expect("written");
    folder
}

async fn edited(text: &str, mut arguments: Value) -> (ToolOutput, String) {
    let folder = workspace(text);
    arguments["path"] = "a.md".into();
    let output = call_in(&tool(), folder.path(), arguments).await;
    (output, fs::read_to_string(folder.path().join("a.md")).expect("there"))
}

fn why(output: &ToolOutput) -> &str {
    assert!(output.is_error(), "{output:?}");
    output.words.as_deref().expect("words")
}

#[tokio::test]
async fn unique_text_is_replaced_exactly() {
    let edit = json!({ "oldText": "two\n", "newText": "2\n" });
    let (output, text) = edited("one\ntwo\nthree\n", edit).await;
    assert_eq!(text, "one\n2\nthree\n", "{output:?}");
    assert_eq!(output.value["replaced"], 1);
    assert_eq!(output.words.as_deref(), Some("Edited a.md in 1 place."));
    let (_, text) = edited("a $1 \\n b", json!({ "oldText": "$1 \\n", "newText": "" })).await;
    assert_eq!(text, "a  b");
}

#[tokio::test]
async fn missing_text_changes_nothing() {
    let (output, text) = edited("one\n", json!({ "oldText": "One", "newText": "1" })).await;
    assert!(why(&output).contains("oldText does not occur in a.md"), "{output:?}");
    assert_eq!(text, "one\n");
}

#[tokio::test]
async fn text_found_twice_needs_replace_all() {
    let mut edit = json!({ "oldText": "x", "newText": "y" });
    let (output, text) = edited("x\n\nx\n", edit.clone()).await;
    assert!(why(&output).contains("occurs 2 times in a.md (lines 1, 3)"), "{output:?}");
    assert_eq!(text, "x\n\nx\n");
    edit["replaceAll"] = true.into();
    let (output, text) = edited("x\n\nx\n", edit).await;
    assert_eq!((text.as_str(), &output.value["replaced"]), ("y\n\ny\n", &json!(2)));
}

#[tokio::test]
async fn edit_without_a_change_is_refused() {
    let (output, _) = edited("x", json!({ "oldText": "x", "newText": "x" })).await;
    assert!(why(&output).contains("are the same"), "{output:?}");
}

#[tokio::test]
async fn windows_line_ends_stay() {
    let edit = json!({ "oldText": "one\ntwo", "newText": "1\n2" });
    let (output, text) = edited("one\r\ntwo\r\nthree\r\n", edit).await;
    assert_eq!(text, "1\r\n2\r\nthree\r\n", "{output:?}");
}

#[tokio::test]
async fn binary_file_is_refused() {
    let folder = workspace("");
    fs::write(folder.path().join("a.md"), [0xff, b'x']).expect("written");
    let arguments = json!({ "path": "a.md", "oldText": "x", "newText": "y" });
    let output = call_in(&tool(), folder.path(), arguments.clone()).await;
    assert!(why(&output).contains("not UTF-8 text"), "{output:?}");
    fs::remove_file(folder.path().join("a.md")).expect("removed");
    let output = call_in(&tool(), folder.path(), arguments).await;
    assert!(why(&output).contains("a.md does not exist"), "{output:?}");
}

#[tokio::test]
async fn approval_shows_the_change_and_is_bound_to_the_content() {
    let folder = workspace("one\ntwo\n");
    let (tool, context) = (tool(), context(folder.path()));
    let arguments = json!({ "path": "a.md", "oldText": "two", "newText": "2" });
    let shown = tool.preview(&arguments, &context).await;
    assert!(shown.contains("-two\n+2\n") && shown.contains("+++ a.md"), "{shown}");
    let before = tool.surroundings(&arguments, &context).await.expect("fits");
    fs::write(folder.path().join("a.md"), "one\ntwo\nmore\n").expect("written");
    let after = tool.surroundings(&arguments, &context).await.expect("fits");
    assert_ne!(before, after);
    fs::write(folder.path().join("a.md"), "nothing").expect("written");
    assert!(tool.surroundings(&arguments, &context).await.is_err());
}

#[tokio::test]
async fn file_changed_after_its_approval_is_not_edited() {
    let folder = workspace("one\n");
    let (tool, context) = (tool(), context(folder.path()));
    let arguments = json!({ "path": "a.md", "oldText": "one", "newText": "1" });
    let bound = tool.surroundings(&arguments, &context).await.expect("fits");
    for text in ["one and more\n", "nothing", "one one"] {
        fs::write(folder.path().join("a.md"), text).expect("written");
        let policy = ToolPolicy::for_written_call("edit_file", &arguments);
        let PolicyVerdict::Allowed(call) = policy.judge(tool.spec(), arguments.clone()) else {
            panic!("not let through")
        };
        let output = tool.call(call.bound_to(bound.clone()), &context).await;
        assert!(why(&output).contains("has changed since the approval"), "{output:?}");
        assert_eq!(fs::read_to_string(folder.path().join("a.md")).expect("there"), text);
    }
}

#[tokio::test]
async fn file_of_a_granted_folder_is_edited_only_with_a_write_grant() {
    let (folder, notes) = (workspace(""), workspace("one"));
    let real = notes.path().canonicalize().expect("there");
    let arguments = json!({ "path": real.join("a.md").display().to_string(), "oldText": "one", "newText": "1" });
    for (end, expected) in [("", "one"), (":write", "1")] {
        let grant = format!("{}{end}", real.display()).parse().expect("a folder");
        let context = ToolContext { folders: vec![grant], ..context(folder.path()) };
        let output = crate::test_context::call_with(&tool(), &context, arguments.clone()).await;
        assert_eq!(output.is_error(), end.is_empty(), "{output:?}");
        assert_eq!(fs::read_to_string(real.join("a.md")).expect("there"), expected);
    }
}
