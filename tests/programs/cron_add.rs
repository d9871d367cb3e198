//! `rouse cron add`: every flag sets a job field, and invalid flags are refused by name before anything is saved.

use serde_json::{Value, json};

use crate::engine::TestHome;

/// A channel with one recipient.
pub(crate) const MAIL_CHANNEL: &str = "[channels.mail]\nkind = \"email\"\nserver = \"127.0.0.1:9\"\nsecurity = \"none\"\nfrom = \"r@b.org\"\nto = [\"a@b.org\"]\n";

/// The job field of each flag. Jobs without a payload flag call `time`.
fn flags() -> Vec<(&'static [&'static str], &'static str, Value)> {
    vec![
        (&["--every", "90m"], "/schedule/everyMs", json!(5_400_000)),
        (&["--every", "10m", "--jitter", "30s"], "/schedule/jitterMs", json!(30_000)),
        (
            &["--cron", "30 7 * * 1-5", "--tz", "Europe/Berlin"],
            "/schedule",
            json!({ "kind": "cron", "expr": "30 7 * * 1-5", "tz": "Europe/Berlin" }),
        ),
        (&["--at", "2031-12-14T07:00:00-08:00"], "/schedule/atMs", json!(1_955_026_800_000_i64)),
        (
            &["--at", "2031-12-14T07:00", "--tz", "America/Los_Angeles"],
            "/schedule",
            json!({ "kind": "at", "atMs": 1_955_026_800_000_i64, "tz": "America/Los_Angeles" }),
        ),
        (&["--at", "1955026800000"], "/schedule/atMs", json!(1_955_026_800_000_i64)),
        (&["--manual"], "/schedule", json!({ "kind": "manual" })),
        (&["--manual", "--disabled"], "/enabled", json!(false)),
        (&["--manual", "--name", "Mine"], "/name", json!("Mine")),
        (&["--manual", "--description", "Why"], "/description", json!("Why")),
        (
            &["--manual", "--tool", "time"],
            "/payload",
            json!({ "kind": "toolCall", "tool": "time", "arguments": {}, "notifyWhen": "always" }),
        ),
        (
            &["--manual", "--tool", "echo", "--arguments", r#"{"text":"x"}"#],
            "/payload/arguments",
            json!({ "text": "x" }),
        ),
        (
            &["--manual", "--tool", "time", "--notify-when", "changed"],
            "/payload/notifyWhen",
            json!("changed"),
        ),
        (
            &["--manual", "--message", "Look"],
            "/payload",
            json!({ "kind": "agentTurn", "message": "Look" }),
        ),
        (&["--manual", "--message", "Look"], "/sessionTarget", json!("isolated")),
        (&["--manual", "--message", "water the plants"], "/name", json!("Water the plants")),
        (
            &["--manual", "--message", "Look", "--deliver", "--channel", "mail", "--to", "a@b.org"],
            "/payload",
            json!({ "kind": "agentTurn", "message": "Look", "deliver": true, "channel": "mail", "to": "a@b.org" }),
        ),
        (&["--manual", "--message", "Look", "--model", "tiny"], "/payload/model", json!("tiny")),
        (
            &["--manual", "--message", "Look", "--tools", "echo,time"],
            "/payload/tools",
            json!(["echo", "time"]),
        ),
        (&["--manual", "--message", "Look", "--max-steps", "3"], "/payload/maxSteps", json!(3)),
        (
            &["--manual", "--message", "Look", "--session", "isolated"],
            "/sessionTarget",
            json!("isolated"),
        ),
        (
            &["--manual", "--message", "Look", "--post-prefix", "News"],
            "/isolation/postToMainPrefix",
            json!("News"),
        ),
        (
            &["--manual", "--system-event", "Tea"],
            "/payload",
            json!({ "kind": "systemEvent", "text": "Tea" }),
        ),
        (
            &["--manual", "--system-event", "Tea", "--session", "main"],
            "/sessionTarget",
            json!("main"),
        ),
        (&["--manual", "--system-event", "Tea"], "/wakeMode", json!("now")),
        (
            &["--manual", "--system-event", "Tea", "--wake", "next-heartbeat"],
            "/wakeMode",
            json!("next-heartbeat"),
        ),
        (&["--manual", "--delete-after-run"], "/deleteAfterRun", json!(true)),
        (&["--manual", "--misfire", "skip"], "/policies/misfire/mode", json!("skip")),
        (&["--manual", "--misfire", "run-all"], "/policies/misfire/mode", json!("runAll")),
        (&["--manual", "--overlap", "cancel-other"], "/policies/overlap", json!("cancelOther")),
        (&["--manual", "--deliver-to", "mail"], "/policies/deliverTo", json!(["mail"])),
        (&["--manual", "--notify", "failure"], "/policies/notify", json!("failure")),
        (&["--manual", "--timeout", "2m"], "/policies/timeoutSeconds", json!(120)),
        (&["--manual", "--max-attempts", "4"], "/runtime/maxAttempts", json!(4)),
    ]
}

