//! The value of a stored secret in a person's own words: it is in no file of the data directory and in no request to a
//! model, whichever way the words come in. Only where secrets are kept is it found. What was written before it was stored
//! stays, and no model is told of it.

use std::fs;
use std::path::{Path, PathBuf};

use rouse_testkit::scripted_model::{calls, says};
use serde_json::{Value, json};

use crate::house::{House, Plan, ask, echo, of_calls};

const VALUE: &str = "sunflower-42-Tango";

async fn store(house: &House) {
    let secret = json!({ "name": "mail", "value": VALUE, "hosts": ["a.example"] });
    house.call("secrets.set", secret).await;
}

/// Waits until the run is over; answers it.
async fn over(house: &House, id: &Value) -> Value {
    house
        .until(async |house| {
            let run = house.call("runs.get", json!({ "id": id })).await["run"].clone();
            run["finishedAtMs"].is_i64().then_some(run)
        })
        .await
}

async fn chat(house: &House, text: &str) -> Value {
    let sent = house.call("chat.send", json!({ "text": text })).await;
    let run = over(house, &sent["runId"]).await;
    assert_eq!(run["state"], "succeeded", "{run}");
    run
}

/// The files below `folder` in which the value stands; the database also in what is not merged into it yet.
pub(crate) fn found_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(found_in(&path));
        } else if path.is_file() {
            let bytes = fs::read(&path).expect("a file");
            let holds = bytes.windows(VALUE.len()).any(|window| window == VALUE.as_bytes());
            found.extend(holds.then_some(path));
        }
    }
    found
}

fn asked(house: &House) -> String {
    format!("{:?}", house.model.requests())
}

#[tokio::test]
async fn the_words_of_a_person_bring_a_stored_secret_nowhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let post = json!({ "url": "https://api.example.com/", "method": "POST", "body": "Tea." });
    let script =
        [says("One."), says("Two."), calls([("c1", "http", post)]), says("Three."), says("Four.")];
    let house = Plan::new(folder.path()).model(script).build().await;
    store(&house).await;

    chat(&house, &format!("The key is {VALUE}, use it")).await;
    let line = json!({ "text": format!("Mind {VALUE}"), "mode": "next-heartbeat" });
    house.call("wake", line).await;
    let key = json!({ "text": "Hello", "key": VALUE });
    let error = house.try_call("chat.send", key).await.expect_err("a key is a name");
    assert!(!error.message.contains(VALUE), "{error:?}");
    chat(&house, "And now?").await;

    let id = house.add(ask("Send it")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.run_in(&id, "awaitingApproval").await;
    let question = house.question().await;
    let deny = json!({ "kind": "deny", "reason": format!("Not with {VALUE}") });
    let answer = json!({ "id": question["id"], "answer": deny, "from": "page" });
    house.call("approvals.decide", answer).await;
    house.ended(&id, 1).await;

    let told = asked(&house);
    let said = "[redacted: secret:mail]";
    for words in ["The key is", "Mind", "Not with"] {
        assert!(told.contains(&format!("{words} {said}")), "{words}: {told}");
    }
    assert!(!told.contains(VALUE), "{told}");
    house.host.stop().await;
    assert_eq!(found_in(folder.path()), [folder.path().join("secrets.json")]);
}

#[tokio::test]
async fn what_is_older_than_a_secret_is_told_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = format!("[heartbeat]\nprompt = \"Speak {VALUE}.\"\n");
    fs::write(folder.path().join("config.toml"), settings).expect("a file");
    let house = Plan::new(folder.path()).model([says("One."), says("Two.")]).build().await;
    let mut job = ask("Look");
    job["payload"]["contextPaths"] = json!([format!("f-{VALUE}.txt")]);
    let id = house.add(job).await;
    store(&house).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(&id, 1).await;
    house.call("wake", json!({ "text": "Up" })).await;
    house.gather().await;
    house.model.asked(2).await;
    let told = asked(&house);
    for words in ["f-[redacted: secret:mail].txt:", "Speak [redacted: secret:mail]."] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains(VALUE), "{told}");
    let patch = json!({ "patch": { "heartbeat": { "prompt": format!("Use {VALUE}") } } });
    let refused = house.try_call("config.patch", patch).await.expect_err("refused");
    assert_eq!(refused.data["fields"][0]["path"], "heartbeat.prompt");
    house.host.stop().await;
}

