//! Naming a job, changing it, running it, deleting it: by whole id, by the beginning of one, by name; and the exit codes.

use serde_json::{Value, json};

use crate::engine::{Home, Said};
use crate::probes::echo;

const NOBODY: &str = "00000000-0000-4000-8000-000000000000";

fn job(said: &Said) -> Value {
    said.json()["job"].clone()
}

#[tokio::test]
async fn a_job_is_named_by_id_by_its_beginning_or_by_name() {
    let home = Home::new();
    let engine = home.serve().await;
    let long = "A name that is longer than any id that Rouse would ever make";
    let id = engine.add(echo(long)).await;
    for name in [id.as_str(), &id[..8], &id[..1], long] {
        assert_eq!(job(&home.rouse(["cron", "show", name, "--json"]))["id"], id.as_str(), "{name}");
    }
    for name in ["", " ", "nobody", NOBODY, &long[..20], &id[1..9]] {
        let code = if name.trim().is_empty() { 2 } else { 4 };
        for command in ["show", "rm", "enable", "disable"] {
            let said = home.rouse(["cron", command, name]);
            assert_eq!((said.code, said.out.as_str()), (code, ""), "{command} {name:?}: {said:#?}");
            let said = home.rouse(["cron", command, name, "--json"]);
            assert_eq!((said.code, said.out.as_str()), (code, ""), "{command} {name:?}: {said:#?}");
        }
        for args in [
            vec!["cron", "run", name],
            vec!["cron", "edit", name, "--name", "x"],
            vec!["cron", "export", name],
        ] {
            let said = home.rouse(&args);
            assert_eq!((said.code, said.out.as_str()), (code, ""), "{args:?}: {said:#?}");
        }
    }
    assert_eq!(
        engine.call("cron.list", json!({})).await["jobs"][0]["job"]["id"],
        id.as_str(),
        "it is still there"
    );
}

/// A due one is switched off, one that is far away is met by the list; both are shown and can be deleted.
#[tokio::test]
async fn a_job_that_nobody_can_read_is_shown_and_can_be_deleted() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut ids = Vec::new();
    for name in ["Due", "Far", "Fine"] {
        let mut job = echo(name);
        job["schedule"] = json!({ "kind": "every", "everyMs": 3_600_000_000_u64 });
        ids.push(engine.add(job).await);
    }
    engine.stop();
    let file = rusqlite::Connection::open(home.data().join("rouse.db")).expect("a file");
    let garble = "UPDATE jobs SET definition = '{\"name\": 4}', next_run_at = ?2 WHERE id = ?1";
    file.execute(garble, (&ids[0], 1)).expect("garbled");
    file.execute(garble, (&ids[1], 9_999_999_999_999_i64)).expect("garbled");
    drop(file);

    let engine = home.serve_as_it_is();
    let list = engine.call("cron.list", json!({})).await;
    let broken = list["broken"].as_array().expect("a list");
    let shown: Vec<_> = broken.iter().map(|job| (&job["id"], &job["name"])).collect();
    assert_eq!(shown, [(&json!(ids[0]), &json!("Due")), (&json!(ids[1]), &json!("Far"))]);
    assert_eq!(list["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(engine.call("cron.status", json!({})).await["failingJobs"], 1);
    let said = home.rouse(["cron", "list"]);
    assert!(said.out.contains("Due does not fire. The job cannot be read: "), "{said:#?}");
    assert!(said.out.contains(&format!("Delete it: rouse cron rm {}", ids[1])), "{said:#?}");
    for id in &ids[..2] {
        let said = home.rouse(["cron", "rm", id]);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:#?}");
    }
    assert_eq!(engine.call("cron.list", json!({})).await["broken"], json!([]));
    home.rouse(["cron", "rm", &ids[0]]).refused(4, "There is no job");
}

#[tokio::test]
async fn a_name_for_several_is_refused_with_all_of_them() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut ids = Vec::new();
    for id in ["aaaa-1", "aaaa-2", "bbbb-1"] {
        let mut job = echo("Twin");
        job["id"] = json!(id);
        ids.push(engine.add(job).await);
    }
    for wanted in ["aaaa", "Twin"] {
        let said = home.rouse(["cron", "rm", wanted]);
        said.refused(2, "give the id of one");
        assert!(said.err.contains("aaaa-1") && said.err.contains("aaaa-2"), "{said:#?}");
    }
    assert_eq!(job(&home.rouse(["cron", "show", "bbbb", "--json"]))["id"], "bbbb-1");
    assert_eq!(job(&home.rouse(["cron", "show", "aaaa-1", "--json"]))["id"], "aaaa-1");
    // A name that is exactly meant goes before ids that begin with it.
    let mut named = echo("aaaa");
    named["id"] = json!("cccc");
    engine.add(named).await;
    assert_eq!(job(&home.rouse(["cron", "show", "aaaa", "--json"]))["id"], "cccc");
    let taken = home.rouse_reading(["cron", "import", "-"], &json!({ "jobs": [{ "id": "cccc", "name": "Thief", "schedule": { "kind": "manual" }, "payload": { "kind": "toolCall", "tool": "time" } }] }).to_string());
    assert!(taken.code == 0 && taken.out.starts_with("skipped"), "{taken:#?}");
    assert_eq!(job(&home.rouse(["cron", "show", "cccc", "--json"]))["name"], "aaaa");
}