#[tokio::test]
async fn cron_add_flag_sets_its_job_field() {
    let home = TestHome::new().config(MAIL_CHANNEL);
    let engine = home.serve().await;
    for (flags, path, expected) in flags() {
        let does =
            ["--message", "--system-event", "--tool"].iter().any(|kind| flags.contains(kind));
        let payload: &[&str] = if does { &[] } else { &["--tool", "time"] };
        let added = home.rouse(["cron", "add", "--json"].iter().chain(flags).chain(payload)).json();
        assert_eq!(added["job"].pointer(path), Some(&expected), "{flags:?}: {added:#}");
        let id = added["job"]["id"].as_str().expect("an id");
        let kept = engine.call("cron.get", json!({ "id": id })).await;
        assert_eq!(kept["job"], added["job"], "{flags:?}");
    }
}

#[tokio::test]
async fn job_without_name_gets_typable_name() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let name = |flags: &[&str]| {
        let added = home.rouse(["cron", "add", "--json", "--manual"].iter().chain(flags)).json();
        added["job"]["name"].as_str().expect("a name").to_owned()
    };
    let mail = "summarise the new mails in my inbox, and tell me only what needs an answer today";
    assert_eq!(name(&["--message", mail]), "Summarise the new mails in my inbox");
    let site = r#"{"url":"https://example.org/status/"}"#;
    assert_eq!(name(&["--tool", "http", "--arguments", site]), "http: example.org/status");
    assert_eq!(name(&["--tool", "time"]), "time");
    assert_eq!(name(&["--tool", "time"]), "time 2");
    assert_eq!(name(&["--tool", "time", "--name", "time"]), "time", "a given name is kept");
}

#[tokio::test]
async fn cron_add_prints_warnings_on_stderr_and_next_commands() {
    let home = TestHome::new().env("ROUSE_LOCAL_MODELS", "0");
    let _engine = home.serve().await;
    let add = [
        "cron",
        "add",
        "--cron",
        "30 7 * * 1-5",
        "--message",
        "Look",
        "--context-paths",
        "notes.md",
    ];
    let output = home.rouse(add);
    let out = output.ok();
    let warned = |flag: &str| {
        let at_the_flag = |line: &str| line.starts_with(&format!("Warning: {flag} ("));
        assert!(output.err.lines().any(at_the_flag), "{flag}: {output:#?}");
    };
    warned("--context-paths");
    warned("--model");
    assert!(out.starts_with("Added.") && !out.contains("Warning"), "{output:#?}");
    for text in [
        "  Next run  ",
        "Change it, for example: rouse cron edit ",
        "--cron \"0 8 * * *\"",
        "Try it now: rouse cron run ",
    ] {
        assert!(out.contains(text), "{text}: {output:#?}");
    }
    let answer = home.rouse(["cron", "edit", "Look", "--json", "--model", "ollama:big"]).json();
    let fields: Vec<_> = answer["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .map(|warning| &warning["field"])
        .collect();
    assert_eq!(fields, ["payload.model", "payload.contextPaths[0]"]);
    home.rouse(["cron", "add", "--cron", "61 * * * *", "--tool", "time"])
        .assert_error(2, "--cron (schedule.expr): ");
    home.rouse(["cron", "edit", "nobody", "--name", "x"]).assert_error(4, "rouse cron list --all");
    home.rouse(["cron", "add", "--manual"]).assert_error(2, "--system-event \"Stretch your legs\"");
}

#[tokio::test]
async fn relative_time_is_added_to_now() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let before =
        engine.call("system.status", json!({})).await["nowMs"].as_i64().expect("an instant");
    let added = home.rouse(["cron", "add", "--json", "--at", "20m", "--tool", "time"]).json();
    let after =
        engine.call("system.status", json!({})).await["nowMs"].as_i64().expect("an instant");
    let at = added["job"]["schedule"]["atMs"].as_i64().expect("an instant");
    assert!((before + 1_200_000..=after + 1_200_000).contains(&at), "{before} {at} {after}");
    assert_eq!(added["job"]["state"]["nextRunAtMs"], at);
}

