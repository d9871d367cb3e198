//! Writes and reads.

use std::fs;

use rouse_core::tool::{Annotations, ApprovalRule};
use serde_json::json;

use super::WorkspaceFixture;

#[tokio::test]
async fn written_file_can_be_read_and_appended() {
    let fixture = WorkspaceFixture::new().await;
    let path = json!({ "path": "memory/garden.md" });
    let written = fixture
        .done("memory_write", json!({ "path": "memory/garden.md", "content": "Beans." }))
        .await;
    assert_eq!(written["path"], "memory/garden.md");
    assert_eq!((&written["created"], &written["bytes"]), (&true.into(), &7.into()));
    let more = json!({ "path": "garden", "content": "Tomatoes.", "append": true });
    assert_eq!(fixture.done("memory_write", more).await["created"], false);
    let read = fixture.done("memory_read", path.clone()).await;
    assert_eq!(
        (&read["path"], &read["content"]),
        (&"memory/garden.md".into(), &"Beans.\nTomatoes.\n".into())
    );
    fixture.done("memory_write", json!({ "path": "garden.md", "content": "Peas.\n" })).await;
    assert_eq!(fixture.done("memory_read", path).await["content"], "Peas.\n");
    assert_eq!(fixture.text("garden.md"), "Peas.\n");
}

#[tokio::test]
async fn title_becomes_file_name_and_single_heading() {
    let fixture = WorkspaceFixture::new().await;
    let note =
        json!({ "title": " Who  waters: the Plants?\n", "content": "Anna.", "append": true });
    let path = fixture.done("memory_write", note.clone()).await["path"].clone();
    assert_eq!(path, "memory/who-waters-the-plants.md");
    fixture.done("memory_write", note).await;
    assert_eq!(
        fixture.text("who-waters-the-plants.md"),
        "# Who waters: the Plants?\n\nAnna.\nAnna.\n"
    );
    let titled = json!({ "title": "Garden", "content": "# Garden\nPeas." });
    fixture.done("memory_write", titled).await;
    assert_eq!(
        fixture.text("garden.md"),
        "# Garden\nPeas.\n",
        "a model may write the heading as well"
    );
    let long = "ärger ".repeat(33);
    let path = fixture.done("memory_write", json!({ "title": long, "content": "x" })).await["path"]
        .clone();
    assert!(path.as_str().is_some_and(|path| path.chars().count() < 75 && path.ends_with(".md")));
}

#[tokio::test]
async fn path_may_include_the_memory_folder() {
    let fixture = WorkspaceFixture::with(&[("a.md", "one"), ("memory/a.md", "two")]).await;
    let absolute = fixture.memory().join("a.md");
    for (path, content) in [
        ("a.md", "one"),
        ("a", "one"),
        ("memory/a.md", "one"),
        ("memory/memory/a.md", "two"),
        ("./a.md", "one"),
        (absolute.to_str().expect("a text"), "one"),
    ] {
        assert_eq!(
            fixture.done("memory_read", json!({ "path": path })).await["content"],
            content,
            "{path}"
        );
    }
    assert_eq!(fixture.found("two").await, ["memory/memory/a.md"], "a displayed path can be read");
}

#[tokio::test]
async fn path_outside_the_memory_is_refused() {
    let fixture = WorkspaceFixture::with(&[("a.md", "one")]).await;
    let outside = fixture.folder.path().join("workspace/secret.md");
    fs::write(&outside, "outside").expect("a file");
    let outward = ["../secret.md", "memory/../../secret", "/etc/passwd.md", "~/x.md", "a\0b.md"];
    let links = if cfg!(unix) { &["link.md", "up/secret.md", "hard.md"][..] } else { &[] };
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&outside, fixture.memory().join("link.md")).expect("a link");
        std::os::unix::fs::symlink("..", fixture.memory().join("up")).expect("a link");
        fs::hard_link(&outside, fixture.memory().join("hard.md")).expect("a link");
    }
    for path in outward.iter().chain(links) {
        for (tool, arguments) in [
            ("memory_read", json!({ "path": path })),
            ("memory_write", json!({ "path": path, "content": "x" })),
            ("memory_write", json!({ "path": path, "content": "x", "append": true })),
        ] {
            fixture.refused(tool, arguments).await;
        }
    }
    assert_eq!(fs::read_to_string(outside).expect("a file"), "outside");
    assert_eq!(fixture.found("outside").await, [""; 0]);
}

