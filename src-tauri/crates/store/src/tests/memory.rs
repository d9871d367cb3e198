//! The full-text index of the memory.

use rouse_core::memory::{IndexChanges, IndexedFile, IndexedText, MemoryIndex as _};

use super::*;

fn file(path: &str) -> IndexedFile {
    IndexedFile {
        path: path.to_owned(),
        stamp: Some("1-2-3".to_owned()),
        digest: "d".to_owned(),
        problem: None,
        modified_at: NOW,
    }
}

fn text(path: &str, text: &str) -> IndexedText {
    IndexedText { file: file(path), text: text.to_owned() }
}

fn changed(files: impl IntoIterator<Item = IndexedText>) -> IndexChanges {
    IndexChanges { changed: files.into_iter().collect(), ..IndexChanges::default() }
}

async fn holding(files: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::new().await;
    let files = files.iter().map(|(path, words)| text(path, words));
    fixture.store.change(changed(files)).await.unwrap();
    fixture
}

async fn found(fixture: &Fixture, query: &str) -> Vec<String> {
    let hits = fixture.store.search(query, 50).await;
    hits.unwrap_or_else(|error| panic!("{query:?}: {error}"))
        .into_iter()
        .map(|hit| hit.path)
        .collect()
}

#[tokio::test]
async fn search_finds_words_in_texts_and_paths() {
    let fixture = holding(&[
        ("garden.md", "# Beds\nThe tomatoes stand in the second bed, the beans in the third."),
        ("house/wifi.md", "The password of the guests is on the router."),
        ("müller.md", "Herr Müller comes on Tuesdays."),
    ])
    .await;
    for (query, expected) in [
        ("tomatoes", &["garden.md"] as &[&str]),
        ("TOMATO", &["garden.md"]),
        ("where do the beans stand?", &["garden.md", "house/wifi.md"]),
        ("wifi", &["house/wifi.md"]),
        ("muller", &["müller.md"]),
        ("potatoes", &[]),
        ("", &[]),
        ("?!", &[]),
    ] {
        assert_eq!(found(&fixture, query).await, expected, "{query:?}");
    }
    let hits = fixture.store.search("router", 1).await.unwrap();
    assert_eq!(hits[0].snippet, "The password of the guests is on the router.");
    assert_eq!(hits[0].modified_at, NOW);
    assert_eq!(fixture.take_events(), [], "the index emits no events");
}

#[tokio::test]
async fn search_ranks_rare_words_and_respects_limit() {
    let fixture = holding(&[
        ("a.md", "the the the the"),
        ("b.md", "the key of the shed"),
        ("c.md", "the shed"),
    ])
    .await;
    assert_eq!(found(&fixture, "the key shed").await, ["b.md", "c.md", "a.md"]);
    assert_eq!(fixture.store.search("the key shed", 2).await.unwrap().len(), 2);
}

#[tokio::test]
async fn snippet_of_long_text_contains_the_word() {
    let long = format!("{} the needle {}", "hay ".repeat(5_000), "straw ".repeat(5_000));
    let fixture = holding(&[("long.md", &long)]).await;
    let snippet = fixture.store.search("needle", 1).await.unwrap().remove(0).snippet;
    assert!(snippet.contains("needle") && snippet.len() < 400, "{snippet}");
    assert!(snippet.starts_with(" … ") && snippet.ends_with(" … "), "{snippet}");
}

#[tokio::test]
async fn search_finds_words_without_spaces() {
    let fixture =
        holding(&[("旅行.md", "来週東京に行く。カメラを忘れない。"), ("京東.md", "京と東")]).await;
    assert_eq!(found(&fixture, "東京").await, ["旅行.md"]);
    assert_eq!(found(&fixture, "カメラ").await, ["旅行.md"]);
    assert_eq!(found(&fixture, "旅行").await, ["旅行.md"]);
    let snippet = fixture.store.search("東京", 1).await.unwrap().remove(0).snippet;
    assert_eq!(snippet, "来週東京に行く。カメラを忘れない。");
}