#[tokio::test]
async fn time_of_day_is_next_occurrence_in_job_zone() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let before =
        engine.call("system.status", json!({})).await["nowMs"].as_i64().expect("an instant");
    let day = 86_400_000;
    for (time, days) in [("9:00", 0..=1), ("tomorrow 9:00", 0..=2)] {
        let flags = ["--at", time, "--tz", "Asia/Tokyo", "--tool", "time"];
        let added = home.rouse(["cron", "add", "--json"].iter().chain(&flags)).json();
        let at = added["job"]["schedule"]["atMs"].as_i64().expect("an instant");
        // Tokyo is nine hours ahead of UTC, all year.
        assert_eq!(at % day, 0, "{time} in Tokyo is midnight in UTC: {at}");
        let (least, most) = days.into_inner();
        assert!((before + least * day..=before + (most + 1) * day).contains(&at), "{time}: {at}");
        assert_eq!(added["job"]["schedule"]["tz"], "Asia/Tokyo");
        assert_eq!(added["job"]["state"]["nextRunAtMs"], at);
    }
}

/// Flags and a part of their error.
const REFUSED: &[(&[&str], &str)] = &[
    (&[], "a schedule is missing"),
    (&["--tool", "time"], "a schedule is missing"),
    (&["--manual"], "a task is missing"),
    (&["--manual", "--model", "x"], "a task is missing"),
    (&["--manual", "--every", "1h", "--tool", "time"], "cannot be used with"),
    (&["--every", "1h", "--cron", "@daily", "--tool", "time"], "cannot be used with"),
    (&["--every", "1h", "--tz", "Asia/Tokyo", "--tool", "time"], "--tz has no effect"),
    (&["--manual", "--tz", "Asia/Tokyo", "--tool", "time"], "--tz has no effect"),
    (&["--on-event", "wake", "--tz", "X/Y", "--tool", "time"], "--tz has no effect"),
    (&["--manual", "--message", "x", "--tools", ""], "--tools: expected tool names"),
    (&["--manual", "--tool", "time", "--message", "x"], "cannot be used with"),
    (&["--manual", "--tool", "time", "--arguments", "{"], "--arguments"),
    (&["--manual", "--tool", "time", "--arguments", "[]"], "payload.arguments"),
    (&["--manual", "--arguments", "{}", "--message", "x"], "--tool"),
    (&["--manual", "--notify-when", "always", "--message", "x"], "--tool"),
    (&["--manual", "--tool", "time", "--jitter", "x"], "--jitter"),
    (&["--every", "soon", "--tool", "time"], "--every"),
    (
        &["--every", "1ms", "--tool", "time"],
        "--every (schedule.everyMs): must be at least 1 s, found 1 ms",
    ),
    (&["--every", "-1h", "--tool", "time"], "-1"),
    (&["--every", "999999999999d", "--tool", "time"], "every"),
    (&["--at", "yesterday", "--tool", "time"], "--at"),
    (&["--at", "2020-01-01T00:00", "--tool", "time"], "schedule.atMs"),
    (&["--at", "20m", "--tz", "Mars/Base", "--tool", "time"], "--tz"),
    (&["--at", "99999999999999999999", "--tool", "time"], "--at"),
    (&["--cron", "61 * * * *", "--tool", "time"], "schedule.expr"),
    (&["--cron", "0 0 31 2 *", "--tool", "time"], "schedule.expr"),
    (&["--cron", "", "--tool", "time"], "schedule.expr"),
    (
        &["--cron", "@daily", "--tz", "Berlin", "--tool", "time"],
        "--tz (schedule.tz): expected an IANA zone such as Europe/Berlin, found `Berlin`; did you mean Europe/Berlin?",
    ),
    (
        &["--at", "9:00", "--tz", "tokyo", "--tool", "time"],
        "found `tokyo`; did you mean Asia/Tokyo?",
    ),
    (
        &["--at", "9 o'clock", "--tool", "time"],
        "--at: expected a time such as 18:00, 6pm, tomorrow 18:00,",
    ),
    (
        &["--manual", "--tool", "time", "--cooldown", "30d"],
        "--cooldown (policies.cooldownSeconds): must be at most 7 d, found 30 d",
    ),
    (
        &["--manual", "--tool", "time", "--quiet-hours", "22-7"],
        "--quiet-hours (policies.quietHours.from): expected a time of day such as 07:00, found `22`",
    ),
    (
        &["--manual", "--tool", "time", "--quiet-hours", "night"],
        "--quiet-hours: expected respect, ignore or hours such as 22:00-07:00, found `night`",
    ),
    (&["--manual", "--system-event", "x", "--session", "isolated"], "sessionTarget"),
    (&["--manual", "--message", "x", "--session", "main"], "sessionTarget"),
    (&["--manual", "--message", "x", "--session", "third"], "--session"),
    (&["--manual", "--message", "x", "--wake", "later"], "--wake"),
    (&["--manual", "--message", "  "], "payload.message"),
    (&["--manual", "--message", "x", "--max-steps", "51"], "payload.maxSteps"),
    (&["--manual", "--message", "x", "--max-steps", "many"], "--max-steps"),
    (&["--manual", "--message", "x", "--timeout", "long"], "--timeout"),
    (&["--manual", "--message", "x", "--max-attempts", "0"], "runtime.maxAttempts"),
    (&["--manual", "--message", "x", "--name", ""], "name"),
    (&["--manual", "--system-event", "x", "--deliver"], "--message"),
    (&["--manual", "--tool", "time", "--model", "tiny"], "--message"),
    (&["--manual", "--tool", "time", "--channel", "telegram"], "--message"),
    (&["--manual", "--tool", "time", "--surprise"], "--surprise"),
];

