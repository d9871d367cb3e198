//! `rouse cron export` and `import`: what goes out comes back the same, switched off, and half a file spoils nothing.

use std::fs;

use serde_json::{Value, json};

use crate::engine::Home;
use crate::probes::echo;

/// Jobs of every kind, with keys that nobody here knows.
fn jobs() -> Vec<Value> {
    let mut cron = echo("Cron");
    cron["schedule"] =
        json!({ "kind": "cron", "expr": "30 7 * * 1-5", "tz": "Europe/Berlin", "theirs": 1 });
    let mut every = echo("Every");
    every["schedule"] = json!({ "kind": "every", "everyMs": 600_000, "anchorMs": 1_000 });
    every["policies"] =
        json!({ "overlap": "queue", "misfire": { "mode": "skip", "theirs": [] }, "theirs": null });
    let mut agent = echo("Agent");
    agent["payload"] = json!({ "kind": "agentTurn", "message": "Look", "tools": ["echo"], "theirs": { "deep": [1, { "er": 2 }] } });
    agent["isolation"] = json!({ "postToMainPrefix": "News" });
    agent["from"] = json!("another program");
    let mut event = echo("Event");
    event["payload"] = json!({ "kind": "systemEvent", "text": "Tea \u{1f375} \"now\"\n" });
    vec![cron, every, agent, event]
}

/// What an import keeps: everything but history.
fn definition(job: &Value) -> Value {
    let mut job = job.clone();
    for gone in ["state", "updatedAtMs"] {
        job.as_object_mut().expect("a job").remove(gone);
    }
    job
}

#[tokio::test]
async fn what_goes_out_comes_back_the_same() {
    let home = Home::new();
    let engine = home.serve().await;
    for job in jobs() {
        engine.add(job).await;
    }
    let file = home.beside("jobs.json");
    let file = file.to_str().expect("text");
    let written = home.rouse(["cron", "export", "--output", file]);
    assert_eq!(written.ok(), format!("Wrote 4 jobs to {file}.\n"));
    let printed = home.rouse(["cron", "export"]).json();
    let on_disk: Value =
        serde_json::from_str(&fs::read_to_string(file).expect("the file")).expect("JSON");
    assert_eq!(printed, on_disk);

    let other = Home::new();
    let engine = other.serve().await;
    let tried = other.rouse(["cron", "import", file, "--dry-run"]);
    assert_eq!(tried.ok().matches("would be created").count(), 4, "{tried:#?}");
    assert_eq!(
        engine.call("cron.list", json!({ "includeDisabled": true })).await["jobs"],
        json!([])
    );
    let added = other.rouse(["cron", "import", file, "--json"]).json();
    assert_eq!(added["format"], "rouse");
    let is_new = |line: &Value| line["outcome"] == "created" && line["enabled"] == false;
    let lines = added["lines"].as_array().expect("lines");
    assert!(lines.len() == 4 && lines.iter().all(is_new), "{added:#}");
    let back = other.rouse(["cron", "export"]).json();
    let originals = printed["jobs"].as_array().expect("jobs");
    for job in back["jobs"].as_array().expect("jobs") {
        let original =
            originals.iter().find(|original| original["id"] == job["id"]).expect("the same id");
        let mut expected = definition(original);
        expected["enabled"] = json!(false);
        assert_eq!(definition(job), expected);
        assert_eq!(job["state"]["nextRunAtMs"], Value::Null, "nothing fires by surprise");
    }
    let twice = other.rouse(["cron", "import", file]);
    assert_eq!(twice.ok().matches("skipped").count(), 4, "{twice:#?}");
    assert_eq!(twice.out.matches("The same job is here already.").count(), 4, "{twice:#?}");
}

#[tokio::test]
async fn jobs_stay_on_when_asked() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut off = echo("Off");
    off["enabled"] = json!(false);
    let document = json!([echo("On"), off]).to_string();
    home.rouse_reading(["cron", "import", "-", "--enable"], &document).ok();
    let jobs = engine.call("cron.list", json!({ "includeDisabled": true })).await;
    let mut states: Vec<(String, bool)> = jobs["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .map(|view| {
            (
                view["job"]["name"].as_str().expect("a name").to_owned(),
                view["job"]["enabled"] == true,
            )
        })
        .collect();
    states.sort();
    assert_eq!(states, [("Off".to_owned(), false), ("On".to_owned(), true)]);
}