/// Jobs with the value in one field, and that field.
fn jobs() -> Vec<(Value, &'static str)> {
    let words = format!("Call it with {VALUE}");
    let with = |key: &str| {
        let mut job = ask("Send it");
        job[key] = json!(words);
        job
    };
    let mut event = echo(&json!({ "kind": "manual" }));
    event["payload"] = json!({ "kind": "systemEvent", "text": words });
    event["sessionTarget"] = json!("main");
    let call = |arguments: Value| {
        let mut job = echo(&json!({ "kind": "manual" }));
        job["payload"]["arguments"] = arguments;
        job
    };
    let encoded = "c3VuZmxvd2VyLTQyLVRhbmdv";
    vec![
        (ask(&words), "payload.message"),
        (with("name"), "name"),
        (with("description"), "description"),
        (with("theirs"), "theirs"),
        (event, "payload.text"),
        (call(json!({ "text": words })), "payload.arguments.text"),
        (call(json!({ "text": format!("Basic {encoded}") })), "payload.arguments.text"),
        (call(json!({ "text": "a", VALUE: 1 })), "payload.arguments"),
    ]
}

#[tokio::test]
async fn a_job_with_a_stored_secret_in_it_is_refused_with_its_field_and_the_handle() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    store(&house).await;
    let id = house.add(ask("Send it")).await;
    for (job, field) in jobs() {
        let error = house.try_call("cron.add", job.clone()).await.expect_err(field);
        assert_eq!(error.data["fields"][0]["path"], field, "{error:?}");
        assert!(error.message.contains("{{secret:mail}}"), "{error:?}");
        let patch = json!({ "id": id, "patch": job });
        let refused = house.try_call("cron.update", patch).await.expect_err(field);
        assert_eq!(refused, error);
        let mut named = job;
        named["id"] = json!("from-a-file");
        let text = json!({ "format": "rouse", "jobs": [named] }).to_string();
        let answer = house.call("cron.import", json!({ "text": text })).await;
        assert_eq!(answer["lines"][0]["outcome"], "refused", "{answer}");
        assert_eq!(answer["lines"][0]["reason"], error.message, "{answer}");
        assert!(!format!("{error:?} {answer}").contains(VALUE), "{answer}");
    }
    let trial = json!({ "tool": "echo", "arguments": { "text": VALUE } });
    let error = house.try_call("tools.try", trial).await.expect_err("a trial is written down");
    assert_eq!(error.data["fields"][0]["path"], "arguments.text", "{error:?}");
    house.add(ask("Use {{secret:mail}} for it")).await;
    house.host.stop().await;
    assert_eq!(found_in(folder.path()), [folder.path().join("secrets.json")]);
}

/// A job may be older than the secret in it.
#[tokio::test]
async fn what_a_job_has_held_before_is_handed_on_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let post = json!({ "url": "https://api.example.com/", "method": "POST", "body": "Tea." });
    let note = json!({ "body": "Done so far." });
    let script = [
        says("One."),
        calls([("c1", "notify", note)]),
        calls([("c2", "http", post)]),
        says("Two."),
        says("Three."),
    ];
    let house = Plan::new(folder.path()).model(script).build().await;
    chat(&house, &format!("Remember {VALUE}")).await;
    let mut job = ask(&format!("Send {VALUE}"));
    job["name"] = json!(format!("Mail {VALUE}"));
    let id = house.add(job).await;
    store(&house).await;
    let before = house.model.requests().len();

    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.run_in(&id, "awaitingApproval").await;
    let question = house.question().await;
    assert_eq!(question["jobName"], "Mail [redacted: secret:mail]");
    house.answer(&question, "deny").await;
    house.ended(&id, 1).await;
    let shown =
        format!("{:?}", [house.notifier.shown.next().await, house.notifier.shown.next().await]);
    assert!(!shown.contains(VALUE), "{shown}");
    chat(&house, "And now?").await;
    let told = format!("{:?}", &house.model.requests()[before..]);
    assert!(told.contains("Send [redacted: secret:mail]"), "{told}");
    assert!(told.contains("Remember [redacted: secret:mail]"), "{told}");
    assert!(!told.contains(VALUE), "{told}");
    // What is off can be changed and switched off without its old words being written anew.
    let patch = json!({ "id": id, "patch": { "enabled": false } });
    house.call("cron.update", patch).await;
    house.host.stop().await;
}

