//! Writing and reading.

use std::fs;

use rouse_core::tool::{Annotations, ApprovalRule};
use serde_json::json;

use super::House;

#[tokio::test]
async fn what_is_written_is_read_and_added_to() {
    let house = House::new().await;
    let path = json!({ "path": "memory/garden.md" });
    let written = house
        .done("memory_write", json!({ "path": "memory/garden.md", "content": "Beans." }))
        .await;
    assert_eq!(written["path"], "memory/garden.md");
    assert_eq!((&written["created"], &written["bytes"]), (&true.into(), &7.into()));
    let more = json!({ "path": "garden", "content": "Tomatoes.", "append": true });
    assert_eq!(house.done("memory_write", more).await["created"], false);
    let read = house.done("memory_read", path.clone()).await;
    assert_eq!(
        (&read["path"], &read["content"]),
        (&"memory/garden.md".into(), &"Beans.\nTomatoes.\n".into())
    );
    house.done("memory_write", json!({ "path": "garden.md", "content": "Peas.\n" })).await;
    assert_eq!(house.done("memory_read", path).await["content"], "Peas.\n");
    assert_eq!(house.text("garden.md"), "Peas.\n");
}

#[tokio::test]
async fn a_title_names_the_file_and_heads_it_once() {
    let house = House::new().await;
    let note =
        json!({ "title": " Who  waters: the Plants?\n", "content": "Anna.", "append": true });
    let path = house.done("memory_write", note.clone()).await["path"].clone();
    assert_eq!(path, "memory/who-waters-the-plants.md");
    house.done("memory_write", note).await;
    assert_eq!(
        house.text("who-waters-the-plants.md"),
        "# Who waters: the Plants?\n\nAnna.\nAnna.\n"
    );
    let titled = json!({ "title": "Garden", "content": "# Garden\nPeas." });
    house.done("memory_write", titled).await;
    assert_eq!(house.text("garden.md"), "# Garden\nPeas.\n", "a model may write it as well");
    let long = "ärger ".repeat(33);
    let path =
        house.done("memory_write", json!({ "title": long, "content": "x" })).await["path"].clone();
    assert!(path.as_str().is_some_and(|path| path.chars().count() < 75 && path.ends_with(".md")));
}

#[tokio::test]
async fn a_path_is_below_the_folder_with_its_name_before_it_or_without() {
    let house = House::with(&[("a.md", "one"), ("memory/a.md", "two")]).await;
    let absolute = house.memory().join("a.md");
    for (path, content) in [
        ("a.md", "one"),
        ("a", "one"),
        ("memory/a.md", "one"),
        ("memory/memory/a.md", "two"),
        ("./a.md", "one"),
        (absolute.to_str().expect("a text"), "one"),
    ] {
        assert_eq!(
            house.done("memory_read", json!({ "path": path })).await["content"],
            content,
            "{path}"
        );
    }
    assert_eq!(house.found("two").await, ["memory/memory/a.md"], "a path that is told can be read");
}

