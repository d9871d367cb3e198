//! Export and import of generated jobs of every kind, with all policies and unknown keys, and the ledger of runs.

use rouse_gateway::wire::LedgerEntry;
use rouse_testkit::dice::{Dice, count_or, first_seed};
use rouse_tests::{DAY, EngineBuilder, HOUR, NOON, TestEngine};
use serde_json::{Map, Value, json};

/// The number of random jobs.
const JOBS: usize = 40;

/// Adds an unknown key to half of the objects.
fn with_unknown_key(dice: &mut Dice, mut object: Value) -> Value {
    if dice.once_in(2) {
        let values = [json!(null), json!(-1.5), json!("ö\n\"x\""), json!({ "deep": [1, {}] })];
        object["x-unknown"] = dice.pick(&values).clone();
    }
    object
}

/// A random subset of these keys.
fn some_of(dice: &mut Dice, keys: &[(&str, Value)]) -> Value {
    let kept: Map<String, Value> = keys
        .iter()
        .filter(|_| dice.once_in(2))
        .map(|(key, value)| ((*key).to_owned(), value.clone()))
        .collect();
    Value::Object(kept)
}

fn with(mut object: Value, more: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (object.as_object_mut(), more) {
        fields.extend(more);
    }
    object
}

fn schedule(dice: &mut Dice) -> Value {
    let hour = i64::try_from(HOUR).expect("fits");
    let base = match dice.below(7) {
        0 => json!({ "kind": "at", "atMs": NOON + hour * dice.between(30, 900) }),
        1 => json!({ "kind": "every", "everyMs": hour * dice.between(30, 99), "anchorMs": NOON }),
        2 => json!({ "kind": "every", "everyMs": 90_000_000 + dice.between(0, 999) }),
        3 => {
            let patterns = ["0 7 * * MON-FRI", "*/15 30 4 29 2 *", "@yearly", "0 0 L * *"];
            let zones = ["Europe/Berlin", "America/Nuuk", "UTC", "Australia/Lord_Howe"];
            let optional = [("tz", json!(dice.pick(&zones))), ("jitterMs", json!(5_000))];
            let optional = some_of(dice, &optional);
            with(json!({ "kind": "cron", "expr": dice.pick(&patterns) }), optional)
        }
        4 => {
            let sources = ["job", "cron", "wake", "webhook"];
            let patterns = ["(?i)tea", r"\b(a|b)\b.{0,80}\b(c|d)\b", "", "(urgent|asap).{0,40}ö"];
            let optional = [
                ("pattern", json!(dice.pick(&patterns))),
                ("filters", json!({ "jobId": "nobody", "n": 1.5, "yes": true, "ö": "ü" })),
            ];
            let optional = some_of(dice, &optional);
            with(json!({ "kind": "event", "source": dice.pick(&sources) }), optional)
        }
        5 => json!({ "kind": "webhook" }),
        _ => json!({ "kind": "manual" }),
    };
    with_unknown_key(dice, base)
}

fn payload(dice: &mut Dice) -> Value {
    let base = match dice.below(3) {
        0 => json!({ "kind": "systemEvent", "text": "Tee um fünf\nwie immer" }),
        1 => {
            let optional = [
                ("model", json!("mine/fake-1")),
                ("useTools", json!(true)),
                ("tools", json!(["echo", "time"])),
                ("maxSteps", json!(7)),
                ("maxTokens", json!(999)),
                ("contextPaths", json!(["notes/a.md"])),
                ("deliver", json!(false)),
                ("timeoutSeconds", json!(77)),
            ];
            with(json!({ "kind": "agentTurn", "message": "Schau nach." }), some_of(dice, &optional))
        }
        _ => {
            let when = [
                json!("always"),
                json!("failure"),
                json!("changed"),
                json!({ "cel": "result.size() > 3", "x-beside": 1 }),
            ];
            let optional = [("notifyWhen", dice.pick(&when).clone())];
            let optional = some_of(dice, &optional);
            let call = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "ö" } });
            with(call, optional)
        }
    };
    with_unknown_key(dice, base)
}

