//! What is said of a job that can be saved and will not do what it says.

use rouse_testkit::scripted_model::says;
use serde_json::{Value, json};

use crate::house::{House, NOON, Plan, ask, echo};

/// The fields of the warnings in an answer.
fn fields(answer: &Value) -> Vec<&str> {
    let warnings = answer["warnings"].as_array().expect("warnings");
    warnings.iter().map(|warning| warning["field"].as_str().expect("a field")).collect()
}

/// An agent's job that names things which are not here.
fn hopeful() -> Value {
    let mut job = ask("Look");
    job["payload"]["model"] = json!("ollama:big");
    job["payload"]["fallbacks"] = json!(["anthropic:x"]);
    job["payload"]["tools"] = json!(["http", "nosuch"]);
    job["payload"]["skills"] = json!(["diary"]);
    job["payload"]["contextPaths"] = json!(["notes.md", "../secret"]);
    job
}

const ALL: [&str; 6] = [
    "payload.model",
    "payload.fallbacks[0]",
    "payload.tools[1]",
    "payload.skills[0]",
    "payload.contextPaths[0]",
    "payload.contextPaths[1]",
];

async fn workspace(house: &House) -> std::path::PathBuf {
    house.call("config.get", json!({})).await["workspace"].as_str().expect("a folder").into()
}

#[tokio::test]
async fn a_job_that_will_miss_something_is_saved_with_a_warning_at_each_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let env = [("ANTHROPIC_API_KEY", ""), ("OPENAI_API_KEY", "")];
    let plan =
        env.iter().fold(Plan::new(folder.path()), |plan, (name, value)| plan.env(name, value));
    let house = plan.build().await;
    assert_eq!(fields(&house.call("cron.check", json!({ "job": hopeful() })).await), ALL);
    assert_eq!(house.call("cron.list", json!({})).await["jobs"], json!([]), "a look saves nothing");
    let saved = house.call("cron.add", hopeful()).await;
    assert_eq!(fields(&saved), ALL, "{saved}");
    for warning in saved["warnings"].as_array().expect("warnings") {
        let message = warning["message"].as_str().expect("words");
        assert!(
            message.ends_with('.') && message.contains('`') || message.contains("diary"),
            "{message}"
        );
    }

    // What has come is warned of no more.
    let place = workspace(&house).await;
    std::fs::create_dir_all(&place).expect("a folder");
    std::fs::write(place.join("notes.md"), "x").expect("written");
    let patch = json!({ "payload": { "skills": null, "tools": ["http"], "contextPaths": ["notes.md"], "fallbacks": null } });
    let saved =
        house.call("cron.update", json!({ "id": saved["job"]["id"], "patch": patch })).await;
    assert_eq!(fields(&saved), ["payload.model"]);
    house.host.stop().await;
}

#[tokio::test]
async fn a_job_that_has_all_that_it_needs_is_saved_without_a_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([says("Done.")]).build().await;
    let saved = house.call("cron.add", ask("Look")).await;
    assert_eq!(saved["warnings"], json!([]));
    let gone = json!({ "kind": "event", "source": "job", "filters": { "jobId": "nobody" } });
    let saved = house
        .call(
            "cron.add",
            json!({ "name": "After", "schedule": gone, "payload": ask("x")["payload"] }),
        )
        .await;
    assert_eq!(fields(&saved), ["schedule.filters.jobId"]);
    let no_field = json!({ "kind": "event", "source": "wake", "filters": { "state": "failed" } });
    let job = json!({ "name": "No field", "schedule": no_field, "payload": ask("x")["payload"] });
    let told = house.call("cron.check", json!({ "job": job })).await;
    assert_eq!(fields(&told), ["schedule.filters"]);
    assert!(told.to_string().contains("has a field `state`"), "{told}");
    let patch = json!({ "enabled": false });
    let saved =
        house.call("cron.update", json!({ "id": saved["job"]["id"], "patch": patch })).await;
    assert_eq!(saved["warnings"], json!([]), "it is off because somebody wants it so");
    let past = json!({ "kind": "at", "atMs": NOON - 1 });
    let check =
        json!({ "job": { "name": "Past", "schedule": past, "payload": ask("x")["payload"] } });
    assert_eq!(fields(&house.call("cron.check", check).await), ["schedule.atMs"]);
    house.host.stop().await;
}

