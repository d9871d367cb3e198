//! What one run keeps in mind and another one finds.

use rouse_testkit::scripted_model::calls;
use serde_json::json;

use crate::house::{House, Plan, ask};

async fn force(house: &House, task: &str) -> serde_json::Value {
    let id = house.add(ask(task)).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(&id, 1).await.remove(0)
}

#[tokio::test]
async fn a_note_of_one_run_is_found_by_another_also_after_a_person_has_changed_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let done =
        || calls([("end", "complete_run", json!({ "outcome": "report", "summary": "Done." }))]);
    let find = || calls([("find", "memory_search", json!({ "query": "spare key" }))]);
    let note = json!({ "title": "Spare key", "content": "Under the blue pot." });
    let script = [calls([("keep", "memory_write", note)]), done(), find(), done(), find(), done()];
    let house = Plan::new(folder.path()).model(script).build().await;

    assert_eq!(force(&house, "Keep this").await["state"], "succeeded");
    let file = folder.path().join("workspace/memory/spare-key.md");
    assert_eq!(
        std::fs::read_to_string(&file).expect("a note"),
        "# Spare key\n\nUnder the blue pot.\n"
    );
    force(&house, "Where is it?").await;
    std::fs::write(&file, "The spare key is with Anna.").expect("the person's own words");
    force(&house, "And now?").await;

    let told = |request: usize| format!("{:?}", house.model.requests()[request].messages.last());
    assert!(told(3).contains("blue pot") && told(3).contains("⟦outside"), "{}", told(3));
    assert!(told(5).contains("with Anna") && !told(5).contains("blue pot"), "{}", told(5));
    house.host.stop().await;
}

#[tokio::test]
async fn a_file_that_is_named_like_a_secret_is_kept_out_of_the_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let done =
        || calls([("end", "complete_run", json!({ "outcome": "report", "summary": "Done." }))]);
    let find = calls([("find", "memory_search", json!({ "query": "blue pot" }))]);
    let house = Plan::new(folder.path()).model([find, done()]).build().await;
    let secret = json!({ "name": "mail", "value": "tulip-9-rose-4711", "hosts": ["mail.example"] });
    house.call("secrets.set", secret).await;
    let memory = folder.path().join("workspace/memory");
    std::fs::create_dir_all(&memory).expect("a folder");
    for name in ["tulip-9-rose-4711.md", "plain.md"] {
        std::fs::write(memory.join(name), "Under the blue pot.").expect("a note");
    }
    force(&house, "Where is it?").await;
    let told = format!("{:?}", house.model.requests()[1].messages.last());
    assert!(told.contains("plain.md") && !told.contains("4711"), "{told}");
    house.host.stop().await;
    let database = folder.path().join("rouse.db");
    let kept = std::fs::read(&database).expect("the database");
    assert!(!kept.windows(17).any(|part| part == b"tulip-9-rose-4711"));
}