fn policies(dice: &mut Dice) -> Value {
    let modes = ["skip", "runOnce", "runAll"];
    let misfire = [("maxLatenessSeconds", json!(600)), ("limit", json!(5))];
    let misfire = with(json!({ "mode": dice.pick(&modes) }), some_of(dice, &misfire));
    let optional = [
        ("misfire", with_unknown_key(dice, misfire)),
        ("overlap", json!(dice.pick(&["skip", "queue", "parallel", "cancelOther"]))),
        ("cooldownSeconds", json!(dice.between(1, 99))),
        ("maxConcurrent", json!(dice.between(1, 4))),
        ("timeoutSeconds", json!(dice.between(1, 999))),
        ("pauseAfterFailures", json!(dice.between(1, 9))),
        ("approvals", json!(dice.pick(&["ask", "deny", "skip"]))),
        ("budget", json!({ "tokensPerRun": 1_000, "tokensPerDay": 5_000, "usdPerDay": 0.25 })),
        ("notify", json!(dice.pick(&["always", "findings", "failure", "never"]))),
    ];
    let optional = some_of(dice, &optional);
    with_unknown_key(dice, optional)
}

fn job(dice: &mut Dice, number: usize) -> Value {
    let payload = payload(dice);
    let is_reminder = payload["kind"] == "systemEvent";
    let optional = [
        ("description", json!("Was es tut")),
        ("enabled", json!(dice.once_in(2))),
        ("wakeMode", json!(dice.pick(&["now", "next-heartbeat"]))),
        ("isolation", json!({ "postToMainPrefix": "Früh" })),
        ("runtime", json!({ "maxAttempts": 3, "retryBackoffMs": 1_500 })),
        ("deleteAfterRun", json!(dice.once_in(2))),
        ("policies", policies(dice)),
        ("createdAtMs", json!(NOON - dice.between(0, 9_999_999))),
    ];
    let optional = some_of(dice, &optional);
    let base = json!({
        "id": format!("job-{number}"), "name": format!("Job „{number}“"),
        "schedule": schedule(dice), "payload": payload,
        "sessionTarget": if is_reminder { "main" } else { "isolated" },
    });
    let full = with(base, optional);
    with_unknown_key(dice, full)
}

async fn import(engine: &TestEngine, jobs: &[Value]) -> Vec<Value> {
    let text = json!({ "version": 1, "jobs": jobs }).to_string();
    let answer = engine.call("cron.import", json!({ "text": text, "enable": true })).await;
    answer["lines"].as_array().cloned().expect("lines")
}

/// The exported jobs, ordered by id.
async fn export(engine: &TestEngine) -> Vec<Value> {
    let answer = engine.call("cron.export", json!({})).await;
    let mut jobs = answer["jobs"].as_array().cloned().expect("jobs");
    jobs.sort_by_key(|job| job["id"].to_string());
    jobs
}

async fn assert_round_trip(seed: u64) {
    let mut dice = Dice::new(seed);
    let written: Vec<Value> = (0..JOBS).map(|number| job(&mut dice, number)).collect();
    let folders = [0; 3].map(|_| tempfile::tempdir().expect("a folder"));
    let first = EngineBuilder::new(folders[0].path()).build().await;
    let lines = import(&first, &written).await;
    for (line, job) in lines.iter().zip(&written) {
        assert_eq!(line["outcome"], "created", "ROUSE_SEED={seed}: {line:#}\n{job:#}");
    }
    let exported = export(&first).await;
    assert_eq!(exported.len(), JOBS, "ROUSE_SEED={seed}");
    let second = EngineBuilder::new(folders[1].path()).build().await;
    import(&second, &exported).await;
    let reimported = export(&second).await;
    for (first_job, second_job) in exported.iter().zip(&reimported) {
        assert_eq!(first_job, second_job, "ROUSE_SEED={seed}");
    }
    // The first import lost nothing of the written jobs.
    for job in &written {
        let kept = exported.iter().find(|kept| kept["id"] == job["id"]).expect("there");
        assert_keeps(job, kept, &format!("ROUSE_SEED={seed} {}", job["id"]));
    }
    first.host.stop().await;
    second.host.stop().await;
}

