//! Jobs with event and webhook triggers.

use serde_json::{Value, json};

use crate::engine::TestHome;
use crate::http::Request;

const TIME: [&str; 2] = ["--tool", "time"];

fn add(home: &TestHome, flags: &[&str]) -> Value {
    let args = [&["--json", "cron", "add"][..], &TIME, flags].concat();
    home.rouse(&args).json()["job"].clone()
}

#[tokio::test]
async fn trigger_flags_set_schedule_fields() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let backup = add(&home, &["--manual", "--name", "Backup"]);
    let after =
        |flags: &[&str]| add(&home, &[&["--after", "Backup"], flags].concat())["schedule"].clone();
    let event = |filters: Value| json!({ "kind": "event", "source": "job", "filters": filters });
    assert_eq!(after(&[]), event(json!({ "jobId": backup["id"], "status": "ok" })));
    assert_eq!(
        after(&["--on", "failure"]),
        event(json!({ "jobId": backup["id"], "status": "error" }))
    );
    assert_eq!(after(&["--on", "any"]), event(json!({ "jobId": backup["id"] })));
    let flags =
        ["--on-event", "wake", "--pattern", "(?i)tea", "--filter", "type=wake", "--filter", "n=1"];
    assert_eq!(
        add(&home, &flags)["schedule"],
        json!({ "kind": "event", "source": "wake", "pattern": "(?i)tea", "filters": { "type": "wake", "n": 1 } })
    );
    for (flags, text) in [
        (
            &["--on-event", "wake", "--pattern", "("][..],
            "--pattern (schedule.pattern): is no regular expression",
        ),
        (&["--on-event", "wake", "--filter", "x"], "expected KEY=VALUE"),
        (
            &["--on-event", "gihtub"],
            "--on-event (schedule.source): expected one of job, cron, wake, webhook",
        ),
        (&["--after", "Nothing"], "There is no job Nothing."),
        (&["--manual", "--pattern", "x"], "--pattern and --filter need --on-event or --after"),
        (&["--every", "1h", "--webhook"], "cannot be used with"),
        (&["--after", "Backup", "--on-event", "wake"], "cannot be used with"),
        (&["--on-event", "job", "--on", "failure"], "--on needs --after"),
        (&["--every", "1h", "--on", "failure"], "--on needs --after"),
    ] {
        let refused = home.rouse([&["cron", "add"][..], &TIME, flags].concat());
        assert!(refused.err.contains(text), "{flags:?}\n{}", refused.err);
    }
    let shown = home.rouse(["cron", "list"]);
    assert!(shown.ok().contains("After Backup succeeds"), "{}", shown.ok());
    drop(engine);
}

#[tokio::test]
async fn edit_of_event_trigger_changes_named_fields_only() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let backup = add(&home, &["--manual", "--name", "Backup"]);
    add(&home, &["--after", "Backup", "--on", "failure", "--name", "Complain"]);
    let listens = ["--on-event", "job", "--pattern", "x", "--filter", "status=ok"];
    add(&home, &[&listens[..], &["--filter", "name=foo", "--name", "Listen"]].concat());
    add(&home, &["--cron", "0 7 * * *", "--jitter", "5s", "--name", "Spread"]);
    let of_job = |filters: Value| json!({ "kind": "event", "source": "job", "filters": filters });
    let failed = of_job(json!({ "jobId": backup["id"], "status": "error" }));
    let both = json!({ "status": "ok", "name": "foo" });
    let with = |pattern: &str, filters: &Value| json!({ "kind": "event", "source": "job", "pattern": pattern, "filters": filters });
    let named = json!({ "status": "ok", "name": "bar" });
    for (job, flags, schedule) in [
        ("Complain", &["--after", "Backup"][..], failed.clone()),
        ("Complain", &["--on", "any"], of_job(json!({ "jobId": backup["id"] }))),
        ("Complain", &["--on", "failure"], failed),
        ("Listen", &["--on-event", "job", "--pattern", "y"], with("y", &both)),
        ("Listen", &["--pattern", "z"], with("z", &both)),
        ("Listen", &["--filter", "name=bar"], with("z", &named)),
        ("Listen", &["--pattern", ""], of_job(named)),
        ("Listen", &["--filter", "none"], json!({ "kind": "event", "source": "job" })),
    ] {
        let args = [&["--json", "cron", "edit", job][..], flags].concat();
        assert_eq!(home.rouse(args).json()["job"]["schedule"], schedule, "{job} {flags:?}");
    }
    let spread = home.rouse(["--json", "cron", "edit", "Spread", "--every", "2h"]).json();
    assert_eq!(spread["job"]["schedule"]["jitterMs"], 5_000);
    for part in [["--on", "any"], ["--pattern", "x"], ["--filter", "a=b"]] {
        home.rouse([&["cron", "edit", "Spread"][..], &part].concat()).assert_error(2, "--after");
    }
    drop(engine);
}

