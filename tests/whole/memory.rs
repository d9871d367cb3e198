//! Memory notes across runs.

use rouse_testkit::scripted_model::calls;
use rouse_tests::{EngineBuilder, TestEngine, agent_job};
use serde_json::json;

async fn run_job(engine: &TestEngine, task: &str) -> serde_json::Value {
    let id = engine.add_job(agent_job(task)).await;
    engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await.remove(0)
}

#[tokio::test]
async fn memory_note_is_found_by_later_run_after_edit() {
    let folder = tempfile::tempdir().expect("a folder");
    let done =
        || calls([("end", "complete_run", json!({ "outcome": "report", "summary": "Done." }))]);
    let find = || calls([("find", "memory_search", json!({ "query": "spare key" }))]);
    let note = json!({ "title": "Spare key", "content": "Under the blue pot." });
    let script = [calls([("keep", "memory_write", note)]), done(), find(), done(), find(), done()];
    let engine = EngineBuilder::new(folder.path()).model(script).build().await;

    assert_eq!(run_job(&engine, "Keep this").await["state"], "succeeded");
    let file = folder.path().join("workspace/memory/spare-key.md");
    assert_eq!(
        std::fs::read_to_string(&file).expect("a note"),
        "# Spare key\n\nUnder the blue pot.\n"
    );
    run_job(&engine, "Where is it?").await;
    std::fs::write(&file, "The spare key is with Anna.").expect("the person's own words");
    run_job(&engine, "And now?").await;

    let last_message =
        |request: usize| format!("{:?}", engine.model.requests()[request].messages.last());
    assert!(
        last_message(3).contains("blue pot") && last_message(3).contains("⟦outside"),
        "{}",
        last_message(3)
    );
    assert!(
        last_message(5).contains("with Anna") && !last_message(5).contains("blue pot"),
        "{}",
        last_message(5)
    );
    engine.host.stop().await;
}

#[tokio::test]
async fn memory_file_named_like_secret_is_not_indexed() {
    let folder = tempfile::tempdir().expect("a folder");
    let done =
        || calls([("end", "complete_run", json!({ "outcome": "report", "summary": "Done." }))]);
    let find = calls([("find", "memory_search", json!({ "query": "blue pot" }))]);
    let engine = EngineBuilder::new(folder.path()).model([find, done()]).build().await;
    let secret = json!({ "name": "mail", "value": "tulip-9-rose-4711", "hosts": ["mail.example"] });
    engine.call("secrets.set", secret).await;
    let memory = folder.path().join("workspace/memory");
    std::fs::create_dir_all(&memory).expect("a folder");
    for name in ["tulip-9-rose-4711.md", "plain.md"] {
        std::fs::write(memory.join(name), "Under the blue pot.").expect("a note");
    }
    run_job(&engine, "Where is it?").await;
    let message = format!("{:?}", engine.model.requests()[1].messages.last());
    assert!(message.contains("plain.md") && !message.contains("4711"), "{message}");
    engine.host.stop().await;
    let database = folder.path().join("rouse.db");
    let bytes = std::fs::read(&database).expect("the database");
    assert!(!bytes.windows(17).any(|part| part == b"tulip-9-rose-4711"));
}
