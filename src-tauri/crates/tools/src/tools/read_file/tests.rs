//! Tests of `read_file`.

use std::fs;

use rouse_core::attachment::{Attachment, MediaKind};
use rouse_core::tool::{MAX_OUTPUT_BYTES, SandboxMode, ToolContext, ToolOutput};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::ReadFile;
use crate::test_context::{call_in, call_with, context};

const MOST: u64 = 64;

fn fixture() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let files: [(&str, &[u8]); 8] = [
        ("plain.txt", b"one\r\ntwo\n\x1b[31mred"),
        ("empty.txt", b""),
        ("exact.txt", &[b'x'; 64]),
        ("large.txt", &[b'x'; 65]),
        ("latin.txt", b"Gr\xfc\xdfe"),
        ("binary.bin", b"\x7fELF\0\0\x01"),
        ("utf16.txt", b"\xff\xfeH\0i\0"),
        ("marked.txt", "\u{feff}Grüße".as_bytes()),
    ];
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).expect("a file");
    }
    dir
}

async fn read(dir: &TempDir, arguments: Value) -> ToolOutput {
    call_in(&ReadFile::new(MOST, Vec::new().into()), dir.path(), arguments).await
}

#[tokio::test]
async fn text_is_returned_whole_and_plain() {
    let dir = fixture();
    let cases = [
        ("plain.txt", "one\ntwo\n[31mred", 17),
        ("empty.txt", "", 0),
        ("marked.txt", "Grüße", 10),
        ("utf16.txt", "Hi", 6),
        ("exact.txt", &"x".repeat(64), 64),
    ];
    for (path, content, size) in cases {
        let output = read(&dir, json!({ "path": path })).await;
        let expected = json!({ "success": true, "content": content, "size": size });
        let words = if content.is_empty() { "(empty)" } else { content };
        assert_eq!(output, ToolOutput::ok(expected).in_words(words), "{path}");
    }
}

#[tokio::test]
async fn requested_encoding_is_used() {
    let dir = fixture();
    let output = read(&dir, json!({ "path": "latin.txt", "encoding": "latin1" })).await;
    assert_eq!(output.value["content"], "Grüße");
}

#[tokio::test]
async fn unreadable_file_is_an_error_with_the_remedy() {
    let dir = fixture();
    let cases = [
        (
            json!({ "path": "large.txt" }),
            "65 bytes; at most 64 are read at once. Request a part with offset and limit.",
        ),
        (json!({ "path": "binary.bin" }), "binary.bin is binary (7 bytes)"),
        (json!({ "path": "latin.txt" }), "not UTF-8 text. Give its encoding"),
        (json!({ "path": "latin.txt", "encoding": "klingon" }), "Unknown encoding \"klingon\""),
        (json!({ "path": "plain.txt", "offset": 18 }), "offset 18 is past the end"),
        (json!({ "path": "missing.txt" }), "missing.txt does not exist."),
        (json!({ "path": "." }), "Use list_dir"),
        (json!({ "path": "../x" }), "outside the workspace"),
        (json!({ "path": "/etc/passwd" }), "outside the workspace"),
    ];
    for (arguments, expected) in cases {
        let output = read(&dir, arguments.clone()).await;
        let words = output.words.as_deref().unwrap_or_default();
        assert!(output.is_error() && words.contains(expected), "{arguments}: {output:?}");
    }
}

#[tokio::test]
async fn missing_workspace_is_an_error() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let output = call_in(
        &ReadFile::new(MOST, Vec::new().into()),
        &dir.path().join("none"),
        json!({ "path": "a" }),
    )
    .await;
    assert!(
        output.is_error() && output.text().contains("The workspace folder cannot be opened"),
        "{}",
        output.text()
    );
}

#[tokio::test]
async fn parts_join_to_the_file() {
    let dir = fixture();
    let texts =
        [("long.txt", "Größe 日本語 👋 and more, ".repeat(30)), ("short.txt", "👋👋👋".to_owned())];
    for (name, text) in &texts {
        fs::write(dir.path().join(name), text).expect("a file");
        for limit in [4, 5, 6, 7, 16, 63, 64, 1_000] {
            assert_eq!(&read_in_parts(&dir, name, limit, None).await, text, "{name} by {limit}");
        }
    }
    // Without surrogate pairs, which a part may split.
    let plain = texts[0].1.replace('👋', "o");
    let units: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(dir.path().join("units.txt"), units).expect("a file");
    assert_eq!(read_in_parts(&dir, "units.txt", 7, Some("utf-16le")).await, plain);
}