#[tokio::test]
async fn a_one_shot_has_passed_when_its_slot_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let at = json!({ "kind": "at", "atMs": NOON + 3_000, "jitterMs": 3_600_000 });
    let mut job = with(echo(&at), json!({ "id": "spread" }));
    let saved = house.call("cron.add", job.clone()).await;
    let slot = saved["job"]["state"]["nextRunAtMs"].clone();
    assert!(slot.as_i64().is_some_and(|slot| slot > NOON + 4_000), "{saved}");
    house.clock.advance(4_000);
    let update = async |patch: Value| {
        house.call("cron.update", json!({ "id": "spread", "patch": patch })).await
    };
    let saved = update(json!({ "description": "Late" })).await;
    assert_eq!(saved["warnings"], json!([]), "its slot is ahead");
    update(json!({ "enabled": false })).await;
    let saved = update(json!({ "enabled": true })).await;
    assert_eq!((&saved["job"]["state"]["nextRunAtMs"], &saved["warnings"]), (&slot, &json!([])));
    job["schedule"] = json!({ "kind": "at", "atMs": NOON + 3_000 });
    assert_eq!(fields(&house.call("cron.check", json!({ "job": job })).await), ["schedule.atMs"]);
    house.host.stop().await;
}

#[tokio::test]
async fn a_setting_without_effect_is_told_at_its_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let every = |ms: i64| json!({ "kind": "every", "everyMs": ms });
    let spread = |ms: i64| json!({ "kind": "every", "everyMs": ms, "jitterMs": 3_600_000 });
    let cases = [
        (every(60_000), json!({ "maxConcurrent": 3 }), "policies.maxConcurrent", "`parallel`"),
        (every(60_000), json!({ "maxConcurrent": 3, "overlap": "parallel" }), "", ""),
        (every(60_000), json!({ "misfire": { "limit": 3 } }), "policies.misfire.limit", "`runAll`"),
        (every(60_000), json!({ "misfire": { "limit": 3, "mode": "runAll" } }), "", ""),
        (spread(10_000), json!({}), "schedule.jitterMs", "every 10 s"),
        (spread(3_600_000), json!({}), "", ""),
        (every(60_000), json!({ "cooldownSeconds": 7_200 }), "policies.cooldownSeconds", "1 min"),
        (every(60_000), json!({ "cooldownSeconds": 60 }), "", ""),
        (json!({ "kind": "webhook" }), json!({ "cooldownSeconds": 7_200 }), "", ""),
    ];
    for (schedule, policies, field, words) in cases {
        for enabled in [true, false] {
            let more = json!({ "policies": policies, "enabled": enabled });
            let job = with(echo(&schedule), more);
            let told = house.call("cron.check", json!({ "job": job })).await;
            let expected: &[&str] = if field.is_empty() { &[] } else { &[field] };
            assert_eq!(fields(&told), expected, "{job}");
            assert!(told["warnings"].to_string().contains(words), "{told}");
        }
    }
    let hook = echo(&json!({ "kind": "webhook", "jitterMs": 3_600_000 }));
    let refused = house.try_call("cron.add", hook).await.expect_err("refused");
    assert_eq!(refused.data["fields"][0]["path"], "schedule.jitterMs");
    house.host.stop().await;
}

fn with(mut job: Value, more: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (job.as_object_mut(), more) {
        fields.extend(more);
    }
    job
}

#[tokio::test]
async fn a_file_is_missed_in_the_workspace_of_now_and_not_in_that_of_the_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([says("Done.")]).build().await;
    let other = tempfile::tempdir().expect("a folder");
    std::fs::write(other.path().join("notes.md"), "x").expect("written");
    house.call("config.patch", json!({ "patch": { "workspace": other.path() } })).await;
    let mut job = ask("Look");
    job["payload"]["contextPaths"] = json!(["notes.md"]);
    let answer = house.call("cron.check", json!({ "job": job })).await;
    assert_eq!(fields(&answer), ["payload.contextPaths[0]"]);
    house.host.stop().await;
}

