//! Every line of the log of a rich day: each says its module and a name, and one about a job or a run says which. What jobs
//! and people say is in none of them unless asked for, and a key never.

use std::collections::HashMap;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::asks::{calling, home_with};
use crate::engine::{Engine, Home};
use crate::logs::lines;
use crate::probes::echo;

/// In everything that jobs, models and people say.
const SAID: &str = "PAYLOAD-canary-77ab";
const KEY: &str = "sk-test-KEYcanary0123456789abcdef";

/// What jobs and runs of the day are called, by their ids.
#[derive(Default)]
struct Known {
    jobs: HashMap<String, String>,
    /// The run's job, where it has one, and the name of the run.
    runs: HashMap<String, (Option<String>, String)>,
}

impl Known {
    async fn learn(&mut self, engine: &Engine<'_>) {
        let list = engine.call("cron.list", json!({ "includeDisabled": true })).await;
        for view in list["jobs"].as_array().expect("jobs") {
            let job = view.get("job").unwrap_or(view);
            self.jobs.insert(text(&job["id"]), text(&job["name"]));
        }
        self.learn_runs(engine).await;
    }

    async fn learn_runs(&mut self, engine: &Engine<'_>) {
        let list = engine.call("runs.list", json!({ "limit": 500 })).await;
        for run in list["runs"].as_array().unwrap_or_else(|| panic!("{list}")) {
            let job = run["jobId"].as_str().map(str::to_owned);
            self.runs.insert(text(&run["id"]), (job, text(&run["jobName"])));
        }
    }

