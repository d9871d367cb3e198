//! Warnings about jobs that can be saved and will not work as written.

use rouse_testkit::scripted_model::says;
use rouse_tests::{EngineBuilder, NOON, TestEngine, agent_job, echo_job};
use serde_json::{Value, json};

/// The fields of the warnings in an answer.
fn fields(answer: &Value) -> Vec<&str> {
    let warnings = answer["warnings"].as_array().expect("warnings");
    warnings.iter().map(|warning| warning["field"].as_str().expect("a field")).collect()
}

/// An agent job with missing references.
fn job_with_missing_references() -> Value {
    let mut job = agent_job("Look");
    job["payload"]["model"] = json!("ollama:big");
    job["payload"]["fallbacks"] = json!(["anthropic:x"]);
    job["payload"]["servers"] = json!(["wrok", "mail:optional"]);
    job["payload"]["tools"] = json!(["http", "nosuch"]);
    job["payload"]["skills"] = json!(["diary"]);
    job["payload"]["contextPaths"] = json!(["notes.md", "../secret"]);
    job
}

const ALL_FIELDS: [&str; 8] = [
    "payload.model",
    "payload.fallbacks[0]",
    "payload.servers[0]",
    "payload.servers[1]",
    "payload.tools[1]",
    "payload.skills[0]",
    "payload.contextPaths[0]",
    "payload.contextPaths[1]",
];

async fn workspace(engine: &TestEngine) -> std::path::PathBuf {
    engine.call("config.get", json!({})).await["workspace"].as_str().expect("a folder").into()
}

#[tokio::test]
async fn job_with_missing_references_is_saved_with_warnings() {
    let folder = tempfile::tempdir().expect("a folder");
    let env = [("ANTHROPIC_API_KEY", ""), ("OPENAI_API_KEY", "")];
    let plan = env
        .iter()
        .fold(EngineBuilder::new(folder.path()), |plan, (name, value)| plan.env(name, value));
    let engine = plan.build().await;
    assert_eq!(
        fields(&engine.call("cron.check", json!({ "job": job_with_missing_references() })).await),
        ALL_FIELDS
    );
    assert_eq!(
        engine.call("cron.list", json!({})).await["jobs"],
        json!([]),
        "a check saves nothing"
    );
    let saved = engine.call("cron.add", job_with_missing_references()).await;
    assert_eq!(fields(&saved), ALL_FIELDS, "{saved}");
    for warning in saved["warnings"].as_array().expect("warnings") {
        let message = warning["message"].as_str().expect("words");
        assert!(
            message.ends_with('.') && message.contains('`') || message.contains("diary"),
            "{message}"
        );
    }

    // Resolved references are no longer warned.
    let root = workspace(&engine).await;
    std::fs::create_dir_all(&root).expect("a folder");
    std::fs::write(root.join("notes.md"), "x").expect("written");
    let patch = json!({ "payload": { "skills": null, "servers": null, "tools": ["http"], "contextPaths": ["notes.md"], "fallbacks": null } });
    let saved =
        engine.call("cron.update", json!({ "id": saved["job"]["id"], "patch": patch })).await;
    assert_eq!(fields(&saved), ["payload.model"]);
    engine.host.stop().await;
}

#[tokio::test]
async fn complete_job_is_saved_without_warnings() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("Done.")]).build().await;
    let saved = engine.call("cron.add", agent_job("Look")).await;
    assert_eq!(saved["warnings"], json!([]));
    let gone = json!({ "kind": "event", "source": "job", "filters": { "jobId": "nobody" } });
    let saved = engine
        .call(
            "cron.add",
            json!({ "name": "After", "schedule": gone, "payload": agent_job("x")["payload"] }),
        )
        .await;
    assert_eq!(fields(&saved), ["schedule.filters.jobId"]);
    let no_field = json!({ "kind": "event", "source": "wake", "filters": { "state": "failed" } });
    let job =
        json!({ "name": "No field", "schedule": no_field, "payload": agent_job("x")["payload"] });
    let checked = engine.call("cron.check", json!({ "job": job })).await;
    assert_eq!(fields(&checked), ["schedule.filters"]);
    assert!(checked.to_string().contains("have no field `state`"), "{checked}");
    let patch = json!({ "enabled": false });
    let saved =
        engine.call("cron.update", json!({ "id": saved["job"]["id"], "patch": patch })).await;
    assert_eq!(saved["warnings"], json!([]), "a disabled job gets no warning");
    let past = json!({ "kind": "at", "atMs": NOON - 1 });
    let check = json!({ "job": { "name": "Past", "schedule": past, "payload": agent_job("x")["payload"] } });
    assert_eq!(fields(&engine.call("cron.check", check).await), ["schedule.atMs"]);
    engine.host.stop().await;
}