#[tokio::test]
async fn what_no_handle_can_stand_for_is_asked_about_with_marks_and_a_command_that_hides_a_value_is_not()
 {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, content: &str| json!({ "path": path, "content": content });
    let both = format!("KEY={VALUE}\n# Rouse writes it as {{{{secret:mail}}}}.\n");
    let named = format!("{VALUE}.txt");
    let script = [
        calls([("c1", "write_file", write("a.txt", "c3VuZmxvd2VyLTQyLVRhbmdv"))]),
        calls([("c2", "write_file", write(&named, "a"))]),
        calls([("c3", "write_file", write("b.txt", &both))]),
        calls([("c4", "run_command", json!({ "command": format!("echo {VALUE} > a.txt") }))]),
        says("Two are written."),
    ];
    let house = Plan::new(folder.path()).model(script).build().await;
    store(&house).await;
    let id = house.add(ask("Write the settings")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    let mark = "[redacted: secret:mail]";
    for shown in
        [mark.to_owned(), format!("KEY={mark}\n# Rouse writes it as {{{{secret:mail}}}}.\n")]
    {
        house.run_in(&id, "awaitingApproval").await;
        let question = house.question().await;
        assert_eq!(question["arguments"]["content"], shown, "{question}");
        assert!(question["why"].to_string().contains("the stored secret mail"), "{question}");
        assert!(question["ungranted"].is_string(), "{question}");
        house.answer(&question, "once").await;
    }
    let run = house.ended(&id, 1).await[0].clone();
    let detail = house.detail(&run).await;
    let calls = of_calls(&detail);
    let failed: Vec<bool> = calls.iter().map(|step| step["isError"] == true).collect();
    assert_eq!(failed, [false, true, false, true], "{calls:?}");
    for refused in [&calls[1], &calls[3]] {
        let said = refused["output"].to_string();
        assert!(said.contains("for a file, call write_file with it"), "{said}");
    }
    let told = asked(&house);
    assert!(!told.contains(VALUE), "{told}");
    house.host.stop().await;
    let workspace = folder.path().join("workspace");
    let written = |name: &str| fs::read_to_string(workspace.join(name)).expect("a file");
    assert_eq!(written("a.txt"), "c3VuZmxvd2VyLTQyLVRhbmdv");
    assert_eq!(written("b.txt"), both);
    let others = |path: &PathBuf| !path.ends_with("b.txt") && !path.ends_with("secrets.json");
    let found: Vec<PathBuf> = found_in(folder.path()).into_iter().filter(others).collect();
    assert!(found.is_empty(), "{found:?}");
}

/// A short value is a word, too: what only reads like it is written like anything else, after a yes.
#[tokio::test]
async fn a_local_write_of_ordinary_words_is_asked_about_although_they_read_like_a_secret() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "The Correct horse wins.\n";
    let write = json!({ "path": "a.txt", "content": text });
    let script = [calls([("c1", "write_file", write)]), says("Written.")];
    let house = Plan::new(folder.path()).model(script).build().await;
    let secret = json!({ "name": "door", "value": "correcthorse", "hosts": ["a.example"] });
    house.call("secrets.set", secret).await;
    let id = house.add(ask("Write it")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.run_in(&id, "awaitingApproval").await;
    let question = house.question().await;
    let preview = question["preview"].as_str().expect("a preview");
    assert!(preview.contains("+The [redacted: secret:door] wins."), "{preview}");
    house.answer(&question, "once").await;
    assert_eq!(house.ended(&id, 1).await[0]["state"], "succeeded");
    house.host.stop().await;
    let written = fs::read_to_string(folder.path().join("workspace/a.txt"));
    assert_eq!(written.expect("a file"), text);
}

/// What is written into the workspace does not leave, so the person is asked about it like about any other write.
#[tokio::test]
async fn a_file_with_a_stored_secret_is_asked_about_by_its_handle_and_written_as_it_was_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    let content = format!("USER=me\nKEY={VALUE}\n");
    let write = json!({ "path": ".env", "content": content });
    let script = [calls([("c1", "write_file", write)]), says("Written.")];
    let house = Plan::new(folder.path()).model(script).build().await;
    store(&house).await;
    let id = house.add(ask("Write the settings")).await;
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.run_in(&id, "awaitingApproval").await;

    let question = house.question().await;
    let preview = question["preview"].as_str().expect("a preview");
    assert!(preview.contains("+KEY={{secret:mail}}"), "{preview}");
    assert_eq!(question["arguments"]["content"], "USER=me\nKEY={{secret:mail}}\n");
    let why = question["why"].as_str().expect("a reason");
    assert!(why.contains("the value of the stored secret mail"), "{why}");
    assert_eq!(question["writesValues"], json!(["mail"]));
    house.answer(&question, "once").await;

    let run = house.ended(&id, 1).await[0].clone();
    assert_eq!(run["state"], "succeeded", "{run}");
    let told = asked(&house);
    assert!(!told.contains(VALUE), "{told}");
    let detail = house.detail(&run).await.to_string();
    assert!(!detail.contains(VALUE), "{detail}");
    house.host.stop().await;
    let found = found_in(folder.path());
    let (files, others): (Vec<_>, Vec<_>) = found.iter().partition(|path| path.ends_with(".env"));
    assert!(others.iter().all(|path| path.ends_with("secrets.json")), "{found:?}");
    let written = files.first().map(|path| fs::read_to_string(path).expect("a file"));
    assert_eq!(written, Some(content));
}