/// Every token with a meaning in FTS5, and many without, alone and combined.
#[tokio::test]
async fn query_is_never_an_fts_expression() {
    let fixture = holding(&[("a.md", "plain words, nothing NEAR them")]).await;
    let pieces = [
        "\"",
        "'",
        "*",
        "^",
        "(",
        ")",
        ":",
        "-",
        "+",
        "{",
        "}",
        "AND",
        "OR",
        "NOT",
        "NEAR",
        "NEAR(",
        "text:",
        "path : ",
        "rowid",
        "memory_text",
        ",",
        "\0",
        "\u{200B}",
        "é",
        "Ⓐ",
        "٣",
        "½",
        "�",
        " ",
        "plain",
        "\\",
        ";",
        "--",
        "/*",
        "%",
        "?1",
        "$x",
        "😀",
        "東",
    ];
    let mut dice = rouse_testkit::Dice::new(7);
    for _ in 0..3_000 {
        let picked = (0..1 + dice.number() % 6).map(|_| dice.number() as usize % pieces.len());
        let query: String = picked.map(|index| pieces[index]).collect();
        found(&fixture, &query).await;
    }
    assert_eq!(found(&fixture, "NOT plain").await, ["a.md"], "searches for the word `not`");
    assert_eq!(found(&fixture, "text:plain").await, ["a.md"]);
    assert_eq!(found(&fixture, &"plain ".repeat(100_000)).await, ["a.md"]);
}

#[tokio::test]
async fn index_follows_changed_and_deleted_files() {
    let fixture = holding(&[("a.md", "apples"), ("b.md", "bananas")]).await;
    let touched = IndexedFile { stamp: None, ..file("b.md") };
    let changes = IndexChanges {
        changed: vec![text("a.md", "apricots")],
        touched: vec![touched.clone()],
        gone: Vec::new(),
    };
    fixture.store.change(changes).await.unwrap();
    assert_eq!(found(&fixture, "apples apricots bananas").await.len(), 2);
    assert_eq!(found(&fixture, "apples").await, [""; 0]);
    let mut held = fixture.store.held().await.unwrap();
    held.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!(held, [file("a.md"), touched]);

    let gone = vec!["a.md".to_owned(), "never.md".to_owned()];
    fixture.store.change(IndexChanges { gone, ..IndexChanges::default() }).await.unwrap();
    assert_eq!(found(&fixture, "apricots bananas").await, ["b.md"]);
    assert_eq!(fixture.store.held().await.unwrap().len(), 1);
}

#[tokio::test]
async fn ten_thousand_files_survive_a_restart() {
    let fixture = Fixture::new().await;
    let files =
        (0..10_000).map(|number| text(&format!("n{number}.md"), &format!("word{number} shared")));
    fixture.store.change(changed(files)).await.unwrap();
    fixture.store.close().await;
    let store = Store::open(&fixture.path(), listener(&Arc::default())).await.unwrap();
    assert_eq!(store.held().await.unwrap().len(), 10_000);
    assert_eq!(store.search("word9999", 5).await.unwrap()[0].path, "n9999.md");
    assert_eq!(store.search("shared", 50).await.unwrap().len(), 50);
    let gone = (0..10_000).map(|number| format!("n{number}.md")).collect();
    store.change(IndexChanges { gone, ..IndexChanges::default() }).await.unwrap();
    assert_eq!(store.search("shared", 50).await.unwrap(), []);
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM memory_text")
        .fetch_one(&store.readers)
        .await
        .unwrap();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn closed_store_explains_search_failure() {
    let fixture = holding(&[("a.md", "apples")]).await;
    fixture.store.close().await;
    let error = fixture.store.search("apples", 1).await.unwrap_err().to_string();
    assert!(error.contains("Read its files by their paths"), "{error}");
}
