//! What goes out comes back: generated jobs of every kind, with every policy and keys that nobody knows, and the log of
//! their runs.

use rouse_gateway::wire::LedgerEntry;
use rouse_testkit::dice::{Dice, count_or, first_seed};
use serde_json::{Map, Value, json};

use crate::house::{DAY, HOUR, House, NOON, Plan};

/// Jobs of one world.
const JOBS: usize = 40;

/// Puts a key that nobody knows into some objects.
fn strange(dice: &mut Dice, mut object: Value) -> Value {
    if dice.once_in(2) {
        let values = [json!(null), json!(-1.5), json!("ö\n\"x\""), json!({ "deep": [1, {}] })];
        object["x-stranger"] = dice.pick(&values).clone();
    }
    object
}

/// Each of these keys, or not.
fn some(dice: &mut Dice, keys: &[(&str, Value)]) -> Value {
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
    let plain = match dice.below(7) {
        0 => json!({ "kind": "at", "atMs": NOON + hour * dice.between(30, 900) }),
        1 => json!({ "kind": "every", "everyMs": hour * dice.between(30, 99), "anchorMs": NOON }),
        2 => json!({ "kind": "every", "everyMs": 90_000_000 + dice.between(0, 999) }),
        3 => {
            let patterns = ["0 7 * * MON-FRI", "*/15 30 4 29 2 *", "@yearly", "0 0 L * *"];
            let zones = ["Europe/Berlin", "America/Nuuk", "UTC", "Australia/Lord_Howe"];
            let given = [("tz", json!(dice.pick(&zones))), ("jitterMs", json!(5_000))];
            let given = some(dice, &given);
            with(json!({ "kind": "cron", "expr": dice.pick(&patterns) }), given)
        }
        4 => {
            let sources = ["job", "cron", "wake", "webhook"];
            let patterns = ["(?i)tea", r"\b(a|b)\b.{0,80}\b(c|d)\b", "", "(urgent|asap).{0,40}ö"];
            let given = [
                ("pattern", json!(dice.pick(&patterns))),
                ("filters", json!({ "jobId": "nobody", "n": 1.5, "yes": true, "ö": "ü" })),
            ];
            let given = some(dice, &given);
            with(json!({ "kind": "event", "source": dice.pick(&sources) }), given)
        }
        5 => json!({ "kind": "webhook" }),
        _ => json!({ "kind": "manual" }),
    };
    strange(dice, plain)
}

fn payload(dice: &mut Dice) -> Value {
    let plain = match dice.below(3) {
        0 => json!({ "kind": "systemEvent", "text": "Tee um fünf\nwie immer" }),
        1 => {
            let given = [
                ("model", json!("mine/fake-1")),
                ("useTools", json!(true)),
                ("tools", json!(["echo", "time"])),
                ("maxSteps", json!(7)),
                ("maxTokens", json!(999)),
                ("contextPaths", json!(["notes/a.md"])),
                ("deliver", json!(false)),
                ("timeoutSeconds", json!(77)),
            ];
            with(json!({ "kind": "agentTurn", "message": "Schau nach." }), some(dice, &given))
        }
        _ => {
            let when = [
                json!("always"),
                json!("failure"),
                json!("changed"),
                json!({ "cel": "result.size() > 3", "x-beside": 1 }),
            ];
            let given = [("notifyWhen", dice.pick(&when).clone())];
            let given = some(dice, &given);
            let call = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "ö" } });
            with(call, given)
        }
    };
    strange(dice, plain)
}

fn policies(dice: &mut Dice) -> Value {
    let modes = ["skip", "runOnce", "runAll"];
    let misfire = [("maxLatenessSeconds", json!(600)), ("limit", json!(5))];
    let misfire = with(json!({ "mode": dice.pick(&modes) }), some(dice, &misfire));
    let given = [
        ("misfire", strange(dice, misfire)),
        ("overlap", json!(dice.pick(&["skip", "queue", "parallel", "cancelOther"]))),
        ("cooldownSeconds", json!(dice.between(1, 99))),
        ("maxConcurrent", json!(dice.between(1, 4))),
        ("timeoutSeconds", json!(dice.between(1, 999))),
        ("pauseAfterFailures", json!(dice.between(1, 9))),
        ("approvals", json!(dice.pick(&["ask", "deny", "skip"]))),
        ("budget", json!({ "tokensPerRun": 1_000, "tokensPerDay": 5_000, "usdPerDay": 0.25 })),
        ("notify", json!(dice.pick(&["always", "findings", "failure", "never"]))),
    ];
    let given = some(dice, &given);
    strange(dice, given)
}

fn job(dice: &mut Dice, number: usize) -> Value {
    let payload = payload(dice);
    let is_reminder = payload["kind"] == "systemEvent";
    let given = [
        ("description", json!("Was es tut")),
        ("enabled", json!(dice.once_in(2))),
        ("wakeMode", json!(dice.pick(&["now", "next-heartbeat"]))),
        ("isolation", json!({ "postToMainPrefix": "Früh" })),
        ("runtime", json!({ "maxAttempts": 3, "retryBackoffMs": 1_500 })),
        ("deleteAfterRun", json!(dice.once_in(2))),
        ("policies", policies(dice)),
        ("createdAtMs", json!(NOON - dice.between(0, 9_999_999))),
    ];
    let given = some(dice, &given);
    let plain = json!({
        "id": format!("job-{number}"), "name": format!("Job „{number}“"),
        "schedule": schedule(dice), "payload": payload,
        "sessionTarget": if is_reminder { "main" } else { "isolated" },
    });
    let whole = with(plain, given);
    strange(dice, whole)
}