#[tokio::test]
async fn an_import_says_when_each_job_fires_and_what_it_will_miss() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let mut mail = hopeful();
    mail["payload"]["channel"] = json!("telegram");
    let strange = json!({
        "name": "Strange", "schedule": { "kind": "every", "everyMs": 3_600_000 },
        "payload": { "kind": "toolCall", "tool": "teleport", "arguments": {} },
    });
    let text = json!([mail, strange]).to_string();
    let wish = json!({ "text": text, "enable": true, "dryRun": true });
    let lines = house.call("cron.import", wish).await["lines"].take();
    assert_eq!(lines[0]["outcome"], "created");
    assert_eq!(fields(&lines[0]).last(), Some(&"payload.channel"));
    assert_eq!((&lines[1]["outcome"], &lines[1]["enabled"]), (&json!("created"), &json!(false)));
    assert_eq!(fields(&lines[1]), ["payload.tool"]);
    assert_eq!(lines[1]["notes"], json!(["There is no tool `teleport` here, so it stays off."]));

    let text = "MAILTO=me@example.org\nCRON_TZ=Asia/Tokyo\n30 7 * * 1-5 backup\n@reboot start\n";
    let lines =
        house.call("cron.import", json!({ "text": text, "dryRun": true })).await["lines"].take();
    assert_eq!(lines[0]["scheduleText"], "Weekdays at 07:30");
    assert_eq!(lines[0]["zone"], "Asia/Tokyo");
    let next: Vec<_> =
        lines[0]["next"].as_array().expect("slots").iter().map(|slot| &slot["jobTime"]).collect();
    assert_eq!(
        next,
        ["2026-11-23T07:30:00+09:00", "2026-11-24T07:30:00+09:00", "2026-11-25T07:30:00+09:00"]
    );
    let told = lines[0]["notes"].to_string();
    assert!(told.contains("Nothing is mailed"), "{told}");
    assert_eq!((&lines[1]["outcome"], &lines[1]["next"]), (&json!("refused"), &json!([])));
    house.host.stop().await;
}

#[tokio::test]
async fn a_tool_that_no_run_of_a_job_may_call_is_warned_of_and_refused_as_its_own_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).model([says("Done.")]).build().await;
    let mut job = ask("Look");
    job["payload"]["tools"] = json!(["http", "routine_create"]);
    let saved = house.call("cron.add", job).await;
    assert_eq!(fields(&saved), ["payload.tools[1]"], "{saved}");
    assert!(saved["warnings"].to_string().contains("only in a conversation"), "{saved}");
    for tool in ["routine_list", "skill_read", "complete_run"] {
        let job = json!({
            "name": "Own", "schedule": { "kind": "manual" },
            "payload": { "kind": "toolCall", "tool": tool, "arguments": {} },
        });
        let refused = house.try_call("cron.add", job.clone()).await.expect_err(tool);
        let said = format!("{refused:?}");
        assert!(said.contains("payload.tool") && said.contains("a turn of a model"), "{said}");
        let wish = json!({ "text": json!([job]).to_string(), "dryRun": true });
        let line = house.call("cron.import", wish).await["lines"][0].take();
        assert_eq!(line["outcome"], "refused", "{line}");
    }
    house.host.stop().await;
}

#[tokio::test]
async fn hosts_that_do_not_bound_a_command_are_warned_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let job = |tool: &str, arguments: Value| {
        json!({
            "name": "Backup", "schedule": { "kind": "every", "everyMs": 3_600_000 },
            "payload": { "kind": "toolCall", "tool": tool, "arguments": arguments },
            "policies": { "hosts": ["example.com"] },
        })
    };
    let saved = house.call("cron.add", job("run_command", json!({ "command": "true" }))).await;
    assert_eq!(fields(&saved), ["policies.hosts"], "{saved}");
    assert!(saved["warnings"][0]["message"].to_string().contains("outside the sandbox"), "{saved}");
    let mut reached = job("http", json!({ "url": "https://example.com/" }));
    reached["name"] = json!("Look");
    let saved = house.call("cron.add", reached).await;
    assert_eq!(fields(&saved), [""; 0], "{saved}");
    house.host.stop().await;
}

