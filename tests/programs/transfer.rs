//! `rouse cron export` and `import`: jobs come back unchanged and disabled, and invalid files change nothing.

use std::fs;

use serde_json::{Value, json};

use crate::engine::TestHome;
use crate::probes::echo;

/// Jobs of every kind, with unknown keys.
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

/// The imported part of a job: all but the history.
fn definition(job: &Value) -> Value {
    let mut job = job.clone();
    for gone in ["state", "updatedAtMs"] {
        job.as_object_mut().expect("a job").remove(gone);
    }
    job
}

#[tokio::test]
async fn exported_jobs_are_imported_unchanged() {
    let home = TestHome::new();
    let engine = home.serve().await;
    for job in jobs() {
        engine.add_job(job).await;
    }
    let file = home.sibling("jobs.json");
    let file = file.to_str().expect("text");
    let written = home.rouse(["cron", "export", "--output", file]);
    assert_eq!(written.ok(), format!("Wrote 4 jobs to {file}.\n"));
    let printed = home.rouse(["cron", "export"]).json();
    let on_disk: Value =
        serde_json::from_str(&fs::read_to_string(file).expect("the file")).expect("JSON");
    assert_eq!(printed, on_disk);

    let other = TestHome::new();
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
    assert_eq!(twice.out.matches("The same job exists already.").count(), 4, "{twice:#?}");
}

#[tokio::test]
async fn import_with_enable_keeps_jobs_enabled() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut off = echo("Off");
    off["enabled"] = json!(false);
    let document = json!([echo("On"), off]).to_string();
    home.rouse_with_input(["cron", "import", "-", "--enable"], &document).ok();
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
async fn invalid_job_does_not_block_valid_jobs() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let document = json!({ "jobs": [echo("Good"), { "name": "Bad", "schedule": { "kind": "cron", "expr": "x" } }, 7, echo("Good too")] });
    let output = home.rouse_with_input(["cron", "import", "-"], &document.to_string());
    assert_eq!(output.code, 2, "{output:#?}");
    assert!(
        output.out.contains("refused  Bad: schedule.expr") && output.out.contains("refused  job 3"),
        "{output:#?}"
    );
    assert!(output.err.contains("2 of 4"), "{output:#?}");
    let jobs = engine.call("cron.list", json!({ "includeDisabled": true })).await;
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn import_accepts_known_file_shapes_only() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    for document in
        [json!([echo("List")]), json!({ "jobs": [echo("Export")], "version": 1 }), echo("One")]
    {
        home.rouse_with_input(["cron", "import", "-"], &document.to_string()).ok();
    }
    let crontab = home.rouse_with_input(["cron", "import", "-"], "@daily tidy up\n");
    assert!(crontab.ok().contains("created  tidy up"), "{crontab:#?}");
    assert!(crontab.out.contains("Disabled until"), "{crontab:#?}");
    for (text, expected) in [
        ("", "holds no jobs"),
        ("[]", "holds no jobs"),
        ("{", "not JSON"),
        ("7", "holds no jobs"),
        ("{}", "holds no jobs"),
        (r#"{"jobs": 7}"#, "holds no jobs"),
        (r#"[{"name": "a", "name": "b"}]"#, "stands twice"),
    ] {
        home.rouse_with_input(["cron", "import", "-"], text).assert_error(2, expected);
    }
    let list = echo("As asked").to_string();
    let output = home.rouse_with_input(["cron", "import", "-", "--format", "crontab"], &list);
    assert_eq!(output.code, 2, "{output:#?}");
    assert!(output.out.contains("refused  line 1"), "{output:#?}");
    home.rouse(["cron", "import", "/nowhere/at/all.json"])
        .assert_error(1, "cannot read /nowhere/at/all.json");
    home.rouse(["cron", "export", "--output", "/nowhere/at/all.json"])
        .assert_error(1, "cannot write /nowhere/at/all.json");
    home.rouse(["cron", "export", "nobody"]).assert_error(4, "There is no job nobody");
}

#[tokio::test]
async fn hostile_import_files_are_refused() {
    let home = TestHome::new();
    let engine = home.serve().await;
    engine.add_job(echo("Here before")).await;
    let file = home.sibling("hostile");
    let path = file.to_str().expect("text");
    let deep = "[".repeat(1_000_000);
    for (bytes, text) in [
        (b"0 7 * * * \xff\n".to_vec(), "not UTF-8 text (byte 10)"),
        (b"0 7 * * * a\0b\n".to_vec(), "NUL"),
        (vec![b' '; 10_000_000], "larger than 8 MB"),
        (deep.into_bytes(), "not JSON"),
    ] {
        fs::write(&file, bytes).expect("a file");
        home.rouse(["cron", "import", path]).assert_error(2, text);
    }
    let jobs = engine.call("cron.list", json!({ "includeDisabled": true })).await;
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn export_writes_run_ledger_per_job() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let id = engine.add_job(echo("Often")).await;
    for _ in 0..2 {
        engine.start_run(&id).await;
    }
    engine.finished_runs(&id, 2).await;
    let quiet = engine.add_job(echo("Never")).await;
    let folder = home.sibling("out");
    let path = folder.to_str().expect("text");
    home.rouse(["cron", "export", "--runs"]).assert_error(2, "--output");
    let no_folder = ["cron", "export", &id, "--runs", "--output", "runs.jsonl"];
    home.rouse(no_folder).assert_error(2, "runs.jsonl is named like a file");
    let output = home.rouse(["cron", "export", "--runs", "--output", path]);
    assert_eq!(output.ok(), format!("Wrote 2 jobs and 2 runs to {path}.\n"));
    let ledger =
        fs::read_to_string(folder.join("runs").join(format!("{id}.jsonl"))).expect("a file");
    let lines: Vec<Value> =
        ledger.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0]["ts"].as_i64() <= lines[1]["ts"].as_i64(), "the oldest first");
    for line in &lines {
        assert_eq!((&line["jobId"], &line["status"]), (&json!(id), &json!("ok")), "{line:#}");
        assert!(line["durationMs"].is_i64() && line["summary"].is_string(), "{line:#}");
    }
    let empty = fs::read_to_string(folder.join("runs").join(format!("{quiet}.jsonl")));
    assert_eq!(empty.expect("a file"), "");
    assert_eq!(home.rouse(["cron", "export", &id, "--runs"]).ok(), ledger);
    home.rouse(["cron", "import", folder.join("jobs.json").to_str().expect("text")]).ok();
    engine.call("cron.remove", json!({ "id": id })).await;
    let output = home.rouse(["cron", "export", "--runs", "--output", path, "--force"]);
    assert!(output.ok().ends_with("This includes the runs of a deleted job.\n"), "{output:#?}");
    let kept = fs::read_to_string(folder.join("runs").join(format!("{id}.jsonl")));
    assert_eq!(kept.expect("a file"), ledger);
}