#[tokio::test]
async fn one_shot_is_past_after_its_jittered_slot() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let at = json!({ "kind": "at", "atMs": NOON + 3_000, "jitterMs": 3_600_000 });
    let mut job = merged(echo_job(&at), json!({ "id": "spread" }));
    let saved = engine.call("cron.add", job.clone()).await;
    let slot = saved["job"]["state"]["nextRunAtMs"].clone();
    assert!(slot.as_i64().is_some_and(|slot| slot > NOON + 4_000), "{saved}");
    engine.clock.advance(4_000);
    let update = async |patch: Value| {
        engine.call("cron.update", json!({ "id": "spread", "patch": patch })).await
    };
    let saved = update(json!({ "description": "Late" })).await;
    assert_eq!(saved["warnings"], json!([]), "the slot is in the future");
    update(json!({ "enabled": false })).await;
    let saved = update(json!({ "enabled": true })).await;
    assert_eq!((&saved["job"]["state"]["nextRunAtMs"], &saved["warnings"]), (&slot, &json!([])));
    job["schedule"] = json!({ "kind": "at", "atMs": NOON + 3_000 });
    assert_eq!(fields(&engine.call("cron.check", json!({ "job": job })).await), ["schedule.atMs"]);
    engine.host.stop().await;
}

#[tokio::test]
async fn setting_without_effect_is_warned_at_its_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let every = |ms: i64| json!({ "kind": "every", "everyMs": ms });
    let spread = |ms: i64| json!({ "kind": "every", "everyMs": ms, "jitterMs": 3_600_000 });
    let cases = [
        (every(60_000), json!({ "maxConcurrent": 3 }), "policies.maxConcurrent", "`parallel`"),
        (every(60_000), json!({ "maxConcurrent": 3, "overlap": "parallel" }), "", ""),
        (
            every(60_000),
            json!({ "misfire": { "limit": 3 } }),
            "policies.misfire.limit",
            "`run-all`",
        ),
        (every(60_000), json!({ "misfire": { "limit": 3, "mode": "runAll" } }), "", ""),
        (spread(10_000), json!({}), "schedule.jitterMs", "every 10 s"),
        (spread(3_600_000), json!({}), "", ""),
        (every(60_000), json!({ "cooldownSeconds": 7_200 }), "policies.cooldownSeconds", "1 min"),
        (every(60_000), json!({ "cooldownSeconds": 60 }), "", ""),
        (json!({ "kind": "webhook" }), json!({ "cooldownSeconds": 7_200 }), "", ""),
    ];
    for (schedule, policies, field, text) in cases {
        for enabled in [true, false] {
            let more = json!({ "policies": policies, "enabled": enabled });
            let job = merged(echo_job(&schedule), more);
            let checked = engine.call("cron.check", json!({ "job": job })).await;
            let expected: &[&str] = if field.is_empty() { &[] } else { &[field] };
            assert_eq!(fields(&checked), expected, "{job}");
            assert!(checked["warnings"].to_string().contains(text), "{checked}");
        }
    }
    let hook = echo_job(&json!({ "kind": "webhook", "jitterMs": 3_600_000 }));
    let refused = engine.try_call("cron.add", hook).await.expect_err("refused");
    assert_eq!(refused.data["fields"][0]["path"], "schedule.jitterMs");
    engine.host.stop().await;
}

fn merged(mut job: Value, more: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (job.as_object_mut(), more) {
        fields.extend(more);
    }
    job
}