async fn read_in_parts(dir: &TempDir, path: &str, limit: u64, encoding: Option<&str>) -> String {
    let mut text = String::new();
    let mut next = Some(0);
    while let Some(offset) = next {
        let output = read(
            dir,
            json!({ "path": path, "offset": offset, "limit": limit, "encoding": encoding }),
        )
        .await;
        assert!(!output.is_error(), "{}", output.text());
        text.push_str(output.value["content"].as_str().expect("a text"));
        next = output.value.get("nextOffset").and_then(Value::as_u64);
        assert!(next.is_none_or(|next| next > offset), "it goes on from {offset} to {next:?}");
    }
    text
}

#[tokio::test]
async fn part_does_not_exceed_the_limit() {
    let dir = fixture();
    let output = read(&dir, json!({ "path": "large.txt", "limit": 1_000_000 })).await;
    let expected =
        json!({ "success": true, "size": 65, "nextOffset": 64, "content": "x".repeat(64) });
    assert_eq!(output.value, expected);
    let output = read(&dir, json!({ "path": "large.txt", "offset": 1 })).await;
    assert_eq!(output.value["content"], "x".repeat(64));
}

#[tokio::test]
async fn part_for_a_model_fits_its_output_limit() {
    let dir = fixture();
    let text = "é \"quoted\"\n".repeat(20_000);
    fs::write(dir.path().join("book.txt"), &text).expect("a file");
    let by_model = ToolContext {
        sandbox: SandboxMode::Sandboxed { hosts: Vec::new() },
        ..context(dir.path())
    };
    let tool = ReadFile::new(524_288, Vec::new().into());
    let (mut parts, mut next) = (String::new(), Some(0));
    while let Some(offset) = next {
        let arguments = json!({ "path": "book.txt", "offset": offset });
        let output = call_with(&tool, &by_model, arguments).await;
        assert!(output.text().len() <= MAX_OUTPUT_BYTES, "{}", output.text().len());
        parts.push_str(output.value["content"].as_str().expect("a text"));
        next = output.value.get("nextOffset").and_then(Value::as_u64);
        assert!(
            next.is_none() || output.text().len() > MAX_OUTPUT_BYTES / 2,
            "no smaller than needed"
        );
    }
    assert_eq!(parts, text);
    let whole = call_in(&tool, dir.path(), json!({ "path": "book.txt" })).await;
    assert_eq!(whole.value["content"], text, "no model reads what a person's call brings");
}

#[tokio::test]
async fn part_inside_a_character_begins_with_the_next() {
    let dir = fixture();
    let output = read(&dir, json!({ "path": "marked.txt", "offset": 6 })).await;
    assert_eq!(output.value["content"], "ße");
}

#[tokio::test]
async fn image_and_pdf_are_attached() {
    let dir = fixture();
    let photo = crate::media::tests::png(3, 2);
    fs::write(dir.path().join("photo.txt"), &photo).expect("a file");
    fs::write(dir.path().join("letter.pdf"), b"%PDF-1.7 body").expect("a file");
    for (path, kind, bytes) in [
        ("photo.txt", MediaKind::Png, photo),
        ("letter.pdf", MediaKind::Pdf, b"%PDF-1.7 body".to_vec()),
    ] {
        let output = read(&dir, json!({ "path": path })).await;
        assert_eq!(output.attachments, [Attachment::new(path, kind, bytes)]);
        assert_eq!(output.value["type"], kind.media_type());
        let words = format!("{path} is a {kind}.");
        assert_eq!(output.words, Some(words));
    }
}

#[tokio::test]
async fn oversized_image_is_refused() {
    let dir = fixture();
    fs::write(dir.path().join("wide.png"), crate::media::tests::png(9_000, 2)).expect("a file");
    fs::write(dir.path().join("cut.png"), b"\x89PNG\r\n\x1a\n").expect("a file");
    for (path, expected) in [
        ("wide.png", "wide.png is a PNG image of 9000 × 2 pixels; the limit is 8000 on each side."),
        ("cut.png", "cut.png begins like a PNG image but is damaged."),
    ] {
        let output = read(&dir, json!({ "path": path })).await;
        let words = output.words.unwrap_or_default();
        assert!(words.starts_with(expected), "{words}");
        assert_eq!(output.attachments, []);
    }
}
