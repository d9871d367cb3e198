//! `rouse cron` on existing jobs: references by id, id prefix or name, edit, run, delete, and exit codes.

use serde_json::{Value, json};

use crate::engine::{CommandOutput, TestHome};
use crate::probes::echo;

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

/// The job in the JSON output of a command.
pub(crate) fn job(output: &CommandOutput) -> Value {
    output.json()["job"].clone()
}

#[tokio::test]
async fn job_is_found_by_id_id_prefix_or_name() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let long = "A name that is longer than any id that Rouse would ever make";
    let id = engine.add_job(echo(long)).await;
    for name in [id.as_str(), &id[..8], &id[..1], long] {
        assert_eq!(job(&home.rouse(["cron", "show", name, "--json"]))["id"], id.as_str(), "{name}");
    }
    for name in ["", " ", "nobody", UNKNOWN_ID, &long[..20], &id[1..9]] {
        let code = if name.trim().is_empty() { 2 } else { 4 };
        for command in ["show", "rm", "enable", "disable"] {
            let output = home.rouse(["cron", command, name]);
            assert_eq!(
                (output.code, output.out.as_str()),
                (code, ""),
                "{command} {name:?}: {output:#?}"
            );
            let output = home.rouse(["cron", command, name, "--json"]);
            assert_eq!(
                (output.code, output.out.as_str()),
                (code, ""),
                "{command} {name:?}: {output:#?}"
            );
        }
        for args in [
            vec!["cron", "run", name],
            vec!["cron", "edit", name, "--name", "x"],
            vec!["cron", "export", name],
        ] {
            let output = home.rouse(&args);
            assert_eq!((output.code, output.out.as_str()), (code, ""), "{args:?}: {output:#?}");
        }
    }
    assert_eq!(
        engine.call("cron.list", json!({})).await["jobs"][0]["job"]["id"],
        id.as_str(),
        "the job was not deleted"
    );
}

/// A due unreadable job is disabled at the slot, a later job when listed.
#[tokio::test]
async fn unreadable_job_is_listed_and_can_be_deleted() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut ids = Vec::new();
    for name in ["Due", "Far", "Fine"] {
        let mut job = echo(name);
        job["schedule"] = json!({ "kind": "every", "everyMs": 3_600_000_000_u64 });
        ids.push(engine.add_job(job).await);
    }
    engine.stop();
    let file = rusqlite::Connection::open(home.data().join("rouse.db")).expect("a file");
    let garble = "UPDATE jobs SET definition = '{\"name\": 4}', next_run_at = ?2 WHERE id = ?1";
    file.execute(garble, (&ids[0], 1)).expect("garbled");
    file.execute(garble, (&ids[1], 9_999_999_999_999_i64)).expect("garbled");
    drop(file);

    let engine = home.serve_plain();
    let list = engine.call("cron.list", json!({})).await;
    let broken = list["broken"].as_array().expect("a list");
    let shown: Vec<_> = broken.iter().map(|job| (&job["id"], &job["name"])).collect();
    assert_eq!(shown, [(&json!(ids[0]), &json!("Due")), (&json!(ids[1]), &json!("Far"))]);
    assert_eq!(list["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(engine.call("cron.status", json!({})).await["failingJobs"], 1);
    let output = home.rouse(["cron", "list"]);
    assert!(output.out.contains("Due does not fire. The job cannot be read: "), "{output:#?}");
    assert!(output.out.contains(&format!("Delete it: rouse cron rm {}", ids[1])), "{output:#?}");
    for id in &ids[..2] {
        let output = home.rouse(["cron", "rm", id]);
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{output:#?}");
    }
    assert_eq!(engine.call("cron.list", json!({})).await["broken"], json!([]));
    home.rouse(["cron", "rm", &ids[0]]).assert_error(4, "There is no job");
}

#[tokio::test]
async fn ambiguous_name_is_refused_with_all_candidates() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut ids = Vec::new();
    for id in ["aaaa-1", "aaaa-2", "bbbb-1"] {
        let mut job = echo("Twin");
        job["id"] = json!(id);
        ids.push(engine.add_job(job).await);
    }
    for wanted in ["aaaa", "Twin"] {
        let output = home.rouse(["cron", "rm", wanted]);
        output.assert_error(2, "use the id of a job");
        assert!(output.err.contains("aaaa-1") && output.err.contains("aaaa-2"), "{output:#?}");
    }
    assert_eq!(job(&home.rouse(["cron", "show", "bbbb", "--json"]))["id"], "bbbb-1");
    assert_eq!(job(&home.rouse(["cron", "show", "aaaa-1", "--json"]))["id"], "aaaa-1");
    // An exact name has priority over id prefixes.
    let mut named = echo("aaaa");
    named["id"] = json!("cccc");
    engine.add_job(named).await;
    assert_eq!(job(&home.rouse(["cron", "show", "aaaa", "--json"]))["id"], "cccc");
    let taken = home.rouse_with_input(["cron", "import", "-"], &json!({ "jobs": [{ "id": "cccc", "name": "Thief", "schedule": { "kind": "manual" }, "payload": { "kind": "toolCall", "tool": "time" } }] }).to_string());
    assert!(taken.code == 0 && taken.out.starts_with("skipped"), "{taken:#?}");
    assert_eq!(job(&home.rouse(["cron", "show", "cccc", "--json"]))["name"], "aaaa");
}

#[tokio::test]
async fn edit_changes_only_named_fields() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut draft = echo("Before");
    draft["schedule"] = json!({ "kind": "cron", "expr": "0 7 * * *", "tz": "Europe/Berlin" });
    draft["description"] = json!("Why");
    draft["theirs"] = json!({ "kept": true });
    let id = engine.add_job(draft).await;
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
        assert_eq!(
            edited["payload"]["arguments"], arguments,
            "{flags:?} merged with the old arguments"
        );
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
async fn invalid_edit_changes_nothing() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let id = engine.add_job(echo("Same")).await;
    let before = engine.call("cron.get", json!({ "id": id })).await;
    for (flags, text) in [
        (&[][..], "nothing to change"),
        (&["--name", ""], "name"),
        (&["--cron", "never"], "schedule.expr"),
        (&["--tz", "Asia/Tokyo"], "--tz"),
        (&["--session", "main"], "sessionTarget"),
        (&["--model", "tiny"], "--message"),
        (&["--tool", "echo", "--arguments", "7"], "payload.arguments"),
        (&["--max-attempts", "1000"], "runtime.maxAttempts"),
    ] {
        home.rouse(["cron", "edit", &id].iter().copied().chain(flags.iter().copied()))
            .assert_error(2, text);
    }
    assert_eq!(engine.call("cron.get", json!({ "id": id })).await, before);
}

