//! The reference servers of npm.

use std::fs;

use rouse_tests::EngineBuilder;
use rouse_tests::mcp::install_and_accept;
use serde_json::{Value, json};

use crate::fixture::{fail, npm_server, succeed, with_folder};

#[tokio::test]
async fn everything_returns_text_image_and_structure() {
    let home = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(home.path()).build().await;
    install_and_accept(&engine, "all", npm_server("server-everything", &["stdio"])).await;
    assert_eq!(succeed(&engine, "all_echo", json!({ "message": "tea" })).await, "Echo: tea");
    let image = succeed(&engine, "all_get-tiny-image", json!({})).await;
    assert!(image.contains("Attached:") && image.contains("PNG image"), "{image}");
    let place = json!({ "location": "Chicago" });
    let weather = succeed(&engine, "all_get-structured-content", place).await;
    let weather: Value = serde_json::from_str(&weather).expect("JSON");
    assert!(weather["temperature"].is_number(), "{weather}");
    engine.host.stop().await;
}

/// The call takes longer than the time limit without progress.
#[tokio::test]
async fn progress_extends_a_long_call() {
    let home = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(home.path()).build().await;
    let mut server = npm_server("server-everything", &["stdio"]);
    server["callTimeoutSeconds"] = json!(4);
    install_and_accept(&engine, "all", server).await;
    let operation = json!({ "duration": 6, "steps": 12 });
    let text = succeed(&engine, "all_trigger-long-running-operation", operation).await;
    assert!(text.contains("Duration: 6 seconds, Steps: 12"), "{text}");
    engine.host.stop().await;
}

/// The server itself would read both folders; only one of them is declared.
#[tokio::test]
async fn filesystem_reads_only_the_declared_folder() {
    let home = tempfile::tempdir().expect("a folder");
    let data = tempfile::tempdir().expect("a folder");
    let root = data.path().canonicalize().expect("a real path");
    for name in ["open", "closed"] {
        fs::create_dir(root.join(name)).expect("a folder");
        fs::write(root.join(name).join("note.txt"), "tea").expect("a file");
    }
    let [root_text, open] =
        [root.clone(), root.join("open")].map(|path| path.display().to_string());
    // Without a sandbox, only the server's own check remains.
    let allowed = if cfg!(target_os = "linux") { root_text.as_str() } else { open.as_str() };
    let server = with_folder(npm_server("server-filesystem", &[allowed]), &open);
    let engine = EngineBuilder::new(home.path()).build().await;
    install_and_accept(&engine, "files", server).await;
    let note = |folder: &str| json!({ "path": root.join(folder).join("note.txt") });
    assert_eq!(succeed(&engine, "files_read_text_file", note("open")).await, "tea");
    let error = fail(&engine, "files_read_text_file", note("closed")).await;
    assert!(error.contains("ENOENT") || error.contains("Access denied"), "{error}");
    let write = json!({ "path": root.join("open").join("new.txt"), "content": "x" });
    if cfg!(target_os = "linux") {
        fail(&engine, "files_write_file", write).await;
        assert!(!root.join("open").join("new.txt").exists(), "the folder is for reading");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn memory_survives_a_restart_of_the_server() {
    let home = tempfile::tempdir().expect("a folder");
    let root = home.path().canonicalize().expect("a real path");
    let file = root.join("extensions").join("mem").join("memory.jsonl");
    let mut server = npm_server("server-memory", &[]);
    server["transport"]["environment"] = json!({ "MEMORY_FILE_PATH": file });
    let engine = EngineBuilder::new(&root).build().await;
    install_and_accept(&engine, "mem", server).await;
    let tea = json!({ "name": "Tea", "entityType": "drink", "observations": ["green"] });
    succeed(&engine, "mem_create_entities", json!({ "entities": [tea.clone()] })).await;
    assert!(file.is_file(), "the memory is in the private folder");
    engine.call("extensions.restart", json!({ "name": "mem" })).await;
    let found = succeed(&engine, "mem_open_nodes", json!({ "names": ["Tea"] })).await;
    let found: Value = serde_json::from_str(&found).expect("JSON");
    assert_eq!(found["entities"], json!([tea]));
    engine.host.stop().await;
}

#[tokio::test]
async fn sequential_thinking_counts_its_thoughts() {
    let home = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(home.path()).build().await;
    install_and_accept(&engine, "think", npm_server("server-sequential-thinking", &[])).await;
    let thought = |number: u32| {
        json!({
            "thought": "Tea first.", "thoughtNumber": number, "totalThoughts": 2,
            "nextThoughtNeeded": number < 2,
        })
    };
    succeed(&engine, "think_sequentialthinking", thought(1)).await;
    let answer = succeed(&engine, "think_sequentialthinking", thought(2)).await;
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer["thoughtHistoryLength"], 2, "the same process answers both calls");
    engine.host.stop().await;
}
