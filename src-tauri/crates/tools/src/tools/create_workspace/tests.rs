//! Tests of `create_workspace`.

use std::fs;

use rouse_core::tool::ToolOutput;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::test_context::{call_in, context};

async fn create(dir: &TempDir, arguments: Value) -> ToolOutput {
    call_in(&CreateWorkspace::new(false), dir.path(), arguments).await
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn readme(dir: &TempDir, path: &str) -> Option<String> {
    fs::read_to_string(dir.path().join(path).join(README)).ok()
}

#[tokio::test]
async fn folder_is_created_and_reported() {
    let dir = folder();
    let output = create(&dir, json!({ "name": "mail" })).await;
    let expected = json!({
        "success": true,
        "created": true,
        "path": "mail",
        "workspaceRoot": dir.path().display().to_string(),
        "riskyMode": false,
    });
    assert_eq!(output, ToolOutput::ok(expected).in_words("Created mail."));
    assert!(dir.path().join("mail").is_dir() && readme(&dir, "mail").is_none());
    let risky = call_in(&CreateWorkspace::new(true), dir.path(), json!({ "path": "a/b" })).await;
    assert_eq!((&risky.value["riskyMode"], &risky.value["path"]), (&json!(true), &json!("a/b")));
    assert!(dir.path().join("a/b").is_dir());
}

#[tokio::test]
async fn existing_folder_and_readme_stay() {
    let dir = folder();
    fs::create_dir(dir.path().join("mail")).expect("a folder");
    fs::write(dir.path().join("mail/README.md"), "mine").expect("a file");
    fs::write(dir.path().join("file"), "").expect("a file");
    let refused = create(&dir, json!({ "name": "mail", "createReadme": true })).await;
    assert!(refused.is_error() && refused.text().contains("already exists"), "{refused:?}");
    let arguments = json!({ "name": "mail", "allowExisting": true, "createReadme": true });
    let output = create(&dir, arguments).await;
    let told = (&output.value["created"], &output.value["readmeCreated"]);
    assert_eq!(told, (&json!(false), &json!(false)));
    assert_eq!(readme(&dir, "mail").as_deref(), Some("mine"));
    let file = create(&dir, json!({ "name": "file", "allowExisting": true })).await;
    assert!(file.is_error() && file.text().contains("not a folder"), "{file:?}");
}

#[tokio::test]
async fn readme_has_the_requested_title() {
    let dir = folder();
    for (name, title, expected) in [
        ("a", None, "# a\n"),
        ("b", Some("A title"), "# A title\n"),
        ("c", Some("one\nline\u{202e}"), "# one line\n"),
        ("d", Some(" "), "# d\n"),
    ] {
        let mut arguments = json!({ "name": name, "createReadme": true });
        if let Some(title) = title {
            arguments["readmeTitle"] = title.into();
        }
        let output = create(&dir, arguments.clone()).await;
        assert_eq!(output.value["readmeCreated"], true, "{}", output.text());
        assert_eq!(readme(&dir, name).as_deref(), Some(expected));
        let shown = CreateWorkspace::new(false).preview(&arguments, &context(dir.path())).await;
        assert!(shown.starts_with(&format!("New folder {name}\n")) && shown.ends_with(expected));
    }
}

#[tokio::test]
async fn approval_shows_and_binds_existing_files() {
    let dir = folder();
    let arguments = json!({ "name": "mail", "allowExisting": true, "createReadme": true, "readmeTitle": "New" });
    let tool = CreateWorkspace::new(false);
    let context = context(dir.path());
    let shown = tool.preview(&arguments, &context).await;
    assert!(shown.starts_with("New folder mail\n") && shown.ends_with("# New\n"), "{shown}");
    let before = tool.surroundings(&arguments, &context).await.expect("allowed");
    create(&dir, json!({ "name": "mail", "createReadme": true, "readmeTitle": "Old" })).await;
    let shown = tool.preview(&arguments, &context).await;
    assert!(shown.starts_with("Existing folder mail\n"), "{shown}");
    assert!(shown.ends_with("Its README.md stays unchanged.\n"), "{shown}");
    let after = tool.surroundings(&arguments, &context).await.expect("allowed");
    assert_ne!(before, after);
}

#[tokio::test]
async fn approval_names_the_created_folder() {
    let dir = folder();
    let arguments = json!({ "path": "a\u{202e}b/mail " });
    let shown = CreateWorkspace::new(false).preview(&arguments, &context(dir.path())).await;
    assert!(shown.starts_with("New folder a⟨U+202E⟩b/mail⟨U+0020⟩\n"), "{shown}");
}

#[tokio::test]
async fn folder_outside_or_in_place_of_a_file_is_refused() {
    let dir = folder();
    let cases = [
        (json!({}), "a name or a path, not both"),
        (json!({ "name": "a", "path": "b" }), "a name or a path, not both"),
        (json!({ "name": "a/b" }), "is a path"),
        (json!({ "name": ".." }), "outside"),
        (json!({ "path": "../x" }), "outside"),
        (json!({ "path": "a/../../x" }), "outside"),
        (json!({ "path": "/tmp/x" }), "outside"),
        (json!({ "path": "." }), "workspace itself"),
    ];
    for (arguments, expected) in cases {
        let output = create(&dir, arguments.clone()).await;
        assert!(output.is_error() && output.text().contains(expected), "{arguments}: {output:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).expect("listed").count(), 0);
}