#[tokio::test]
async fn disable_and_enable_keep_the_schedule() {
    let home = TestHome::new();
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
    assert!(off.single_spaced().contains("Next run off"), "{off:#?}");
    assert!(home.rouse(["cron", "list"]).ok().contains("rouse cron list --all"));
    assert_eq!(home.rouse(["cron", "list", "--json"]).json()["jobs"], json!([]));
    assert_eq!(home.rouse(["cron", "list", "--all", "--json"]).json()["jobs"][0]["job"]["id"], id);
    let on = job(&home.rouse(["cron", "enable", "Daily", "--json"]));
    assert_eq!(on["state"]["nextRunAtMs"], next);
    assert_eq!(
        engine.runs(id.as_str().expect("an id")).await,
        [] as [Value; 0],
        "no edit fired the job"
    );
}

#[tokio::test]
async fn manual_run_is_listed_and_keeps_the_schedule() {
    let home = TestHome::new();
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
    not_due.assert_error(5, "Not due before ");
    assert!(not_due.err.contains("(in 1 h). To run it anyway: add --force."), "{not_due:#?}");
    let json = home.rouse(["cron", "run", "Hourly", "--json"]);
    assert_eq!((json.code, json.out.trim()), (5, "{\n  \"runId\": null\n}"), "{json:#?}");
    home.rouse(["cron", "add", "--manual", "--system-event", "Tea", "--name", "Tea"]).ok();
    let by_hand = home.rouse(["cron", "run", "Tea"]);
    assert!(by_hand.ok().contains("Started run"), "a manual job is never due: {by_hand:#?}");
    let started = home.rouse(["cron", "run", "Hourly", "--force", "--json"]).json();
    let run = started["runId"].as_str().expect("a run").to_owned();
    engine.finished_runs(&id, 1).await;
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
    engine.finished_runs(&id, 2).await;
    assert_eq!(
        home.rouse(["cron", "runs", "--id", &id, "--limit", "1", "--json"]).json()["entries"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    for limit in ["0", "501", "x"] {
        home.rouse(["cron", "runs", "--id", &id, "--limit", limit]).assert_error(2, "--limit");
    }
}

#[tokio::test]
async fn deleted_job_disappears_and_its_runs_stay() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let id = engine.add_job(echo("Short-lived")).await;
    let run = engine.start_run(&id).await;
    engine.finished_runs(&id, 1).await;
    let removed = home.rouse(["cron", "rm", "Short-lived", "--json"]).json();
    assert_eq!(removed["job"]["id"], id.as_str());
    for args in [["cron", "rm", &id], ["cron", "show", &id], ["cron", "run", &id]] {
        home.rouse(args).assert_error(4, "There is no job");
    }
    let shown = home.rouse(["runs", "show", &run]);
    assert!(shown.ok().contains("Short-lived") && shown.ok().contains("succeeded"), "{shown:#?}");
    home.rouse(["runs", "retry", &run]).assert_error(5, "job");
    let again = engine.add_job(removed["job"].clone()).await;
    assert_eq!(again, id, "a deleted job can be added again");
    let quiet = home.rouse(["cron", "rm", &id]);
    assert_eq!(quiet.ok(), "Deleted Short-lived. Its runs stay in the history.\n");
}

/// An imported job must not control the terminal.
#[tokio::test]
async fn control_characters_in_names_are_escaped() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut evil = echo("\u{1b}]0;owned\u{7}\u{1b}[31mred\u{9b}2J");
    evil["id"] = json!("\u{1b}[2J-evil");
    evil["description"] = json!("\u{1b}[8mhidden");
    evil["payload"]["arguments"] = json!({ "text": "\u{1b}[2Jtext" });
    evil["schedule"] = json!({ "kind": "every", "everyMs": 3_600_000 });
    let document = json!([evil, { "name": "\u{1b}[31mbad" }]).to_string();
    // Control characters are refused in names and ids, and allowed in descriptions.
    evil["name"] = json!("red");
    evil["id"] = json!("evil");
    evil["description"] = json!("\u{202e}hidden\u{200b}\u{1b}[8m");
    let id = engine.add_job(evil).await;
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await[0]["id"].as_str().expect("an id").to_owned();
    let colored_output = |args: &[&str]| {
        let mut command = home.command(args);
        // As on a terminal, where nothing is stripped.
        let output = command.env("CLICOLOR_FORCE", "1").output().expect("rouse starts");
        CommandOutput::from(output)
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
        let output = colored_output(args);
        assert!(
            !format!("{}{}", output.out, output.err)
                .contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{200b}']),
            "{args:?}: {output:#?}"
        );
    }
    std::fs::write(home.sibling("evil.json"), document).expect("a file");
    let path = home.sibling("evil.json");
    for args in [&["cron", "import", path.to_str().expect("text")][..], &["cron", "rm", &id]] {
        let output = colored_output(args);
        assert!(
            !format!("{}{}", output.out, output.err)
                .contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{200b}']),
            "{args:?}: {output:#?}"
        );
    }
}