/// Whether export omits the value as a default.
fn is_default(key: &str, value: &Value) -> bool {
    match key {
        "mode" => value == "runOnce",
        "overlap" => value == "skip",
        "approvals" => value == "ask",
        "pattern" => value == "",
        "notifyWhen" => value == "always",
        "wakeMode" => value == "now",
        "deleteAfterRun" => value == false,
        _ => false,
    }
}

/// Asserts that every value of `written` stands in `kept`.
#[track_caller]
fn assert_keeps(written: &Value, kept: &Value, path: &str) {
    let Value::Object(fields) = written else {
        return assert_eq!(written, kept, "{path}");
    };
    for (key, value) in fields {
        if !kept[key].is_null() || !is_default(key, value) {
            assert_keeps(value, &kept[key], &format!("{path}.{key}"));
        }
    }
}

#[tokio::test]
async fn generated_jobs_survive_export_and_import() {
    for world in 0..count_or(4) {
        assert_round_trip(first_seed() + u64::try_from(world).expect("few")).await;
    }
}

/// The ledger of a job, newest run first.
async fn ledger(engine: &TestEngine, id: &str) -> Vec<Value> {
    let (mut entries, mut before) = (Vec::new(), Value::Null);
    loop {
        let page = engine.call("cron.ledger", json!({ "id": id, "before": before })).await;
        entries.extend(page["entries"].as_array().expect("entries").clone());
        before = page["next"].clone();
        if before.is_null() {
            return entries;
        }
    }
}

#[tokio::test]
async fn ledger_entries_equal_their_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut succeeding = rouse_tests::echo_job(&json!({ "kind": "every", "everyMs": HOUR }));
    succeeding["id"] = json!("well");
    let mut failing = succeeding.clone();
    failing["id"] = json!("failing");
    failing["payload"] =
        json!({ "kind": "toolCall", "tool": "read_file", "arguments": { "path": "keine\nö" } });
    for job in [succeeding, failing] {
        engine.add_job(job).await;
    }
    // Runs on time, then a catch-up run.
    for (count, pause) in [(1, HOUR), (2, HOUR), (3, DAY)] {
        engine.clock.advance(pause);
        engine.finished_runs("well", count).await;
        engine.finished_runs("failing", count).await;
    }
    for id in ["well", "failing"] {
        let (entries, runs) = (ledger(&engine, id).await, engine.runs(id).await);
        assert_eq!(entries.len(), runs.len());
        for (entry, run) in entries.iter().zip(&runs) {
            let line = entry.to_string();
            let read: LedgerEntry = serde_json::from_str(&line).expect("a line of the log");
            assert_eq!(&serde_json::to_value(&read).expect("JSON"), entry, "{line}");
            for (ledger_key, run_key) in [
                ("runId", "id"),
                ("ts", "finishedAtMs"),
                ("runAtMs", "startedAtMs"),
                ("slotAtMs", "slotAtMs"),
                ("slotCount", "slotCount"),
                ("state", "state"),
                ("error", "error"),
                ("trigger", "trigger"),
                ("attempt", "attempt"),
            ] {
                assert_eq!(entry[ledger_key], run[run_key], "{ledger_key} of {entry:#}\n{run:#}");
            }
            let texts = [&run["summary"], &run["error"], &run["reason"]];
            let texts = texts.into_iter().find(|text| text.is_string());
            assert_eq!(Some(&entry["summary"]), texts, "{entry:#}");
        }
    }
    engine.host.stop().await;
}