async fn import(house: &House, jobs: &[Value]) -> Vec<Value> {
    let text = json!({ "version": 1, "jobs": jobs }).to_string();
    let answer = house.call("cron.import", json!({ "text": text, "enable": true })).await;
    answer["lines"].as_array().cloned().expect("lines")
}

/// What goes out, by id.
async fn export(house: &House) -> Vec<Value> {
    let answer = house.call("cron.export", json!({})).await;
    let mut jobs = answer["jobs"].as_array().cloned().expect("jobs");
    jobs.sort_by_key(|job| job["id"].to_string());
    jobs
}

async fn one_world(seed: u64) {
    let mut dice = Dice::new(seed);
    let written: Vec<Value> = (0..JOBS).map(|number| job(&mut dice, number)).collect();
    let folders = [0; 3].map(|_| tempfile::tempdir().expect("a folder"));
    let first = Plan::new(folders[0].path()).build().await;
    let lines = import(&first, &written).await;
    for (line, job) in lines.iter().zip(&written) {
        assert_eq!(line["outcome"], "created", "ROUSE_SEED={seed}: {line:#}\n{job:#}");
    }
    let out = export(&first).await;
    assert_eq!(out.len(), JOBS, "ROUSE_SEED={seed}");
    let second = Plan::new(folders[1].path()).build().await;
    import(&second, &out).await;
    let again = export(&second).await;
    for (one, other) in out.iter().zip(&again) {
        assert_eq!(one, other, "ROUSE_SEED={seed}");
    }
    // What was written is in what goes out: nothing was dropped on the first way in.
    for job in &written {
        let kept = out.iter().find(|kept| kept["id"] == job["id"]).expect("there");
        assert_keeps(job, kept, &format!("ROUSE_SEED={seed} {}", job["id"]));
    }
    first.host.stop().await;
    second.host.stop().await;
}

/// Whether it is left out when it is written, because it goes without saying.
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

/// Every value of `written` stands in `kept`.
#[track_caller]
fn assert_keeps(written: &Value, kept: &Value, place: &str) {
    let Value::Object(fields) = written else {
        return assert_eq!(written, kept, "{place}");
    };
    for (key, value) in fields {
        if !kept[key].is_null() || !is_default(key, value) {
            assert_keeps(value, &kept[key], &format!("{place}.{key}"));
        }
    }
}

#[tokio::test]
async fn jobs_of_every_kind_go_out_and_come_back_the_same() {
    for world in 0..count_or(4) {
        one_world(first_seed() + u64::try_from(world).expect("few")).await;
    }
}

/// A job's log of runs, the newest first.
async fn ledger(house: &House, id: &str) -> Vec<Value> {
    let (mut entries, mut before) = (Vec::new(), Value::Null);
    loop {
        let page = house.call("cron.ledger", json!({ "id": id, "before": before })).await;
        entries.extend(page["entries"].as_array().expect("entries").clone());
        before = page["next"].clone();
        if before.is_null() {
            return entries;
        }
    }
}

#[tokio::test]
async fn the_log_of_runs_is_read_as_it_was_written_and_says_what_the_runs_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let mut well = crate::house::echo(&json!({ "kind": "every", "everyMs": HOUR }));
    well["id"] = json!("well");
    let mut failing = well.clone();
    failing["id"] = json!("failing");
    failing["payload"] =
        json!({ "kind": "toolCall", "tool": "read_file", "arguments": { "path": "keine\nö" } });
    for job in [well, failing] {
        house.add(job).await;
    }
    // Some on time, and some for slots that were slept over.
    for (count, sleeps) in [(1, HOUR), (2, HOUR), (3, DAY)] {
        house.clock.advance(sleeps);
        house.ended("well", count).await;
        house.ended("failing", count).await;
    }
    for id in ["well", "failing"] {
        let (entries, runs) = (ledger(&house, id).await, house.runs(id).await);
        assert_eq!(entries.len(), runs.len());
        for (entry, run) in entries.iter().zip(&runs) {
            let line = entry.to_string();
            let read: LedgerEntry = serde_json::from_str(&line).expect("a line of the log");
            assert_eq!(&serde_json::to_value(&read).expect("JSON"), entry, "{line}");
            for (of_log, of_run) in [
                ("runId", "id"),
                ("ts", "finishedAtMs"),
                ("runAtMs", "startedAtMs"),
                ("slotAtMs", "slotAtMs"),
                ("standsFor", "standsFor"),
                ("state", "state"),
                ("error", "error"),
                ("trigger", "trigger"),
                ("attempt", "attempt"),
            ] {
                assert_eq!(entry[of_log], run[of_run], "{of_log} of {entry:#}\n{run:#}");
            }
            let said = [&run["summary"], &run["error"], &run["reason"]];
            let said = said.into_iter().find(|words| words.is_string());
            assert_eq!(Some(&entry["summary"]), said, "{entry:#}");
        }
    }
    house.host.stop().await;
}