#[tokio::test]
async fn one_bad_job_does_not_take_the_good_ones_with_it() {
    let home = Home::new();
    let engine = home.serve().await;
    let document = json!({ "jobs": [echo("Good"), { "name": "Bad", "schedule": { "kind": "cron", "expr": "x" } }, 7, echo("Good too")] });
    let said = home.rouse_reading(["cron", "import", "-"], &document.to_string());
    assert_eq!(said.code, 2, "{said:#?}");
    assert!(
        said.out.contains("refused  Bad: schedule.expr") && said.out.contains("refused  job 3"),
        "{said:#?}"
    );
    assert!(said.err.contains("2 of 4"), "{said:#?}");
    let jobs = engine.call("cron.list", json!({ "includeDisabled": true })).await;
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn every_shape_of_a_file_is_read_and_no_other() {
    let home = Home::new();
    let _engine = home.serve().await;
    for document in
        [json!([echo("List")]), json!({ "jobs": [echo("Export")], "version": 1 }), echo("One")]
    {
        home.rouse_reading(["cron", "import", "-"], &document.to_string()).ok();
    }
    let crontab = home.rouse_reading(["cron", "import", "-"], "@daily tidy up\n");
    assert!(crontab.ok().contains("created  tidy up"), "{crontab:#?}");
    assert!(crontab.out.contains("It stays off"), "{crontab:#?}");
    for (text, words) in [
        ("", "holds no jobs"),
        ("[]", "holds no jobs"),
        ("{", "not JSON"),
        ("7", "holds no jobs"),
        ("{}", "holds no jobs"),
        (r#"{"jobs": 7}"#, "holds no jobs"),
        (r#"[{"name": "a", "name": "b"}]"#, "stands twice"),
    ] {
        home.rouse_reading(["cron", "import", "-"], text).refused(2, words);
    }
    let list = echo("As asked").to_string();
    let said = home.rouse_reading(["cron", "import", "-", "--format", "crontab"], &list);
    assert_eq!(said.code, 2, "{said:#?}");
    assert!(said.out.contains("refused  line 1"), "{said:#?}");
    home.rouse(["cron", "import", "/nowhere/at/all.json"])
        .refused(1, "cannot read /nowhere/at/all.json");
    home.rouse(["cron", "export", "--output", "/nowhere/at/all.json"])
        .refused(1, "cannot write /nowhere/at/all.json");
    home.rouse(["cron", "export", "nobody"]).refused(4, "There is no job nobody");
}

#[tokio::test]
async fn hostile_files_are_errors_and_nothing_is_lost() {
    let home = Home::new();
    let engine = home.serve().await;
    engine.add(echo("Here before")).await;
    let file = home.beside("hostile");
    let path = file.to_str().expect("text");
    let deep = "[".repeat(1_000_000);
    for (bytes, words) in [
        (b"0 7 * * * \xff\n".to_vec(), "not UTF-8 text (byte 10)"),
        (b"0 7 * * * a\0b\n".to_vec(), "NUL"),
        (vec![b' '; 10_000_000], "larger than 8 MB"),
        (deep.into_bytes(), "not JSON"),
    ] {
        fs::write(&file, bytes).expect("a file");
        home.rouse(["cron", "import", path]).refused(2, words);
    }
    let jobs = engine.call("cron.list", json!({ "includeDisabled": true })).await;
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn runs_are_written_as_a_ledger_for_each_job() {
    let home = Home::new();
    let engine = home.serve().await;
    let id = engine.add(echo("Often")).await;
    for _ in 0..2 {
        engine.run_now(&id).await;
    }
    engine.ended(&id, 2).await;
    let quiet = engine.add(echo("Never")).await;
    let folder = home.beside("out");
    let path = folder.to_str().expect("text");
    home.rouse(["cron", "export", "--runs"]).refused(2, "--output");
    let no_folder = ["cron", "export", &id, "--runs", "--output", "runs.jsonl"];
    home.rouse(no_folder).refused(2, "runs.jsonl is named like a file");
    let said = home.rouse(["cron", "export", "--runs", "--output", path]);
    assert_eq!(said.ok(), format!("Wrote 2 jobs and 2 runs to {path}.\n"));
    let ledger = fs::read_to_string(folder.join("runs").join(format!("{id}.jsonl"))).expect("it");
    let lines: Vec<Value> =
        ledger.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0]["ts"].as_i64() <= lines[1]["ts"].as_i64(), "the oldest first");
    for line in &lines {
        assert_eq!((&line["jobId"], &line["status"]), (&json!(id), &json!("ok")), "{line:#}");
        assert!(line["durationMs"].is_i64() && line["summary"].is_string(), "{line:#}");
    }
    let empty = fs::read_to_string(folder.join("runs").join(format!("{quiet}.jsonl")));
    assert_eq!(empty.expect("it"), "");
    assert_eq!(home.rouse(["cron", "export", &id, "--runs"]).ok(), ledger);
    home.rouse(["cron", "import", folder.join("jobs.json").to_str().expect("text")]).ok();
    engine.call("cron.remove", json!({ "id": id })).await;
    let said = home.rouse(["cron", "export", "--runs", "--output", path, "--force"]);
    assert!(said.ok().ends_with("Among them are the runs of a job that is gone.\n"), "{said:#?}");
    let kept = fs::read_to_string(folder.join("runs").join(format!("{id}.jsonl")));
    assert_eq!(kept.expect("it"), ledger);
}