#[tokio::test]
async fn only_what_is_named_changes() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut draft = echo("Before");
    draft["schedule"] = json!({ "kind": "cron", "expr": "0 7 * * *", "tz": "Europe/Berlin" });
    draft["description"] = json!("Why");
    draft["theirs"] = json!({ "kept": true });
    let id = engine.add(draft).await;
    let before = engine.call("cron.get", json!({ "id": id })).await["job"].clone();
    let edits: [(&[&str], &str, Value); 10] = [
        (&["--name", "After"], "/name", json!("After")),
        (&["--cron", "0 8 * * *"], "/schedule/expr", json!("0 8 * * *")),
        (&["--tz", "Asia/Tokyo"], "/schedule/tz", json!("Asia/Tokyo")),
        (&["--jitter", "5s"], "/schedule/jitterMs", json!(5_000)),
        (&["--notify", "never"], "/policies/notify", json!("never")),
        (&["--timeout", "30s"], "/policies/timeoutSeconds", json!(30)),
        (&["--tool", "echo", "--notify-when", "failure"], "/payload/notifyWhen", json!("failure")),
        (
            &["--tool", "echo", "--arguments", r#"{"text":"other"}"#],
            "/payload/arguments",
            json!({ "text": "other" }),
        ),
        (&["--arguments", r#"{"text":"third"}"#], "/payload/arguments", json!({ "text": "third" })),
        (&["--notify-when", "changed"], "/payload/notifyWhen", json!("changed")),
    ];
    let mut expected = before.clone();
    for (flags, path, value) in edits {
        let edited = job(&home
            .rouse(["cron", "edit", &id, "--json"].iter().copied().chain(flags.iter().copied())));
        set(&mut expected, path, value);
        let (mut edited, mut wanted) = (edited.clone(), expected.clone());
        for job in [&mut edited, &mut wanted] {
            job["updatedAtMs"] = json!(0);
            job["state"] = json!({});
        }
        assert_eq!(edited, wanted, "{flags:?}");
    }
    let calls: [(&[&str], Value); 4] = [
        (&["--tool", "time"], json!({})),
        (
            &["--tool", "time", "--arguments", r#"{"tz":"Asia/Tokyo"}"#],
            json!({ "tz": "Asia/Tokyo" }),
        ),
        (&["--tool", "time", "--notify-when", "always"], json!({ "tz": "Asia/Tokyo" })),
        (&["--tool", "time", "--arguments", "{}"], json!({})),
    ];
    for (flags, arguments) in calls {
        let args = ["cron", "edit", &id, "--json"];
        let edited = job(&home.rouse(args.iter().copied().chain(flags.iter().copied())));
        assert_eq!(edited["payload"]["arguments"], arguments, "{flags:?} mixed with what was");
    }
    let kind =
        job(&home.rouse(["cron", "edit", &id, "--json", "--every", "1h", "--message", "Look"]));
    assert_eq!(
        (&kind["schedule"]["kind"], &kind["payload"]),
        (&json!("every"), &json!({ "kind": "agentTurn", "message": "Look" }))
    );
    assert_eq!(kind["theirs"], json!({ "kept": true }));
}

fn set(document: &mut Value, path: &str, value: Value) {
    let mut place = document;
    for key in path.trim_start_matches('/').split('/') {
        place = &mut place[key];
    }
    *place = value;
}

#[tokio::test]
async fn an_edit_that_makes_no_sense_changes_nothing() {
    let home = Home::new();
    let engine = home.serve().await;
    let id = engine.add(echo("Same")).await;
    let before = engine.call("cron.get", json!({ "id": id })).await;
    for (flags, words) in [
        (&[][..], "say what to change"),
        (&["--name", ""], "name"),
        (&["--cron", "never"], "schedule.expr"),
        (&["--tz", "Asia/Tokyo"], "--tz"),
        (&["--session", "main"], "sessionTarget"),
        (&["--model", "tiny"], "--message"),
        (&["--tool", "echo", "--arguments", "7"], "payload.arguments"),
        (&["--max-attempts", "1000"], "runtime.maxAttempts"),
    ] {
        home.rouse(["cron", "edit", &id].iter().copied().chain(flags.iter().copied()))
            .refused(2, words);
    }
    assert_eq!(engine.call("cron.get", json!({ "id": id })).await, before);
}

#[tokio::test]
async fn switching_off_and_on_keeps_the_schedule() {
    let home = Home::new();
    let engine = home.serve().await;
    let id = home
        .rouse([
            "cron",
            "add",
            "--json",
            "--cron",
            "0 7 * * *",
            "--tz",
            "UTC",
            "--tool",
            "time",
            "--name",
            "Daily",
        ])
        .json()["job"]["id"]
        .clone();
    let next =
        home.rouse(["cron", "show", "Daily", "--json"]).json()["job"]["state"]["nextRunAtMs"]
            .clone();
    assert!(next.is_i64());
    let off = home.rouse(["cron", "disable", "Daily"]);
    assert!(off.ok().contains("next   off"), "{off:#?}");
    assert!(home.rouse(["cron", "list"]).ok().contains("rouse cron list --all"));
    assert_eq!(home.rouse(["cron", "list", "--json"]).json()["jobs"], json!([]));
    assert_eq!(home.rouse(["cron", "list", "--all", "--json"]).json()["jobs"][0]["job"]["id"], id);
    let on = job(&home.rouse(["cron", "enable", "Daily", "--json"]));
    assert_eq!(on["state"]["nextRunAtMs"], next);
    assert_eq!(
        engine.runs(id.as_str().expect("an id")).await,
        [] as [Value; 0],
        "neither fired it"
    );
}

#[tokio::test]
async fn a_run_by_hand_is_seen_everywhere_and_moves_nothing() {
    let home = Home::new();
    let engine = home.serve().await;
    let added = home
        .rouse([
            "cron",
            "add",
            "--json",
            "--every",
            "1h",
            "--tool",
            "echo",
            "--arguments",
            r#"{"text":"hello there"}"#,
            "--name",
            "Hourly",
        ])
        .json();
    let (id, next) = (
        added["job"]["id"].as_str().expect("an id").to_owned(),
        added["job"]["state"]["nextRunAtMs"].clone(),
    );
    let not_due = home.rouse(["cron", "run", "Hourly"]);
    not_due.refused(5, "Not due before ");
    assert!(not_due.err.contains("(in 1 h). To run it all the same: add --force."), "{not_due:#?}");
    let json = home.rouse(["cron", "run", "Hourly", "--json"]);
    assert_eq!((json.code, json.out.trim()), (5, "{\n  \"runId\": null\n}"), "{json:#?}");
    home.rouse(["cron", "add", "--manual", "--system-event", "Tea", "--name", "Tea"]).ok();
    let by_hand = home.rouse(["cron", "run", "Tea"]);
    assert!(by_hand.ok().contains("Started run"), "it is never due: {by_hand:#?}");
    let started = home.rouse(["cron", "run", "Hourly", "--force", "--json"]).json();
    let run = started["runId"].as_str().expect("a run").to_owned();
    engine.ended(&id, 1).await;
    let runs = home.rouse(["cron", "runs", "--id", "Hourly", "--json"]).json();
    assert_eq!(
        (&runs["entries"][0]["id"], &runs["entries"][0]["state"]),
        (&json!(run), &json!("succeeded"))
    );
    let table = home.rouse(["cron", "runs", "--id", "Hourly"]);
    assert!(
        table.ok().contains("hello there")
            && table.ok().contains(&run)
            && table.ok().contains("by hand"),
        "{table:#?}"
    );
    let shown = home.rouse(["cron", "show", "Hourly", "--json"]).json();
    assert_eq!(shown["job"]["state"]["nextRunAtMs"], next, "the schedule did not move");
    let forced = home.rouse(["cron", "run", &id, "--force"]);
    assert!(forced.ok().contains("rouse runs show"), "{forced:#?}");
    engine.ended(&id, 2).await;
    assert_eq!(
        home.rouse(["cron", "runs", "--id", &id, "--limit", "1", "--json"]).json()["entries"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    for limit in ["0", "501", "x"] {
        home.rouse(["cron", "runs", "--id", &id, "--limit", limit]).refused(2, "--limit");
    }
}

#[tokio::test]
async fn a_deleted_job_is_gone_and_its_runs_are_not() {
    let home = Home::new();
    let engine = home.serve().await;
    let id = engine.add(echo("Short-lived")).await;
    let run = engine.run_now(&id).await;
    engine.ended(&id, 1).await;
    let removed = home.rouse(["cron", "rm", "Short-lived", "--json"]).json();
    assert_eq!(removed["job"]["id"], id.as_str());
    for args in [["cron", "rm", &id], ["cron", "show", &id], ["cron", "run", &id]] {
        home.rouse(args).refused(4, "There is no job");
    }
    let shown = home.rouse(["runs", "show", &run]);
    assert!(shown.ok().contains("Short-lived") && shown.ok().contains("succeeded"), "{shown:#?}");
    home.rouse(["runs", "retry", &run]).refused(5, "job");
    let again = engine.add(removed["job"].clone()).await;
    assert_eq!(again, id, "what was deleted can be put back");
    let quiet = home.rouse(["cron", "rm", &id]);
    assert_eq!(quiet.ok(), "Deleted Short-lived. Its runs stay in the history.\n");
}

/// A job from somebody else's file must not be able to steer a terminal.
#[tokio::test]
async fn names_cannot_steer_the_terminal() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut evil = echo("\u{1b}]0;owned\u{7}\u{1b}[31mred\u{9b}2J");
    evil["id"] = json!("\u{1b}[2J-evil");
    evil["description"] = json!("\u{1b}[8mhidden");
    evil["payload"]["arguments"] = json!({ "text": "\u{1b}[2Jtext" });
    evil["schedule"] = json!({ "kind": "every", "everyMs": 3_600_000 });
    let document = json!([evil, { "name": "\u{1b}[31mbad" }]).to_string();
    // Such a name and such an id are refused; a description may say anything.
    evil["name"] = json!("red");
    evil["id"] = json!("evil");
    evil["description"] = json!("\u{202e}hidden\u{200b}\u{1b}[8m");
    let id = engine.add(evil).await;
    engine.run_now(&id).await;
    let run = engine.ended(&id, 1).await[0]["id"].as_str().expect("an id").to_owned();
    let colours = |args: &[&str]| {
        let mut command = home.command(args);
        // As on a terminal: nothing is stripped on the way out.
        let output = command.env("CLICOLOR_FORCE", "1").output().expect("rouse starts");
        Said::from(output)
    };
    for args in [
        &["cron", "list"][..],
        &["cron", "show", &id],
        &["cron", "status"],
        &["status"],
        &["runs", "list"],
        &["runs", "show", &run],
        &["cron", "runs", "--id", &id],
        &["cron", "show", "\u{1b}[31mnobody"],
    ] {
        let said = colours(args);
        assert!(
            !format!("{}{}", said.out, said.err)
                .contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{200b}']),
            "{args:?}: {said:#?}"
        );
    }
    std::fs::write(home.beside("evil.json"), document).expect("a file");
    let path = home.beside("evil.json");
    for args in [&["cron", "import", path.to_str().expect("text")][..], &["cron", "rm", &id]] {
        let said = colours(args);
        assert!(
            !format!("{}{}", said.out, said.err)
                .contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{200b}']),
            "{args:?}: {said:#?}"
        );
    }
}

#[tokio::test]
async fn new_quiet_hours_stand_for_themselves() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut document = echo("Weekend");
    document["policies"] = json!({
        "cooldownSeconds": 5,
        "quietHours": { "from": "22:00", "to": "07:00", "tz": "Asia/Tokyo", "days": ["sat", "sun"] }
    });
    let id = engine.add(document).await;
    let edit = |rule: &str| {
        let said = home.rouse(["cron", "edit", &id, "--quiet-hours", rule, "--json"]);
        job(&said)["policies"].clone()
    };
    let hours = json!({ "from": "23:00", "to": "06:00" });
    assert_eq!(
        edit("23:00-06:00"),
        json!({ "cooldownSeconds": 5, "quietHours": hours }),
        "what was not said does not stay"
    );
    assert_eq!(edit("ignore")["quietHours"], "ignore");
    assert_eq!(edit("23:00-06:00")["quietHours"], hours);
    assert_eq!(edit("respect"), json!({ "cooldownSeconds": 5 }));
}

#[tokio::test]
async fn whatever_can_be_set_can_be_taken_off() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut draft = echo("Bound");
    draft["payload"] = json!({ "kind": "agentTurn", "message": "Look" });
    draft["schedule"] = json!({ "kind": "every", "everyMs": 60_000 });
    let id = engine.add(draft).await;
    let edit = |flags: &[&str]| {
        job(&home.rouse(["cron", "edit", &id, "--json"].iter().chain(flags.iter())))
    };
    let table: &[(&str, &str, &str, &str, Value)] = &[
        ("--delete-after-run", "", "=false", "/deleteAfterRun", json!(true)),
        ("--delete-after-run", "=true", "=false", "/deleteAfterRun", json!(true)),
        ("--deliver", "", "=false", "/payload/deliver", json!(true)),
        ("--pause-after", "=3", "=none", "/policies/pauseAfterFailures", json!(3)),
        ("--max-lateness", "=2m", "=none", "/policies/misfire/maxLatenessSeconds", json!(120)),
        ("--misfire-limit", "=4", "=none", "/policies/misfire/limit", json!(4)),
        ("--timeout", "=1m", "=none", "/policies/timeoutSeconds", json!(60)),
        ("--cooldown", "=5m", "=none", "/policies/cooldownSeconds", json!(300)),
        ("--max-concurrent", "=4", "=none", "/policies/maxConcurrent", json!(4)),
        ("--max-attempts", "=3", "=none", "/runtime/maxAttempts", json!(3)),
        ("--retry-backoff", "=30s", "=none", "/runtime/retryBackoffMs", json!(30_000)),
        ("--jitter", "=5s", "=none", "/schedule/jitterMs", json!(5_000)),
        ("--description", "=Why", "=", "/description", json!("Why")),
        ("--post-prefix", "=News", "=", "/isolation/postToMainPrefix", json!("News")),
        ("--model", "=tiny", "=", "/payload/model", json!("tiny")),
        ("--to", "=me", "=", "/payload/to", json!("me")),
        ("--tools", "=echo,time", "=all", "/payload/tools", json!(["echo", "time"])),
        ("--tools", "=none", "=all", "/payload/useTools", json!(false)),
        ("--max-steps", "=3", "=none", "/payload/maxSteps", json!(3)),
        ("--max-tokens", "=900", "=none", "/payload/maxTokens", json!(900)),
        (
            "--context-paths",
            "=a.md,b.md",
            "=none",
            "/payload/contextPaths",
            json!(["a.md", "b.md"]),
        ),
        ("--skills", "=style,report", "=none", "/payload/skills", json!(["style", "report"])),
        ("--fallbacks", "=a,ollama:b", "=none", "/payload/fallbacks", json!(["a", "ollama:b"])),
        ("--tokens-per-run", "=5000", "=none", "/policies/budget/tokensPerRun", json!(5_000)),
        ("--tokens-per-day", "=9000", "=none", "/policies/budget/tokensPerDay", json!(9_000)),
        ("--usd-per-run", "=0.25", "=none", "/policies/budget/usdPerRun", json!(0.25)),
        ("--usd-per-day", "=$1.50", "=none", "/policies/budget/usdPerDay", json!(1.5)),
    ];
    for (flag, on, off, path, value) in table {
        let set = edit(&[&format!("{flag}{on}")]);
        assert_eq!(set.pointer(path), Some(value), "{flag}{on}: {set:#}");
        let taken = edit(&[&format!("{flag}{off}")]);
        let left = taken.pointer(path).filter(|left| **left != json!(false));
        assert_eq!(left, None, "{flag}{off}: {taken:#}");
    }
    for (flag, words) in [
        ("--pause-after=soon", "a number, or none"),
        ("--usd-per-day=free", "expected dollars such as 0.50, or none"),
        ("--usd-per-day=0", "policies.budget.usdPerDay"),
        ("--timeout=soon", "--timeout"),
        ("--delete-after-run=maybe", "true"),
        ("--quiet-days=fri", "--quiet-hours"),
    ] {
        home.rouse(["cron", "edit", &id, flag]).refused(2, words);
    }
}

#[tokio::test]
async fn a_job_says_what_it_costs_and_status_what_was_spent() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut draft = echo("Dear");
    draft["payload"] = json!({ "kind": "agentTurn", "message": "Look" });
    let id = engine.add(draft).await;
    let shown = home.rouse(["cron", "show", &id]);
    assert!(shown.ok().contains("  costs  No finished runs yet"), "{shown:#?}");
    assert_eq!(home.rouse(["cron", "show", &id, "--json"]).json()["spentThisMonth"]["tokens"], 0);
    home.rouse(["config", "set", "budget.usdPerDay", "0.5"]).ok();
    let status = home.rouse(["status"]);
    let line = "Spent today: nothing (at most 0.50 USD) · this month: nothing";
    assert!(status.ok().lines().any(|said| said == line), "{status:#?}");
}

#[tokio::test]
async fn quiet_hours_have_nights_and_a_zone_by_flags() {
    let home = Home::new();
    let engine = home.serve().await;
    let id = engine.add(echo("Loud")).await;
    let edit = |flags: &[&str]| {
        let said = home.rouse(["cron", "edit", &id, "--json"].iter().chain(flags.iter()));
        job(&said)["policies"]["quietHours"].clone()
    };
    let hours =
        ["--quiet-hours", "22:00-07:00", "--quiet-days", "fri,sat", "--quiet-zone", "Asia/Tokyo"];
    let whole =
        json!({ "from": "22:00", "to": "07:00", "tz": "Asia/Tokyo", "days": ["fri", "sat"] });
    assert_eq!(edit(&hours), whole);
    let fewer = json!({ "from": "22:00", "to": "07:00", "tz": "Asia/Tokyo", "days": ["sun"] });
    assert_eq!(edit(&["--quiet-days", "sun"]), fewer, "the hours stay");
    let plain = json!({ "from": "22:00", "to": "07:00" });
    assert_eq!(edit(&["--quiet-days", "none", "--quiet-zone", "none"]), plain);
    let added =
        home.rouse(["cron", "add", "--json", "--manual", "--tool", "time"].iter().chain(&hours));
    assert_eq!(job(&added)["policies"]["quietHours"], whole);
    home.rouse(["cron", "edit", &id, "--quiet-zone", "Mars"]).refused(2, "quietHours.tz");
}

#[tokio::test]
async fn what_a_model_may_do_is_said_and_taken_back() {
    let home = Home::new();
    let _engine = home.serve().await;
    let added = home.rouse([
        "cron",
        "add",
        "--json",
        "--name",
        "Agent",
        "--manual",
        "--message",
        "Look.",
        "--approvals",
        "deny",
        "--approval-time",
        "2h",
        "--hosts",
        "api.example.org,nas:8080",
        "--sandbox",
        "open",
    ]);
    let whole = json!({
        "approvals": "deny",
        "approvalSeconds": 7_200,
        "hosts": ["api.example.org", "nas:8080"],
        "sandbox": "open",
    });
    assert_eq!(job(&added)["policies"], whole);
    let edited = home.rouse([
        "cron",
        "edit",
        "Agent",
        "--json",
        "--approvals",
        "ask",
        "--approval-time",
        "none",
        "--hosts",
        "none",
        "--sandbox",
        "required",
    ]);
    assert_eq!(job(&edited).get("policies"), None, "{edited:?}");
    home.rouse(["cron", "edit", "Agent", "--hosts", "https://example.org/a"])
        .refused(2, "policies.hosts[0]");
    home.rouse(["cron", "edit", "Agent", "--approval-time", "5s"]).refused(2, "approvalSeconds");
}

#[tokio::test]
async fn who_switches_a_job_off_is_told_of_its_run_that_goes_on() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut job = echo("Long");
    job["payload"]["tool"] = json!("run_command");
    job["payload"]["arguments"] = json!({ "command": "exec sleep 1000" });
    let id = engine.add(job).await;
    let run = engine.run_now(&id).await;
    engine
        .until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            (detail["run"]["state"] == "running").then_some(())
        })
        .await;
    let line = format!("A run of it is at work; `rouse runs cancel {run}` ends it.\n");
    let off = home.rouse(["cron", "disable", "Long"]);
    assert!(off.ok().ends_with(&line), "{off:#?}");
    assert!(!home.rouse(["cron", "enable", "Long"]).ok().contains(&line));
    let off = home.rouse(["cron", "disable", "Long", "--json"]);
    assert_eq!(off.json()["liveRunIds"], json!([run]));
    home.rouse(["runs", "cancel", &run]).ok();
    engine.ended(&id, 1).await;
    home.rouse(["cron", "enable", "Long"]).ok();
    assert!(!home.rouse(["cron", "disable", "Long"]).ok().contains("A run of it"));
}