    /// What is wrong with a line.
    fn complaint(&self, line: &Value) -> Option<String> {
        for key in ["time", "level", "module", "name", "message"] {
            if line[key].as_str().is_none_or(str::is_empty) {
                return Some(format!("no `{key}`"));
            }
        }
        let all = line.to_string();
        let about_run = self.runs.iter().find(|(id, _)| all.contains(id.as_str()));
        if let Some((id, (job, name))) = about_run {
            let expected = (&json!(id), &json!(job), &json!(name));
            let found = (&line["runId"], &line["jobId"], &line["name"]);
            return (found != expected).then(|| format!("it is about the run {expected:?}"));
        }
        let (id, name) = self.jobs.iter().find(|(id, _)| all.contains(id.as_str()))?;
        let found = (&line["jobId"], &line["name"]);
        (found != (&json!(id), &json!(name))).then(|| format!("it is about the job {id}, {name}"))
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn job(id: &str, more: Value) -> Value {
    let mut job = echo(id);
    job["payload"]["arguments"]["text"] = json!(SAID);
    job["id"] = json!(format!("id-of-{id}"));
    let fields = job.as_object_mut().expect("an object");
    fields.extend(more.as_object().expect("an object").clone());
    job
}

async fn run_to_end(engine: &Engine<'_>, id: &str) {
    let before = engine.runs(id).await.len();
    engine.run_now(id).await;
    engine.ended(id, before + 1).await;
}

/// Jobs that go well, fail, are skipped, paused, fired by events, changed and removed.
async fn morning(engine: &Engine<'_>) {
    let failing = json!({
        "payload": { "kind": "toolCall", "tool": "read_file", "arguments": { "path": "nowhere" } },
        "policies": { "pauseAfterFailures": 1 },
    });
    let after = json!({
        "schedule": { "kind": "event", "source": "job", "filters": { "jobId": "id-of-well" } },
        "policies": { "cooldownSeconds": 3_600 },
    });
    let condition = json!({ "payload": {
        "kind": "toolCall", "tool": "echo", "arguments": { "text": SAID },
        "notifyWhen": { "cel": "result.nothing == 1" },
    } });
    let reminder = json!({
        "sessionTarget": "main",
        "payload": { "kind": "systemEvent", "text": SAID },
    });
    let mute = json!({ "description": "Its row is garbled in the evening." });
    let well = engine.add(job("well", json!({}))).await;
    let after = engine.add(job("after", after)).await;
    for count in [1, 2] {
        run_to_end(engine, &well).await;
        engine.ended(&after, count).await;
    }
    for (id, more) in
        [("failing", failing), ("condition", condition), ("reminder", reminder), ("mute", mute)]
    {
        let id = engine.add(job(id, more)).await;
        run_to_end(engine, &id).await;
    }
    let gone = engine.add(job("gone", json!({}))).await;
    engine.call("cron.update", json!({ "id": gone, "patch": { "description": "x" } })).await;
    engine.call("wake", json!({ "mode": "now", "text": SAID })).await;
    engine.call("cron.remove", json!({ "id": gone })).await;
}

/// The open question of a job; the main session may have one as well.
async fn question_of(engine: &Engine<'_>, job: &str) -> Value {
    engine
        .until(async |engine| {
            let open = engine.call("approvals.list", json!({})).await;
            open["approvals"].as_array()?.iter().find(|asked| asked["jobId"] == job).cloned()
        })
        .await
}

/// An agent whose call needs a yes, one that is stopped while it asks, and an engine that is killed.
async fn noon(engine: Engine<'_>, known: &mut Known) {
    let agent = |id: &str| job(id, json!({ "payload": { "kind": "agentTurn", "message": SAID } }));
    let writer = engine.add(agent("writer")).await;
    engine.run_now(&writer).await;
    let asked = question_of(&engine, &writer).await;
    let answer = json!({ "id": asked["id"], "answer": { "kind": "once" }, "from": "page" });
    engine.call("approvals.decide", answer).await;
    engine.ended(&writer, 1).await;
    let stopped = engine.add(agent("stopped")).await;
    let run = engine.run_now(&stopped).await;
    question_of(&engine, &stopped).await;
    engine.call("runs.cancel", json!({ "id": run })).await;
    engine.ended(&stopped, 1).await;
    let long = json!({ "payload": {
        "kind": "toolCall", "tool": "run_command", "arguments": { "command": "sleep 600" },
    } });
    let long = engine.add(job("long", long)).await;
    engine.run_now(&long).await;
    engine
        .until(async |engine| {
            let runs = engine.runs(&long).await;
            runs.iter().any(|run| run["state"] == "running").then_some(())
        })
        .await;
    known.learn(&engine).await;
    engine.kill();
}

/// Rows that nobody can read, and a pattern that no version can.
fn damage(home: &Home) {
    let file = Connection::open(home.data().join("rouse.db")).expect("a file");
    let cron = json!({
        "id": "id-of-garbled", "name": "garbled", "schedule": { "kind": "cron", "expr": "nonsense" },
        "payload": { "kind": "nonsense" },
    });
    let deaf = json!({ "kind": "event", "source": "wake", "pattern": "tea(" });
    let mute = json!({ "kind": "event", "source": 5 });
    for (id, sql, value) in [
        (
            "id-of-after",
            "UPDATE jobs SET definition = json_set(definition, '$.schedule', json(?2)) WHERE id = ?1",
            deaf.to_string(),
        ),
        (
            "id-of-mute",
            "UPDATE jobs SET definition = json_set(definition, '$.schedule', json(?2)) WHERE id = ?1",
            mute.to_string(),
        ),
        (
            "id-of-well",
            "UPDATE jobs SET definition = ?2, next_run_at = 1000 WHERE id = ?1",
            cron.to_string(),
        ),
        ("id-of-condition", "UPDATE jobs SET last_state = ?2 WHERE id = ?1", "sunny".to_owned()),
    ] {
        let changed = file.execute(sql, [id, &value]).expect("written");
        assert_eq!(changed, 1, "{id}");
    }
}

/// The day from the first start to the end after a kill and damage; judges every line and answers them.
async fn day(payloads: &str) -> Vec<Value> {
    let server = calling(vec![("write_file", json!({ "path": "report.md", "content": SAID }))]);
    let home = home_with(&server)
        .env("ROUSE_LOG", "debug")
        .env("ROUSE_LOG_PAYLOADS", payloads)
        .env("OPENAI_API_KEY", KEY);
    let mut known = Known::default();
    // With the example of the first start.
    let engine = home.serve_as_it_is();
    known.learn(&engine).await;
    morning(&engine).await;
    noon(engine, &mut known).await;
    damage(&home);
    let engine = home.serve_as_it_is();
    engine
        .until(async |engine| {
            let runs = engine.runs("id-of-after").await;
            runs.first().is_some_and(|run| run["state"] == "failed").then_some(())
        })
        .await;
    engine.call("cron.list", json!({ "includeDisabled": true })).await;
    engine.call("cron.pause", json!({})).await;
    engine.call("cron.resume", json!({})).await;
    // Of the damaged jobs the lines of the morning have told the names.
    known.learn_runs(&engine).await;
    assert!(engine.stop().success());
    let written = lines(&home);
    let wrong: Vec<String> = written
        .iter()
        .filter_map(|line| known.complaint(line).map(|why| format!("{why}: {line}")))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), written.len(), wrong.join("\n"));
    for message in [
        "made the example job",
        "cron: job skipped",
        "a job was switched off",
        "a run waits for an answer",
        "a question was answered",
        "a run was cut off",
        "a job hears of no event",
        "a due job is switched off",
        "the state of a job's newest run is no known word",
    ] {
        assert!(written.iter().any(|line| line["message"] == message), "nothing said `{message}`");
    }
    assert!(!written.iter().any(|line| line.to_string().contains(KEY)), "a key is in the log");
    written
}

#[tokio::test]
async fn every_line_says_its_module_and_name_and_which_job_and_run_it_is_about() {
    let written = day("0").await;
    let said: Vec<&Value> = written.iter().filter(|line| line.to_string().contains(SAID)).collect();
    assert!(said.is_empty(), "{said:#?}");
}

#[tokio::test]
async fn with_payloads_the_lines_are_as_whole_and_no_key_is_among_them() {
    let written = day("1").await;
    for message in ["cron: job payload", "cron: job outcome"] {
        let of_it = |line: &&Value| line["message"] == message;
        let said = written.iter().filter(of_it).any(|line| line.to_string().contains(SAID));
        assert!(said, "no `{message}` with what was said: {written:#?}");
    }
}