#[cfg(unix)]
#[tokio::test]
async fn memory_folder_must_not_be_a_link() {
    let fixture = WorkspaceFixture::new().await;
    let elsewhere = fixture.folder.path().join("workspace/notes");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::write(elsewhere.join("a.md"), "elsewhere").expect("a file");
    std::os::unix::fs::symlink("notes", fixture.memory()).expect("a link");
    fixture.refused("memory_write", json!({ "path": "b.md", "content": "x" })).await;
    fixture.refused("memory_read", json!({ "path": "a.md" })).await;
    fixture.refused("memory_search", json!({ "query": "elsewhere" })).await;
    assert!(!elsewhere.join("b.md").exists());
}

#[tokio::test]
async fn only_searchable_markdown_is_written() {
    let fixture = WorkspaceFixture::with(&[("binary.md", "")]).await;
    fixture.put("binary.md", b"\xff\x80x");
    for (arguments, expected) in [
        (json!({ "path": "run.sh", "content": "x" }), "Markdown"),
        (json!({ "path": ".hidden.md", "content": "x" }), "hidden"),
        (json!({ "path": ".git/a.md", "content": "x" }), "hidden"),
        (json!({ "title": "?!", "content": "x" }), "no letter"),
        (json!({ "content": "x" }), "path or a title"),
        (json!({ "path": "a", "title": "a", "content": "x" }), "path or a title"),
        (json!({ "path": "binary", "content": "x", "append": true }), "UTF-8"),
        (json!({ "path": "", "content": "x" }), "Markdown"),
        (json!({ "path": "1/2/3/4/5/6/7/8/a.md", "content": "x" }), "at most 7 folders"),
    ] {
        let words = fixture.refused("memory_write", arguments.clone()).await;
        assert!(words.contains(expected), "{arguments}: {words}");
    }
    assert!(!fixture.memory().join("1").exists());
    fixture
        .done("memory_write", json!({ "path": "1/2/3/4/5/6/7/a.md", "content": "deepest" }))
        .await;
    assert_eq!(fixture.found("deepest").await, ["memory/1/2/3/4/5/6/7/a.md"]);
    assert!(
        fixture.refused("memory_read", json!({ "path": "none" })).await.contains("does not exist")
    );
    assert!(fixture.refused("memory_read", json!({ "path": "binary" })).await.contains("UTF-8"));
}

#[tokio::test]
async fn empty_memory_has_no_folder() {
    let fixture = WorkspaceFixture::new().await;
    fixture.refused("memory_read", json!({ "path": "a" })).await;
    assert_eq!(fixture.found("anything").await, [""; 0]);
    assert!(!fixture.memory().exists());
}

#[tokio::test]
async fn file_size_and_file_count_are_limited() {
    let fixture = WorkspaceFixture::new().await;
    let piece = "x".repeat(64 << 10);
    for _ in 0..15 {
        let more = json!({ "path": "long", "content": piece, "append": true });
        fixture.done("memory_write", more).await;
    }
    let more = json!({ "path": "long", "content": piece, "append": true });
    let words = fixture.refused("memory_write", more).await;
    assert!(words.contains("the limit is 1048576"), "{words}");
    assert_eq!(fixture.text("long.md").len(), 15 * ((64 << 10) + 1));

    for number in 0..9_999 {
        fixture.put(&format!("{}/{number}.md", number % 10), "x");
    }
    let words = fixture.refused("memory_write", json!({ "path": "new", "content": "x" })).await;
    assert!(words.contains("10000 files"), "{words}");
    fixture.done("memory_write", json!({ "path": "0/0", "content": "y" })).await;
}

