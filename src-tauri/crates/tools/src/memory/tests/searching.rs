//! Searching, and keeping the index up to the files.

use std::fs;
use std::sync::Arc;

use rouse_core::UnixMs;
use rouse_core::memory::{FileText, IndexChanges, MemoryIndex as _};
use rouse_testkit::ManualClock;
use serde_json::json;

use super::{House, LATER};

#[tokio::test]
async fn words_are_found_with_where_they_stand() {
    let house =
        House::with(&[("house/wifi.md", "The password is on the router."), ("b.md", "Beans.")])
            .await;
    let answer = house.search("router password").await;
    let hit = &answer["results"][0];
    assert_eq!(hit["path"], "memory/house/wifi.md");
    assert_eq!(hit["snippet"], "The password is on the router.");
    assert!(hit["modified"].as_str().is_some_and(|at| at.ends_with('Z')), "{hit}");
    assert_eq!(house.search("nothing like that").await["results"], json!([]));
    assert!(house.refused("memory_search", json!({ "query": "?!" })).await.contains("no word"));
}

#[tokio::test]
async fn changes_by_hand_are_found_at_once() {
    let house = House::with(&[("a.md", "apples"), ("b.md", "bananas"), ("c/d.md", "dates")]).await;
    assert_eq!(house.found("apples bananas dates").await.len(), 3);
    house.put("a.md", "apricots");
    fs::remove_file(house.memory().join("b.md")).expect("it goes");
    fs::rename(house.memory().join("c"), house.memory().join("e")).expect("it moves");
    house.put("new.md", "apples again");
    assert_eq!(house.found("apples").await, ["memory/new.md"]);
    assert_eq!(house.found("apricots").await, ["memory/a.md"]);
    assert_eq!(house.found("bananas").await, [""; 0]);
    assert_eq!(house.found("dates").await, ["memory/e/d.md"]);
    fs::remove_dir_all(house.memory()).expect("it goes");
    assert_eq!(house.found("apples apricots dates").await, [""; 0]);
    assert_eq!(house.indexed().await, 0, "what is gone is not kept elsewhere");
}

/// An editor can give a file the time it had, and a size is easily the same.
#[cfg(unix)]
#[tokio::test]
async fn a_change_that_hides_its_time_and_size_is_found() {
    let house = House::with(&[("a.md", "apples")]).await;
    assert_eq!(house.found("apples").await.len(), 1);
    let path = house.memory().join("a.md");
    let before = fs::metadata(&path).expect("a file").modified().expect("a time");
    fs::write(&path, "cherry").expect("a file");
    fs::File::options()
        .write(true)
        .open(&path)
        .expect("a file")
        .set_modified(before)
        .expect("a time");
    assert_eq!(house.found("cherry").await, ["memory/a.md"]);
}

/// A trace that the next change may leave again proves nothing.
#[tokio::test]
async fn what_was_only_just_written_is_looked_at_again() {
    let mut house = House::with(&[("a.md", "apples")]).await;
    house.context.clock = Arc::new(ManualClock::new(UnixMs(0)));
    house.search("apples").await;
    let held = house.store.held().await.expect("the index");
    assert_eq!(held[0].stamp, None);
    house.context.clock = Arc::new(ManualClock::new(LATER));
    house.search("apples").await;
    let held = house.store.held().await.expect("the index");
    assert!(held[0].stamp.is_some());
}