/// The person said yes to the value that was there, and the file would get another one, or the mark of it.
#[tokio::test]
async fn a_file_whose_stored_secret_is_set_anew_or_removed_before_the_yes_is_not_written() {
    for (method, why) in [
        ("secrets.set", "the stored secret mail had, which has been set anew since"),
        ("secrets.remove", "the stored secret mail, which has been deleted since"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let write = json!({ "path": ".env", "content": format!("KEY={VALUE}\n") });
        let script = [calls([("c1", "write_file", write)]), says("It is not written.")];
        let house = Plan::new(folder.path()).model(script).build().await;
        store(&house).await;
        let id = house.add(ask("Write the settings")).await;
        house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
        house.run_in(&id, "awaitingApproval").await;
        let question = house.question().await;
        let anew = json!({ "name": "mail", "value": "another-value-43" });
        let params = if method == "secrets.set" { anew } else { json!({ "name": "mail" }) };
        house.call(method, params).await;
        house.answer(&question, "once").await;
        let run = house.ended(&id, 1).await[0].clone();
        let detail = house.detail(&run).await;
        let said = of_calls(&detail)[0]["output"].to_string();
        assert!(said.contains(why), "{said}");
        house.host.stop().await;
        assert!(!folder.path().join("workspace/.env").exists(), "{method}");
    }
}

/// Each waits for the question before it, and the transcript only marks where a value stood.
#[tokio::test]
async fn what_waits_behind_a_question_is_written_with_its_stored_secrets_after_the_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |path: &str| json!({ "path": path, "content": format!("KEY={VALUE}\n") });
    let note = json!({ "title": "Key", "content": format!("The key is {VALUE}.") });
    let granted = || ("c2", "write_file", file("granted.env"));
    let script = [
        calls([granted()]),
        says("One."),
        calls([("c1", "write_file", file("asked.env")), granted(), ("c3", "memory_write", note)]),
        says("Two."),
    ];
    let house = Plan::new(folder.path()).model(script).build().await;
    store(&house).await;
    let id = house.add(ask("Write the settings")).await;
    for (count, answer) in [(1, "always"), (2, "once")] {
        house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
        house.run_in(&id, "awaitingApproval").await;
        house.answer(&house.question().await, answer).await;
        house.ended(&id, count).await;
    }
    let run = house.ended(&id, 2).await[0].clone();
    let detail = house.detail(&run).await;
    let calls = of_calls(&detail);
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(calls.iter().all(|step| step["isError"] == false), "{calls:?}");
    assert!(!detail.to_string().contains(VALUE), "{detail}");
    house.host.stop().await;
    let (mut kept, others): (Vec<_>, Vec<_>) = found_in(folder.path())
        .into_iter()
        .partition(|path| path.starts_with(folder.path().join("workspace")));
    assert_eq!(others, [folder.path().join("secrets.json")]);
    kept.retain(|path| !path.starts_with(folder.path().join("workspace/memory")));
    assert_eq!(kept.len(), 2, "{kept:?}");
}

/// The yes is to the values that the person was told of: a file without one says nothing of them.
#[tokio::test]
async fn a_grant_says_which_stored_values_it_writes_and_covers_no_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |id: &'static str, content: &str| {
        calls([(id, "write_file", json!({ "path": ".env", "content": content }))])
    };
    let (plain, held) = ("KEY=\n", format!("KEY={VALUE}\n"));
    let script = [
        write("c1", plain),
        says("One."),
        write("c2", &held),
        says("Two."),
        write("c3", &format!("A={VALUE}\n")),
        says("Three."),
    ];
    let house = Plan::new(folder.path()).model(script).build().await;
    store(&house).await;
    let id = house.add(ask("Write the settings")).await;
    let rules = json!({ "path": { "rule": "any" }, "content": { "rule": "any" } });
    let mut known: Vec<Value> = Vec::new();
    for (run, told) in [(1, json!([])), (2, json!(["mail"]))] {
        house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
        house.run_in(&id, "awaitingApproval").await;
        let question = house.question().await;
        assert_eq!(question["writesValues"], told);
        let always = json!({ "kind": "always", "rules": rules });
        let answer = json!({ "id": question["id"], "answer": always, "from": "page" });
        house.call("approvals.decide", answer).await;
        house.ended(&id, run).await;
        let grants = house.call("grants.list", json!({})).await["grants"].clone();
        let grants = grants.as_array().expect("grants");
        let made: Vec<_> = grants.iter().filter(|grant| !known.contains(&grant["id"])).collect();
        assert_eq!(made.len(), 1, "{grants:?}");
        assert_eq!(made[0]["writesValues"], told, "{made:?}");
        known.push(made[0]["id"].clone());
    }
    house.call("cron.run", json!({ "id": id, "mode": "force" })).await;
    house.ended(&id, 3).await;
    house.host.stop().await;
    let files = found_in(folder.path());
    let env = files.iter().find(|path| path.ends_with(".env")).expect("written");
    assert_eq!(fs::read_to_string(env).expect("a file"), format!("A={VALUE}\n"));
}