#[tokio::test]
async fn a_job_that_waits_for_one_that_is_deleted_after_its_run_is_said_to_come_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let once = json!({ "id": "da", "name": "DA", "deleteAfterRun": true });
    house.call("cron.add", with(echo(&json!({ "kind": "manual" })), once)).await;
    let after = json!({ "kind": "event", "source": "job", "filters": { "jobId": "da" } });
    let job = with(echo(&after), json!({ "name": "After" }));
    let told = house.call("cron.check", json!({ "job": job })).await;
    let warning = json!({
        "field": "schedule.filters.jobId",
        "message": "DA is deleted after its run, so this one comes once.",
    });
    assert_eq!(told["warnings"], json!([warning]));
    let saved = house.call("cron.add", job).await;
    assert_eq!(saved["warnings"], json!([warning]));
    let stays = json!({ "id": "da", "patch": { "deleteAfterRun": false } });
    house.call("cron.update", stays).await;
    let patch = json!({ "id": saved["job"]["id"], "patch": { "description": "x" } });
    assert_eq!(house.call("cron.update", patch).await["warnings"], json!([]));
    house.host.stop().await;
}

#[tokio::test]
async fn a_second_job_of_one_name_is_warned_of_and_its_own_name_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).build().await;
    let job = |name: &str| with(echo(&json!({ "kind": "manual" })), json!({ "name": name }));
    let first = house.call("cron.add", job("Backup")).await;
    assert_eq!(first["warnings"], json!([]));
    assert_eq!(house.call("cron.add", job("Backup of all")).await["warnings"], json!([]));
    let patch = json!({ "description": "Nightly" });
    let own = json!({ "id": first["job"]["id"], "patch": patch });
    assert_eq!(house.call("cron.update", own).await["warnings"], json!([]));
    let second = house.call("cron.add", with(job("Backup"), json!({ "enabled": false }))).await;
    assert_eq!(fields(&second), ["name"], "{second}");
    let url = json!({ "id": second["job"]["id"] });
    let refused = house.try_call("cron.webhook", url).await.expect_err("no webhook");
    assert!(refused.message.ends_with("rouse cron edit Backup --webhook"), "{refused:?}");
    house.host.stop().await;
}

#[tokio::test]
async fn a_secret_that_is_not_stored_or_may_not_go_there_is_warned_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = Plan::new(folder.path()).env("ROUSE_KEYRING", "0").build().await;
    let mine =
        json!({ "name": "github", "value": "0123456789abcdef", "hosts": ["api.github.com"] });
    house.call("secrets.set", mine).await;
    let call = |url: &str, handle: &str| {
        let headers = json!({ "Authorization": format!("Bearer {{{{secret:{handle}}}}}") });
        json!({
            "name": "Stars", "schedule": { "kind": "every", "everyMs": 3_600_000 },
            "payload": { "kind": "toolCall", "tool": "http", "arguments": { "url": url, "headers": headers } },
        })
    };
    let good = call("https://api.github.com/user", "github");
    assert_eq!(fields(&house.call("cron.add", good).await), [""; 0]);
    for (job, words) in [
        (call("https://api.github.com/user", "githb"), "There is no secret called githb."),
        (call("https://example.org/", "github"), "It is bound to: api.github.com."),
        (ask("Use {{secret:githb}} there"), "There is no secret called githb."),
    ] {
        let field = if job["payload"]["kind"] == "toolCall" {
            "payload.arguments"
        } else {
            "payload.message"
        };
        let saved = house.call("cron.add", job.clone()).await;
        assert!(fields(&saved).contains(&field), "{saved}");
        assert!(saved["warnings"].to_string().contains(words), "{saved}");
        let wish = json!({ "text": json!([job]).to_string(), "dryRun": true });
        let line = house.call("cron.import", wish).await["lines"][0].take();
        assert!(fields(&line).contains(&field), "{line}");
    }
    house.host.stop().await;
}
