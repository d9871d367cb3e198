//! Search, and updates of the index.

use std::fs;
use std::sync::Arc;

use rouse_core::UnixMs;
use rouse_core::memory::{IndexChanges, IndexedText, MemoryIndex as _};
use rouse_testkit::ManualClock;
use serde_json::json;

use super::{LATER, WorkspaceFixture};

#[tokio::test]
async fn search_finds_words_with_snippets() {
    let fixture = WorkspaceFixture::with(&[
        ("fixture/wifi.md", "The password is on the router."),
        ("b.md", "Beans."),
    ])
    .await;
    let answer = fixture.search("router password").await;
    let hit = &answer["results"][0];
    assert_eq!(hit["path"], "memory/fixture/wifi.md");
    assert_eq!(hit["snippet"], "The password is on the router.");
    assert!(hit["modified"].as_str().is_some_and(|at| at.ends_with('Z')), "{hit}");
    assert_eq!(fixture.search("nothing like that").await["results"], json!([]));
    assert!(fixture.refused("memory_search", json!({ "query": "?!" })).await.contains("no word"));
}

#[tokio::test]
async fn external_changes_are_found_at_once() {
    let fixture =
        WorkspaceFixture::with(&[("a.md", "apples"), ("b.md", "bananas"), ("c/d.md", "dates")])
            .await;
    assert_eq!(fixture.found("apples bananas dates").await.len(), 3);
    fixture.put("a.md", "apricots");
    fs::remove_file(fixture.memory().join("b.md")).expect("removed");
    fs::rename(fixture.memory().join("c"), fixture.memory().join("e")).expect("renamed");
    fixture.put("new.md", "apples again");
    assert_eq!(fixture.found("apples").await, ["memory/new.md"]);
    assert_eq!(fixture.found("apricots").await, ["memory/a.md"]);
    assert_eq!(fixture.found("bananas").await, [""; 0]);
    assert_eq!(fixture.found("dates").await, ["memory/e/d.md"]);
    fs::remove_dir_all(fixture.memory()).expect("removed");
    assert_eq!(fixture.found("apples apricots dates").await, [""; 0]);
    assert_eq!(fixture.indexed().await, 0, "removed text is not kept elsewhere");
}

/// An editor can restore a file's time, and sizes are easily equal.
#[cfg(unix)]
#[tokio::test]
async fn change_with_equal_time_and_size_is_found() {
    let fixture = WorkspaceFixture::with(&[("a.md", "apples")]).await;
    assert_eq!(fixture.found("apples").await.len(), 1);
    let path = fixture.memory().join("a.md");
    let before = fs::metadata(&path).expect("a file").modified().expect("a time");
    fs::write(&path, "cherry").expect("a file");
    fs::File::options()
        .write(true)
        .open(&path)
        .expect("a file")
        .set_modified(before)
        .expect("a time");
    assert_eq!(fixture.found("cherry").await, ["memory/a.md"]);
}

/// Unsettled metadata proves nothing.
#[tokio::test]
async fn recently_written_file_is_read_again() {
    let mut fixture = WorkspaceFixture::with(&[("a.md", "apples")]).await;
    fixture.context.clock = Arc::new(ManualClock::new(UnixMs(0)));
    fixture.search("apples").await;
    let held = fixture.store.held().await.expect("the index");
    assert_eq!(held[0].stamp, None);
    fixture.context.clock = Arc::new(ManualClock::new(LATER));
    fixture.search("apples").await;
    let held = fixture.store.held().await.expect("the index");
    assert!(held[0].stamp.is_some());
}

#[tokio::test]
async fn unsearchable_file_is_listed_and_hides_nothing() {
    let fixture = WorkspaceFixture::with(&[("a.md", "apples")]).await;
    fixture.put("photo.md", b"\xff\xd8\xff");
    fixture.put("huge.md", vec![b'x'; (1 << 20) + 1]);
    fixture.put("run.sh", "apples");
    fixture.put(".hidden/b.md", "apples");
    fixture.put("control\u{1}.md", "apples");
    fixture.put("1/2/3/4/5/6/7/8/9/a.md", "apples");
    for _ in 0..2 {
        let answer = fixture.search("apples").await;
        assert_eq!(answer["results"].as_array().map(Vec::len), Some(1), "{answer}");
        assert_eq!(answer["notSearched"]["count"], 4, "{answer}");
        assert_eq!(answer["tooManyFiles"], serde_json::Value::Null, "{answer}");
        let files = answer["notSearched"]["files"].to_string();
        for words in
            ["1048577 bytes", "memory/photo.md", "Not UTF-8", "invisible characters", "7/8\""]
        {
            assert!(files.contains(words), "{words}: {files}");
        }
    }
    fixture.put("photo.md", "apples, too");
    fixture.put("huge.md", "apples, too");
    assert_eq!(fixture.found("too").await, ["memory/huge.md", "memory/photo.md"]);
}

