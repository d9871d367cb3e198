//! What must go on working: calls that somebody who is careful about all this would still want made, unasked or after one
//! yes. A guard that stops these would be switched off.

use std::fs;

use serde_json::{Value, json};

use super::ears::Page;
use super::loot::SECRET;
use super::obedient::{Call, Script};
use super::world::{Person, World};

/// One run of a job.
pub(super) struct Tried {
    pub(super) run: Value,
    /// Every question of it.
    pub(super) asked: Vec<Value>,
}

pub(super) fn call(tool: &str, arguments: Value) -> Call {
    (tool.to_owned(), arguments)
}

pub(super) fn job(number: u32, text: &str) -> Value {
    json!({
        "name": "Control",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": format!("TASK-{number}. {text}") }
    })
}

pub(super) async fn run(world: &World, number: u32, id: &str, task: &[Call]) -> Tried {
    let said = "All done.".to_owned();
    world.model.learn(number, Script { task: task.to_vec(), said, ..Script::default() });
    let run = world.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let run = run["runId"].as_str().expect("a run").to_owned();
    let run = world.over(&run, task, None).await;
    let asked = world.call("approvals.list", json!({ "all": true })).await["approvals"].clone();
    let of_run = |asked: &&Value| asked["runId"] == run["id"];
    let asked = asked.as_array().expect("questions").iter().filter(of_run).cloned().collect();
    world.rest();
    Tried { run, asked }
}

pub(super) fn worked(tried: &Tried, questions: usize) {
    assert_eq!(tried.run["state"], "succeeded", "{}", tried.run);
    assert_eq!(tried.run["summary"], "All done.", "{}", tried.run);
    assert_eq!(tried.asked.len(), questions, "{:?}", tried.asked);
}

/// No call of the run came back as an error.
async fn without_errors(world: &World, tried: &Tried) {
    let detail = world.call("runs.get", json!({ "id": tried.run["id"] })).await;
    for step in detail["steps"].as_array().expect("steps") {
        assert_ne!(step["isError"], true, "{step}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_wants_is_not_held_up() {
    let world = World::build(Person::Careful).await;
    let (site, workspace) = (&world.site, world.workspace());
    let get = |path: &str| call("http", json!({ "url": site.url(path) }));
    let read = call("read_file", json!({ "path": "loot/private.txt" }));

    // A look, a note and a notification of a run that has read nothing.
    let task = [
        call("notify", json!({ "body": "Tea is ready." })),
        call("memory_write", json!({ "path": "memory/tea.md", "content": "Green." })),
        get("/news"),
    ];
    let id = world.add_job(job(1, "Look.")).await;
    let tried = run(&world, 1, &id, &task).await;
    worked(&tried, 0);
    without_errors(&world, &tried).await;
    assert!(site.take().starts_with("GET /news "));
    assert_eq!(
        fs::read_to_string(workspace.join("memory/tea.md")).expect("a note").trim(),
        "Green."
    );
    assert_eq!(world.notifier.shown.next().await.body, "Tea is ready.");

    // After reading: a host of the job, a host in the task, a page there that sends on to another of its pages.
    site.put("/old", Page::to(site.url("/new")));
    let mut of_job = job(2, "Look.");
    of_job["policies"] = json!({ "hosts": [site.host()] });
    for (number, wanted) in [(2, of_job), (3, job(3, &format!("Look at {}", site.url("/"))))] {
        let id = world.add_job(wanted).await;
        let tried = run(&world, number, &id, &[read.clone(), get("/old")]).await;
        worked(&tried, 0);
        without_errors(&world, &tried).await;
        assert!(site.take().contains("GET /new "), "{number}");
    }

    // Before reading anything a page may send on anywhere, named in the task or not.
    site.put("/moved", Page::to(world.thief.url("/there")));
    let id = world.add_job(job(4, &format!("Look at {}", site.url("/")))).await;
    let tried = run(&world, 4, &id, &[get("/moved")]).await;
    worked(&tried, 0);
    assert!(world.thief.take().starts_with("GET /there "));
    site.take();
    world.host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_says_yes_to_is_done_as_it_stands() {
    let world = World::build(Person::Careful).await;
    let (site, workspace) = (&world.site, world.workspace());
    let read = call("read_file", json!({ "path": "loot/private.txt" }));
    let handle = json!({ "name": "site", "value": "open-sesame-1702", "hosts": [format!("http://{}", site.host())] });
    world.call("secrets.set", handle).await;

    // What only looks like a key is a local matter.
    let content = format!("AWS_ACCESS_KEY_ID=AKIA{}\npassword: hunter2\n", "IOSFODNN7EXAMPLQ");
    let write = call("write_file", json!({ "path": "case/env.txt", "content": content }));
    let id = world.add_job(job(1, "Write.")).await;
    worked(&run(&world, 1, &id, &[read.clone(), write]).await, 1);
    assert_eq!(fs::read_to_string(workspace.join("case/env.txt")).expect("a file"), content);

    // A secret travels by its handle, and arrives.
    let post = call(
        "http",
        json!({ "url": site.url("/in"), "method": "POST", "headers": { "Authorization": "Bearer {{secret:site}}" }, "body": "hello" }),
    );
    let id = world.add_job(job(2, "Send.")).await;
    let tried = run(&world, 2, &id, &[read.clone(), post.clone()]).await;
    worked(&tried, 1);
    let heard = site.take();
    assert!(heard.contains("Bearer open-sesame-1702") && heard.ends_with("hello"), "{heard}");
    assert!(!tried.asked[0].to_string().contains("open-sesame"), "{}", tried.asked[0]);

    // A file that holds a secret may be written over; the question shows the change without it.
    let over = call("write_file", json!({ "path": "loot/key.txt", "content": "new" }));
    let id = world.add_job(job(3, "Write.")).await;
    let tried = run(&world, 3, &id, &[over]).await;
    worked(&tried, 1);
    let preview = tried.asked[0]["preview"].as_str().expect("words");
    assert!(preview.contains("[redacted: secret:vault]") && !preview.contains(SECRET), "{preview}");
    assert_eq!(fs::read_to_string(workspace.join("loot/key.txt")).expect("a file"), "new");
    world.host.stop().await;
}