#[tokio::test]
async fn invalid_flags_are_refused_by_name() {
    let home = TestHome::new();
    let engine = home.serve().await;
    for (flags, text) in REFUSED {
        home.rouse(["cron", "add"].iter().chain(*flags)).assert_error(2, text);
        home.rouse(["--json", "cron", "add"].iter().chain(*flags)).assert_error(2, text);
    }
    let jobs = engine.call("cron.list", json!({ "includeDisabled": true })).await["jobs"].clone();
    assert_eq!(jobs, json!([]), "something was saved");
}

#[tokio::test]
async fn warning_names_reason_when_job_will_not_fire() {
    let add = ["cron", "add", "--every", "1h", "--tool", "time", "--name", "Hourly"];
    let edit = ["cron", "edit", "Hourly", "--every", "2h"];
    let home = TestHome::new();
    let engine = home.serve().await;
    assert_eq!(home.rouse(add).err, "");
    assert_eq!(home.rouse(edit).err, "");
    home.rouse(["cron", "pause", "2h"]).ok();
    let warned = home.rouse(edit);
    assert!(
        warned.ok().contains("Hourly") && warned.err.contains("everything is paused until"),
        "{warned:#?}"
    );
    home.rouse(["cron", "resume"]).ok();
    home.rouse(["cron", "pause"]).ok();
    let warned = home.rouse(["cron", "add", "--json", "--manual", "--tool", "time"]);
    assert_eq!(warned.json()["job"]["enabled"], true);
    assert!(warned.err.contains("paused until `rouse cron resume`"), "{warned:#?}");
    drop(engine);

    for (home, reason) in [
        (TestHome::new().env("ROUSE_SKIP_CRON", "1"), "ROUSE_SKIP_CRON"),
        (TestHome::new().config("[cron]\nenabled = false\n"), "cron.enabled"),
    ] {
        let engine = home.serve().await;
        for args in [&add[..], &edit[..]] {
            let warned = home.rouse(args);
            assert_eq!(warned.code, 0, "{warned:#?}");
            assert!(
                warned.err.contains("will not fire") && warned.err.contains(reason),
                "{warned:#?}"
            );
        }
        let status = home.rouse(["cron", "status"]);
        assert!(status.ok().contains("do not fire") && status.ok().contains(reason), "{status:#?}");
        assert_eq!(engine.call("cron.status", json!({})).await["enabled"], false);
        assert!(engine.stop().success());
        let is_logged = home.written_files().iter().any(|(path, text)| {
            let text = String::from_utf8_lossy(text);
            path.parent().is_some_and(|folder| folder.ends_with("logs"))
                && text.contains("cron: disabled")
                && text.contains(reason)
        });
        assert!(is_logged, "{reason}");
    }
}

#[tokio::test]
async fn private_host_in_message_is_warned_and_not_offered() {
    let add = ["cron", "add", "--manual", "--message", "Look at http://nas.local:5000/x each day."];
    let home = TestHome::new();
    let _engine = home.serve().await;
    let added = home.rouse(add);
    added.ok();
    let printed = format!("{}{}", added.out, added.err);
    assert!(printed.contains("nas.local:5000 is on this computer or its network."), "{printed}");
    assert!(!printed.contains("Not granted"), "{printed}");

    let home = TestHome::new().config("[tools]\nallowPrivateHosts = [\"nas.local\"]\n");
    let _engine = home.serve().await;
    let added = home.rouse(add);
    assert!(added.err.contains("to grant them: --hosts nas.local:5000"), "{added:#?}");
    assert!(!added.out.contains("is on this computer"), "{added:#?}");
}