#[tokio::test]
async fn nothing_outside_of_the_folder_is_reached() {
    let house = House::with(&[("a.md", "one")]).await;
    let outside = house.folder.path().join("workspace/secret.md");
    fs::write(&outside, "outside").expect("a file");
    let outward = ["../secret.md", "memory/../../secret", "/etc/passwd.md", "~/x.md", "a\0b.md"];
    let links = if cfg!(unix) { &["link.md", "up/secret.md", "hard.md"][..] } else { &[] };
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&outside, house.memory().join("link.md")).expect("a link");
        std::os::unix::fs::symlink("..", house.memory().join("up")).expect("a link");
        fs::hard_link(&outside, house.memory().join("hard.md")).expect("a link");
    }
    for path in outward.iter().chain(links) {
        for (tool, arguments) in [
            ("memory_read", json!({ "path": path })),
            ("memory_write", json!({ "path": path, "content": "x" })),
            ("memory_write", json!({ "path": path, "content": "x", "append": true })),
        ] {
            house.refused(tool, arguments).await;
        }
    }
    assert_eq!(fs::read_to_string(outside).expect("a file"), "outside");
    assert_eq!(house.found("outside").await, [""; 0]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_that_is_a_link_is_not_the_memory() {
    let house = House::new().await;
    let elsewhere = house.folder.path().join("workspace/notes");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::write(elsewhere.join("a.md"), "elsewhere").expect("a file");
    std::os::unix::fs::symlink("notes", house.memory()).expect("a link");
    house.refused("memory_write", json!({ "path": "b.md", "content": "x" })).await;
    house.refused("memory_read", json!({ "path": "a.md" })).await;
    house.refused("memory_search", json!({ "query": "elsewhere" })).await;
    assert!(!elsewhere.join("b.md").exists());
}

#[tokio::test]
async fn only_markdown_that_can_be_found_again_is_kept() {
    let house = House::with(&[("binary.md", "")]).await;
    house.put("binary.md", b"\xff\x80x");
    for (arguments, said) in [
        (json!({ "path": "run.sh", "content": "x" }), "Markdown"),
        (json!({ "path": ".hidden.md", "content": "x" }), "hidden"),
        (json!({ "path": ".git/a.md", "content": "x" }), "hidden"),
        (json!({ "title": "?!", "content": "x" }), "no letter"),
        (json!({ "content": "x" }), "path or a title"),
        (json!({ "path": "a", "title": "a", "content": "x" }), "path or a title"),
        (json!({ "path": "binary", "content": "x", "append": true }), "UTF-8"),
        (json!({ "path": "", "content": "x" }), "Markdown"),
        (json!({ "path": "1/2/3/4/5/6/7/8/a.md", "content": "x" }), "at most 7 of them"),
    ] {
        let words = house.refused("memory_write", arguments.clone()).await;
        assert!(words.contains(said), "{arguments}: {words}");
    }
    assert!(!house.memory().join("1").exists());
    house.done("memory_write", json!({ "path": "1/2/3/4/5/6/7/a.md", "content": "deepest" })).await;
    assert_eq!(house.found("deepest").await, ["memory/1/2/3/4/5/6/7/a.md"]);
    assert!(house.refused("memory_read", json!({ "path": "none" })).await.contains("nothing at"));
    assert!(house.refused("memory_read", json!({ "path": "binary" })).await.contains("UTF-8"));
}

#[tokio::test]
async fn before_anything_was_kept_there_is_nothing_and_no_folder() {
    let house = House::new().await;
    house.refused("memory_read", json!({ "path": "a" })).await;
    assert_eq!(house.found("anything").await, [""; 0]);
    assert!(!house.memory().exists());
}

#[tokio::test]
async fn a_file_has_a_largest_size_and_the_memory_a_most_of_files() {
    let house = House::new().await;
    let piece = "x".repeat(64 << 10);
    for _ in 0..15 {
        let more = json!({ "path": "long", "content": piece, "append": true });
        house.done("memory_write", more).await;
    }
    let more = json!({ "path": "long", "content": piece, "append": true });
    let words = house.refused("memory_write", more).await;
    assert!(words.contains("at most 1048576"), "{words}");
    assert_eq!(house.text("long.md").len(), 15 * ((64 << 10) + 1));

    for number in 0..9_999 {
        house.put(&format!("{}/{number}.md", number % 10), "x");
    }
    let words = house.refused("memory_write", json!({ "path": "new", "content": "x" })).await;
    assert!(words.contains("10000 files"), "{words}");
    house.done("memory_write", json!({ "path": "0/0", "content": "y" })).await;
}

#[tokio::test]
async fn who_adds_at_the_same_time_loses_nothing() {
    let house = House::new().await;
    let adding = (0..40).map(|number| {
        house.done(
            "memory_write",
            json!({ "path": "log", "content": format!("line {number}"), "append": true }),
        )
    });
    futures_util::future::join_all(adding).await;
    assert_eq!(house.text("log.md").lines().count(), 40);
}

#[tokio::test]
async fn a_large_file_is_read_in_parts() {
    let house = House::with(&[("long.md", &"0123456789".repeat(300))]).await;
    let words = house.refused("memory_read", json!({ "path": "long" })).await;
    assert!(words.contains("3000 bytes"), "{words}");
    let part =
        house.done("memory_read", json!({ "path": "long", "offset": 2_000, "limit": 1_000 })).await;
    assert_eq!((&part["size"], part.get("nextOffset")), (&3_000.into(), None));
}

#[tokio::test]
async fn none_of_them_asks_and_adding_is_not_done_twice() {
    let house = House::new().await;
    for tool in &house.tools {
        assert_eq!(tool.spec().approval, ApprovalRule::Never);
    }
    let write = &house.tools[0];
    assert_eq!(write.annotations(&json!({ "append": true })), Annotations::ADDS);
    assert!(!write.annotations(&json!({ "append": true })).is_repeatable());
    assert!(write.annotations(&json!({})).destructive);
}

#[tokio::test]
async fn the_mark_for_a_secret_is_not_kept_in_its_place() {
    let house = House::new().await;
    house.done("memory_write", json!({ "path": "keys.md", "content": "key=real" })).await;
    for append in [false, true] {
        let note = json!({ "path": "keys.md", "content": "key=[redacted: secret:vault]", "append": append });
        let refused = house.call("memory_write", note).await;
        assert!(
            refused.is_error() && refused.text().contains("Leave this file as it is"),
            "{refused:?}"
        );
    }
    assert_eq!(house.text("keys.md"), "key=real\n");
    // What says so already may be kept whole, but nothing more is said so.
    let text = "key=[redacted: secret:vault]\n";
    house.put("notes.md", text);
    let whole = json!({ "path": "notes.md", "content": text });
    house.done("memory_write", whole.clone()).await;
    let mut more = whole;
    more["append"] = true.into();
    let words = house.refused("memory_write", more).await;
    assert!(words.contains("Leave this file as it is"), "{words}");
    assert_eq!(house.text("notes.md"), text);
}

#[tokio::test]
async fn a_question_shows_what_would_change_and_its_yes_is_to_that_alone() {
    let house = House::with(&[("garden.md", "Beans.\n")]).await;
    let more = json!({ "path": "garden", "content": "Peas.", "append": true });
    let shown = house.preview("memory_write", &more).await;
    assert!(shown.contains(" Beans.\n+Peas.\n"), "{shown}");
    let new = json!({ "title": "New one", "content": "Peas." });
    let shown = house.preview("memory_write", &new).await;
    assert!(shown.contains("--- /dev/null") && shown.contains("+# New one"), "{shown}");
    // The first of all has a folder still to be made.
    let first = House::new().await;
    assert_eq!(first.preview("memory_write", &new).await, shown);
    assert!(!first.memory().exists());
    let bound = house.bound("memory_write", &more).await;
    assert_eq!(house.bound("memory_write", &more).await, bound);
    house.put("garden.md", "Weeds.\n");
    assert_ne!(house.bound("memory_write", &more).await, bound);
    let refused = house.call_bound("memory_write", more, bound).await;
    assert!(refused.text().contains("has changed since"), "{refused:?}");
    assert_eq!(house.text("garden.md"), "Weeds.\n");
}