#[tokio::test]
async fn missing_context_file_is_checked_in_current_workspace() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("Done.")]).build().await;
    let other = tempfile::tempdir().expect("a folder");
    std::fs::write(other.path().join("notes.md"), "x").expect("written");
    engine.call("config.patch", json!({ "patch": { "workspace": other.path() } })).await;
    let mut job = agent_job("Look");
    job["payload"]["contextPaths"] = json!(["notes.md"]);
    let answer = engine.call("cron.check", json!({ "job": job })).await;
    assert_eq!(fields(&answer), ["payload.contextPaths[0]"]);
    engine.host.stop().await;
}

#[tokio::test]
async fn import_reports_next_slots_and_warnings() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let mut mail = job_with_missing_references();
    mail["payload"]["channel"] = json!("telegram");
    let unknown_tool = json!({
        "name": "Strange", "schedule": { "kind": "every", "everyMs": 3_600_000 },
        "payload": { "kind": "toolCall", "tool": "teleport", "arguments": {} },
    });
    let text = json!([mail, unknown_tool]).to_string();
    let params = json!({ "text": text, "enable": true, "dryRun": true });
    let lines = engine.call("cron.import", params).await["lines"].take();
    assert_eq!(lines[0]["outcome"], "created");
    assert_eq!(fields(&lines[0]).last(), Some(&"payload.channel"));
    assert_eq!((&lines[1]["outcome"], &lines[1]["enabled"]), (&json!("created"), &json!(false)));
    assert_eq!(fields(&lines[1]), ["payload.tool"]);
    assert_eq!(
        lines[1]["notes"],
        json!(["There is no tool `teleport`, so the job stays disabled."])
    );

    let text = "MAILTO=me@example.org\nCRON_TZ=Asia/Tokyo\n30 7 * * 1-5 backup\n@reboot start\n";
    let lines =
        engine.call("cron.import", json!({ "text": text, "dryRun": true })).await["lines"].take();
    assert_eq!(lines[0]["scheduleText"], "Weekdays at 07:30");
    assert_eq!(lines[0]["zone"], "Asia/Tokyo");
    let next: Vec<_> =
        lines[0]["next"].as_array().expect("slots").iter().map(|slot| &slot["jobTime"]).collect();
    assert_eq!(
        next,
        ["2026-11-23T07:30:00+09:00", "2026-11-24T07:30:00+09:00", "2026-11-25T07:30:00+09:00"]
    );
    let notes = lines[0]["notes"].to_string();
    assert!(notes.contains("Nothing is mailed"), "{notes}");
    assert_eq!((&lines[1]["outcome"], &lines[1]["next"]), (&json!("refused"), &json!([])));
    engine.host.stop().await;
}

#[tokio::test]
async fn chat_only_tool_is_warned_in_agent_and_refused_as_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).model([says("Done.")]).build().await;
    let mut job = agent_job("Look");
    job["payload"]["tools"] = json!(["http", "routine_create"]);
    let saved = engine.call("cron.add", job).await;
    assert_eq!(fields(&saved), ["payload.tools[1]"], "{saved}");
    assert!(saved["warnings"].to_string().contains("only in Chat"), "{saved}");
    for tool in ["routine_list", "skill_read", "complete_run"] {
        let job = json!({
            "name": "Own", "schedule": { "kind": "manual" },
            "payload": { "kind": "toolCall", "tool": tool, "arguments": {} },
        });
        let refused = engine.try_call("cron.add", job.clone()).await.expect_err(tool);
        let error = format!("{refused:?}");
        assert!(error.contains("payload.tool") && error.contains("a turn of a model"), "{error}");
        let params = json!({ "text": json!([job]).to_string(), "dryRun": true });
        let line = engine.call("cron.import", params).await["lines"][0].take();
        assert_eq!(line["outcome"], "refused", "{line}");
    }
    engine.host.stop().await;
}

#[tokio::test]
async fn hosts_policy_on_command_job_is_warned() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let job = |tool: &str, arguments: Value| {
        json!({
            "name": "Backup", "schedule": { "kind": "every", "everyMs": 3_600_000 },
            "payload": { "kind": "toolCall", "tool": tool, "arguments": arguments },
            "policies": { "hosts": ["example.com"] },
        })
    };
    let saved = engine.call("cron.add", job("run_command", json!({ "command": "true" }))).await;
    assert_eq!(fields(&saved), ["policies.hosts"], "{saved}");
    assert!(saved["warnings"][0]["message"].to_string().contains("outside the sandbox"), "{saved}");
    let mut reached = job("http", json!({ "url": "https://example.com/" }));
    reached["name"] = json!("Look");
    let saved = engine.call("cron.add", reached).await;
    assert_eq!(fields(&saved), [""; 0], "{saved}");
    engine.host.stop().await;
}