#[cfg(unix)]
#[tokio::test]
async fn linked_note_is_listed_as_not_searched() {
    let fixture = WorkspaceFixture::with(&[("a.md", "apples")]).await;
    std::os::unix::fs::symlink("a.md", fixture.memory().join("alias.md")).expect("a link");
    std::os::unix::fs::symlink("a.md", fixture.memory().join("alias.txt")).expect("a link");
    let answer = fixture.search("apples").await;
    assert_eq!(answer["notSearched"]["count"], 1, "{answer}");
    let files = answer["notSearched"]["files"].to_string();
    assert!(files.contains("memory/alias.md") && files.contains("A link"), "{files}");
}

#[tokio::test]
async fn ten_thousand_files_are_searched() {
    let fixture = WorkspaceFixture::new().await;
    for number in 0..10_000 {
        fixture
            .put(&format!("{}/{number}.md", number % 20), format!("note number{number} of many"));
    }
    assert_eq!(fixture.found("number7777").await, ["memory/17/7777.md"]);
    assert_eq!(fixture.indexed().await, 10_000);
    fixture.put("3/3.md", "note numberx of many");
    assert_eq!(fixture.found("numberx").await, ["memory/3/3.md"]);
    let answer = fixture.search("note").await;
    assert_eq!(answer["results"].as_array().map(Vec::len), Some(50));
    assert_eq!((answer.get("notYetRead"), answer.get("tooManyFiles")), (None, None));
}

#[tokio::test]
async fn unchanged_file_is_not_read_again() {
    let fixture = WorkspaceFixture::with(&[("a.md", "apples")]).await;
    fixture.search("apples").await;
    let file = fixture.store.held().await.expect("the index").remove(0);
    let planted = IndexedText { file, text: "planted".to_owned() };
    let changes = IndexChanges { changed: vec![planted], ..IndexChanges::default() };
    fixture.store.change(changes).await.expect("a change");
    assert_eq!(fixture.found("planted").await, ["memory/a.md"]);
    fixture.put("a.md", "apples");
    assert_eq!(fixture.found("planted").await, ["memory/a.md"], "reads as before");
    fixture.put("a.md", "apples!");
    assert_eq!(fixture.found("planted").await, [""; 0]);
}

#[tokio::test]
async fn large_backlog_is_read_by_later_searches() {
    let fixture = WorkspaceFixture::new().await;
    for number in 0..40 {
        fixture.put(&format!("{number}.md"), format!("needle{number} {}", "x".repeat(1_000_000)));
    }
    let answer = fixture.search("x").await;
    assert_eq!(answer["notYetRead"], 7, "{}", answer["hint"]);
    assert_eq!(fixture.search("x").await.get("notYetRead"), None);
    assert_eq!(fixture.indexed().await, 40);
}

#[tokio::test]
async fn too_many_files_are_reported() {
    let fixture = WorkspaceFixture::new().await;
    for number in 0..20_001 {
        fixture.put(&format!("{number}.txt"), "x");
    }
    assert_eq!(fixture.search("x").await["tooManyFiles"], true);
}

#[cfg(unix)]
#[tokio::test]
async fn unreadable_file_is_listed_and_retried() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = WorkspaceFixture::with(&[("a.md", "apples")]).await;
    let outside = fixture.folder.path().join("other-name.md");
    fs::hard_link(fixture.memory().join("a.md"), &outside).expect("a second name");
    let answer = fixture.search("apples").await;
    assert!(
        answer["notSearched"]["files"][0]["why"]
            .as_str()
            .is_some_and(|why| why.contains("hard link"))
    );
    fs::remove_file(outside).expect("removed");
    fs::set_permissions(fixture.memory().join("a.md"), fs::Permissions::from_mode(0o600))
        .expect("a mode");
    assert_eq!(fixture.found("apples").await, ["memory/a.md"]);
}

#[tokio::test]
async fn parallel_searches_agree() {
    let fixture = WorkspaceFixture::with(&[("a.md", "apples"), ("b.md", "apples")]).await;
    let searching = (0..8).map(|_| fixture.found("apples"));
    for found in futures_util::future::join_all(searching).await {
        assert_eq!(found, ["memory/a.md", "memory/b.md"]);
    }
}