#[tokio::test]
async fn show_prints_estimate_and_status_prints_spending() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut draft = echo("Dear");
    draft["payload"] = json!({ "kind": "agentTurn", "message": "Look" });
    let id = engine.add_job(draft).await;
    let shown = home.rouse(["cron", "show", &id]);
    assert!(shown.single_spaced().contains("Estimate No finished runs yet"), "{shown:#?}");
    assert_eq!(home.rouse(["cron", "show", &id, "--json"]).json()["spentThisMonth"]["tokens"], 0);
    home.rouse(["config", "set", "budget.usdPerDay", "0.5"]).ok();
    let status = home.rouse(["status"]);
    let line = "Spent today: nothing (limit: 0.50 USD) · this month: nothing";
    assert!(status.ok().lines().any(|printed| printed == line), "{status:#?}");
}

#[tokio::test]
async fn disable_reports_the_active_run() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut job = echo("Long");
    job["payload"]["tool"] = json!("run_command");
    job["payload"]["arguments"] = json!({ "command": "exec sleep 1000" });
    let id = engine.add_job(job).await;
    let run = engine.start_run(&id).await;
    engine
        .wait_until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            (detail["run"]["state"] == "running").then_some(())
        })
        .await;
    let line = format!("Run {run} is running. To cancel: rouse runs cancel {run}\n");
    let off = home.rouse(["cron", "disable", "Long"]);
    assert!(off.ok().ends_with(&line), "{off:#?}");
    assert!(!home.rouse(["cron", "enable", "Long"]).ok().contains(&line));
    let off = home.rouse(["cron", "disable", "Long", "--json"]);
    assert_eq!(off.json()["liveRunIds"], json!([run]));
    home.rouse(["runs", "cancel", &run]).ok();
    engine.finished_runs(&id, 1).await;
    home.rouse(["cron", "enable", "Long"]).ok();
    assert!(!home.rouse(["cron", "disable", "Long"]).ok().contains("To cancel"));
}