#[tokio::test]
async fn deleting_job_names_its_followers() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let backup = add(&home, &["--manual", "--name", "Backup"]);
    let copy = add(&home, &["--after", "Backup", "--name", "Copy away"]);
    add(&home, &["--after", "Backup", "--on", "failure", "--name", "Complain"]);
    add(&home, &["--after", "Copy away", "--name", "Tidy"]);
    let shown = home.rouse(["cron", "show", "Copy away"]);
    assert!(!shown.ok().contains("deleted"), "{shown:#?}");
    let removed = home.rouse(["cron", "rm", "Backup"]);
    assert!(removed.ok().contains("Deleted Backup"), "{removed:#?}");
    assert!(removed.out.contains("Complain, Copy away"), "{removed:#?}");
    assert!(!removed.out.contains("Tidy"), "{removed:#?}");
    let list = home.rouse(["cron", "list", "--all"]);
    assert_eq!(list.ok().matches("its predecessor was deleted").count(), 2, "{list:#?}");
    let shown = home.rouse(["cron", "show", "Copy away"]);
    assert!(shown.ok().contains("its predecessor was deleted"), "{shown:#?}");
    let view = home.rouse(["cron", "show", "Copy away", "--json"]).json();
    assert_eq!(view["isPredecessorMissing"], true, "{view:#}");
    let tidy = home.rouse(["cron", "show", "Tidy", "--json"]).json();
    assert_eq!(tidy["isPredecessorMissing"], false, "{tidy:#}");
    // Restored under the same id, the predecessor counts again.
    let mut again = backup.clone();
    again.as_object_mut().expect("a job").remove("state");
    engine.add_job(again).await;
    let view = home.rouse(["cron", "show", "Copy away", "--json"]).json();
    assert_eq!((&view["isPredecessorMissing"], &view["job"]["id"]), (&json!(false), &copy["id"]));
    let removed = home.rouse(["cron", "rm", "Backup", "--json"]).json();
    let names: Vec<_> = removed["followers"]
        .as_array()
        .expect("followers")
        .iter()
        .map(|job| job["name"].clone())
        .collect();
    assert_eq!(names, [json!("Complain"), json!("Copy away")]);
}

#[tokio::test]
async fn webhook_job_is_created_called_and_shown() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let output = home.rouse(["cron", "add", "--name", "Deploy", "--webhook", "--tool", "time"]);
    assert!(
        output.ok().contains("/hooks/jobs/") && output.ok().contains("curl -X POST"),
        "{}",
        output.ok()
    );
    let again = home.rouse(["--json", "cron", "webhook", "Deploy"]).json();
    assert_eq!(again["secret"], Value::Null, "shown once");
    let view = home.rouse(["--json", "cron", "webhook", "Deploy", "--rotate"]).json();
    let (url, secret) =
        (view["url"].as_str().expect("a URL"), view["secret"].as_str().expect("a secret"));
    let path = url.splitn(4, '/').nth(3).map(|path| format!("/{path}")).expect("a path");
    let call = Request::new(&engine.address, "POST", &path).body("Version 7");
    assert_eq!(call.clone().send().status, 401);
    let reply = call.with("Authorization", &format!("Bearer {secret}")).send();
    assert_eq!(reply.status, 202, "{reply:?}");
    let run: Value = serde_json::from_str(&reply.body).expect("JSON");
    let id = run["runId"].as_str().expect("a run");
    let detail = engine.call("runs.get", json!({ "id": id })).await;
    assert_eq!(detail["cause"]["text"], "Version 7");
    let shown = home.rouse(["runs", "show", id]);
    assert!(shown.ok().contains("Version 7") && shown.ok().contains("webhook"), "{}", shown.ok());
    for (path, bytes) in home.written_files() {
        let holds = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!holds, "the secret is in {}", path.display());
    }
}

#[tokio::test]
async fn webhook_signing_key_is_shown_once() {
    let home = TestHome::new();
    let engine = home.serve().await;
    add(&home, &["--webhook", "--name", "Deploy"]);
    let first = home.rouse(["cron", "webhook", "Deploy", "--sign"]);
    assert!(first.ok().contains("key    whsec_"), "{first:#?}");
    assert!(first.out.contains("ROUSE_KEYRING=0"), "the key is in the file: {first:#?}");
    let again = home.rouse(["--json", "cron", "webhook", "Deploy", "--sign"]).json();
    assert_eq!(again["secret"], Value::Null);
    let listed = home.rouse(["secrets", "list"]);
    assert!(listed.ok().contains("signatures of a webhook"), "{listed:#?}");
    let rotated = home.rouse(["--json", "cron", "webhook", "Deploy", "--sign", "--rotate"]).json();
    assert!(rotated["secret"].as_str().is_some_and(|key| !first.out.contains(key)), "{rotated}");
    drop(engine);
}

#[cfg(unix)]
#[tokio::test]
async fn command_gets_its_event_in_environment() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let arguments = json!({ "command": "printf %s \"$ROUSE_EVENT\"" }).to_string();
    let add =
        ["cron", "add", "--name", "Deploy", "--webhook", "--tool", "run_command", "--arguments"];
    let added = home.rouse(["--json"].iter().chain(&add).copied().chain([arguments.as_str()]));
    let job = added.json()["job"]["id"].as_str().expect("an id").to_owned();
    let view = home.rouse(["--json", "cron", "webhook", "Deploy", "--rotate"]).json();
    let (url, secret) =
        (view["url"].as_str().expect("a URL"), view["secret"].as_str().expect("a secret"));
    let path = url.splitn(4, '/').nth(3).map(|path| format!("/{path}")).expect("a path");
    let call = Request::new(&engine.address, "POST", &path)
        .body("Version 7; $(touch gone)")
        .with("Authorization", &format!("Bearer {secret}"));
    assert_eq!(call.send().status, 202);
    let run = engine.finished_runs(&job, 1).await.remove(0);
    let event = run["summary"].as_str().expect("output");
    let event: Value = serde_json::from_str(event).expect("JSON");
    assert_eq!(
        (&event["source"], &event["text"], &event["fields"]["name"]),
        (&json!("webhook"), &json!("Version 7; $(touch gone)"), &json!("Deploy"))
    );
}