#[tokio::test]
async fn follower_of_delete_after_run_job_is_warned() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let once = json!({ "id": "da", "name": "DA", "deleteAfterRun": true });
    engine.call("cron.add", merged(echo_job(&json!({ "kind": "manual" })), once)).await;
    let after = json!({ "kind": "event", "source": "job", "filters": { "jobId": "da" } });
    let job = merged(echo_job(&after), json!({ "name": "After" }));
    let checked = engine.call("cron.check", json!({ "job": job })).await;
    let warning = json!({
        "field": "schedule.filters.jobId",
        "message": "DA is deleted after its run, so this job fires once.",
    });
    assert_eq!(checked["warnings"], json!([warning]));
    let saved = engine.call("cron.add", job).await;
    assert_eq!(saved["warnings"], json!([warning]));
    let stays = json!({ "id": "da", "patch": { "deleteAfterRun": false } });
    engine.call("cron.update", stays).await;
    let patch = json!({ "id": saved["job"]["id"], "patch": { "description": "x" } });
    assert_eq!(engine.call("cron.update", patch).await["warnings"], json!([]));
    engine.host.stop().await;
}

#[tokio::test]
async fn second_job_with_same_name_is_warned() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).build().await;
    let job = |name: &str| merged(echo_job(&json!({ "kind": "manual" })), json!({ "name": name }));
    let first = engine.call("cron.add", job("Backup")).await;
    assert_eq!(first["warnings"], json!([]));
    assert_eq!(engine.call("cron.add", job("Backup of all")).await["warnings"], json!([]));
    let patch = json!({ "description": "Nightly" });
    let own = json!({ "id": first["job"]["id"], "patch": patch });
    assert_eq!(engine.call("cron.update", own).await["warnings"], json!([]));
    let second = engine.call("cron.add", merged(job("Backup"), json!({ "enabled": false }))).await;
    assert_eq!(fields(&second), ["name"], "{second}");
    let url = json!({ "id": second["job"]["id"] });
    let refused = engine.try_call("cron.webhook", url).await.expect_err("no webhook");
    assert!(refused.message.ends_with("rouse cron edit Backup --webhook"), "{refused:?}");
    engine.host.stop().await;
}

#[tokio::test]
async fn missing_or_misbound_secret_is_warned() {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(folder.path()).env("ROUSE_KEYRING", "0").build().await;
    let secret =
        json!({ "name": "github", "value": "0123456789abcdef", "hosts": ["api.github.com"] });
    engine.call("secrets.set", secret).await;
    let call = |url: &str, handle: &str| {
        let headers = json!({ "Authorization": format!("Bearer {{{{secret:{handle}}}}}") });
        json!({
            "name": "Stars", "schedule": { "kind": "every", "everyMs": 3_600_000 },
            "payload": { "kind": "toolCall", "tool": "http", "arguments": { "url": url, "headers": headers } },
        })
    };
    let good = call("https://api.github.com/user", "github");
    assert_eq!(fields(&engine.call("cron.add", good).await), [""; 0]);
    for (job, text) in [
        (call("https://api.github.com/user", "githb"), "There is no secret called githb."),
        (call("https://example.org/", "github"), "It is bound to: api.github.com."),
        (agent_job("Use {{secret:githb}} there"), "There is no secret called githb."),
    ] {
        let field = if job["payload"]["kind"] == "toolCall" {
            "payload.arguments"
        } else {
            "payload.message"
        };
        let saved = engine.call("cron.add", job.clone()).await;
        assert!(fields(&saved).contains(&field), "{saved}");
        assert!(saved["warnings"].to_string().contains(text), "{saved}");
        let params = json!({ "text": json!([job]).to_string(), "dryRun": true });
        let line = engine.call("cron.import", params).await["lines"][0].take();
        assert!(fields(&line).contains(&field), "{line}");
    }
    engine.host.stop().await;
}