#[tokio::test]
async fn what_cannot_be_searched_is_named_and_hides_nothing_else() {
    let house = House::with(&[("a.md", "apples")]).await;
    house.put("photo.md", b"\xff\xd8\xff");
    house.put("huge.md", vec![b'x'; (1 << 20) + 1]);
    house.put("run.sh", "apples");
    house.put(".hidden/b.md", "apples");
    house.put("control\u{1}.md", "apples");
    house.put("1/2/3/4/5/6/7/8/9/a.md", "apples");
    for _ in 0..2 {
        let answer = house.search("apples").await;
        assert_eq!(answer["results"].as_array().map(Vec::len), Some(1), "{answer}");
        assert_eq!(answer["notSearched"]["count"], 4, "{answer}");
        assert_eq!(answer["tooManyFiles"], serde_json::Value::Null, "{answer}");
        let files = answer["notSearched"]["files"].to_string();
        for words in ["1048577 bytes", "memory/photo.md", "not UTF-8", "cannot be shown", "7/8\""] {
            assert!(files.contains(words), "{words}: {files}");
        }
    }
    house.put("photo.md", "apples, too");
    house.put("huge.md", "apples, too");
    assert_eq!(house.found("too").await, ["memory/huge.md", "memory/photo.md"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_note_that_is_a_link_is_named_as_not_searched() {
    let house = House::with(&[("a.md", "apples")]).await;
    std::os::unix::fs::symlink("a.md", house.memory().join("alias.md")).expect("a link");
    std::os::unix::fs::symlink("a.md", house.memory().join("alias.txt")).expect("a link");
    let answer = house.search("apples").await;
    assert_eq!(answer["notSearched"]["count"], 1, "{answer}");
    let files = answer["notSearched"]["files"].to_string();
    assert!(files.contains("memory/alias.md") && files.contains("is a link"), "{files}");
}

#[tokio::test]
async fn ten_thousand_files_are_searched() {
    let house = House::new().await;
    for number in 0..10_000 {
        house.put(&format!("{}/{number}.md", number % 20), format!("note number{number} of many"));
    }
    assert_eq!(house.found("number7777").await, ["memory/17/7777.md"]);
    assert_eq!(house.indexed().await, 10_000);
    house.put("3/3.md", "note numberx of many");
    assert_eq!(house.found("numberx").await, ["memory/3/3.md"]);
    let answer = house.search("note").await;
    assert_eq!(answer["results"].as_array().map(Vec::len), Some(50));
    assert_eq!((answer.get("notYetRead"), answer.get("tooManyFiles")), (None, None));
}

#[tokio::test]
async fn what_has_not_changed_is_not_read_again() {
    let house = House::with(&[("a.md", "apples")]).await;
    house.search("apples").await;
    let file = house.store.held().await.expect("the index").remove(0);
    let planted = FileText { file, text: "planted".to_owned() };
    let changes = IndexChanges { changed: vec![planted], ..IndexChanges::default() };
    house.store.change(changes).await.expect("a change");
    assert_eq!(house.found("planted").await, ["memory/a.md"]);
    house.put("a.md", "apples");
    assert_eq!(house.found("planted").await, ["memory/a.md"], "it reads as it did before");
    house.put("a.md", "apples!");
    assert_eq!(house.found("planted").await, [""; 0]);
}

#[tokio::test]
async fn more_than_can_be_read_at_once_is_read_by_later_searches() {
    let house = House::new().await;
    for number in 0..40 {
        house.put(&format!("{number}.md"), format!("needle{number} {}", "x".repeat(1_000_000)));
    }
    let answer = house.search("x").await;
    assert_eq!(answer["notYetRead"], 7, "{}", answer["hint"]);
    assert_eq!(house.search("x").await.get("notYetRead"), None);
    assert_eq!(house.indexed().await, 40);
}

#[tokio::test]
async fn more_files_than_are_looked_at_are_told() {
    let house = House::new().await;
    for number in 0..20_001 {
        house.put(&format!("{number}.txt"), "x");
    }
    assert_eq!(house.search("x").await["tooManyFiles"], true);
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_may_not_be_read_is_named_and_tried_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = House::with(&[("a.md", "apples")]).await;
    let outside = house.folder.path().join("other-name.md");
    fs::hard_link(house.memory().join("a.md"), &outside).expect("a second name");
    let answer = house.search("apples").await;
    assert!(
        answer["notSearched"]["files"][0]["why"]
            .as_str()
            .is_some_and(|why| why.contains("hard link"))
    );
    fs::remove_file(outside).expect("it goes");
    fs::set_permissions(house.memory().join("a.md"), fs::Permissions::from_mode(0o600))
        .expect("a mode");
    assert_eq!(house.found("apples").await, ["memory/a.md"]);
}

#[tokio::test]
async fn searches_at_once_agree() {
    let house = House::with(&[("a.md", "apples"), ("b.md", "apples")]).await;
    let searching = (0..8).map(|_| house.found("apples"));
    for found in futures_util::future::join_all(searching).await {
        assert_eq!(found, ["memory/a.md", "memory/b.md"]);
    }
}