#[tokio::test]
async fn parallel_appends_lose_nothing() {
    let fixture = WorkspaceFixture::new().await;
    let adding = (0..40).map(|number| {
        fixture.done(
            "memory_write",
            json!({ "path": "log", "content": format!("line {number}"), "append": true }),
        )
    });
    futures_util::future::join_all(adding).await;
    assert_eq!(fixture.text("log.md").lines().count(), 40);
}

#[tokio::test]
async fn large_file_is_read_in_parts() {
    let fixture = WorkspaceFixture::with(&[("long.md", &"0123456789".repeat(300))]).await;
    let words = fixture.refused("memory_read", json!({ "path": "long" })).await;
    assert!(words.contains("3000 bytes"), "{words}");
    let part = fixture
        .done("memory_read", json!({ "path": "long", "offset": 2_000, "limit": 1_000 }))
        .await;
    assert_eq!((&part["size"], part.get("nextOffset")), (&3_000.into(), None));
}

#[tokio::test]
async fn memory_tools_need_no_approval_and_appends_are_unique() {
    let fixture = WorkspaceFixture::new().await;
    for tool in &fixture.tools {
        assert_eq!(tool.spec().approval, ApprovalRule::Never);
    }
    let write = &fixture.tools[0];
    assert_eq!(write.annotations(&json!({ "append": true })), Annotations::ADDS);
    assert!(!write.annotations(&json!({ "append": true })).is_repeatable());
    assert!(write.annotations(&json!({})).destructive);
}

#[tokio::test]
async fn redaction_mark_is_not_kept_in_place_of_the_secret() {
    let fixture = WorkspaceFixture::new().await;
    fixture.done("memory_write", json!({ "path": "keys.md", "content": "key=real" })).await;
    for append in [false, true] {
        let note = json!({ "path": "keys.md", "content": "key=[redacted: secret:vault]", "append": append });
        let refused = fixture.call("memory_write", note).await;
        assert!(
            refused.is_error() && refused.text().contains("Leave this file unchanged"),
            "{refused:?}"
        );
    }
    assert_eq!(fixture.text("keys.md"), "key=real\n");
    // An existing mark may be kept, but no new mark added.
    let text = "key=[redacted: secret:vault]\n";
    fixture.put("notes.md", text);
    let whole = json!({ "path": "notes.md", "content": text });
    fixture.done("memory_write", whole.clone()).await;
    let mut more = whole;
    more["append"] = true.into();
    let words = fixture.refused("memory_write", more).await;
    assert!(words.contains("Leave this file unchanged"), "{words}");
    assert_eq!(fixture.text("notes.md"), text);
}

#[tokio::test]
async fn approval_shows_the_diff_and_is_bound_to_the_diff() {
    let fixture = WorkspaceFixture::with(&[("garden.md", "Beans.\n")]).await;
    let more = json!({ "path": "garden", "content": "Peas.", "append": true });
    let shown = fixture.preview("memory_write", &more).await;
    assert!(shown.contains(" Beans.\n+Peas.\n"), "{shown}");
    let new = json!({ "title": "New one", "content": "Peas." });
    let shown = fixture.preview("memory_write", &new).await;
    assert!(shown.contains("--- /dev/null") && shown.contains("+# New one"), "{shown}");
    // The first note creates the folder.
    let first = WorkspaceFixture::new().await;
    assert_eq!(first.preview("memory_write", &new).await, shown);
    assert!(!first.memory().exists());
    let bound = fixture.bound("memory_write", &more).await;
    assert_eq!(fixture.bound("memory_write", &more).await, bound);
    fixture.put("garden.md", "Weeds.\n");
    assert_ne!(fixture.bound("memory_write", &more).await, bound);
    let refused = fixture.call_bound("memory_write", more, bound).await;
    assert!(refused.text().contains("has changed since"), "{refused:?}");
    assert_eq!(fixture.text("garden.md"), "Weeds.\n");
}
