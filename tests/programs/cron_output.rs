//! The output of `rouse cron` as text and as JSON.

use rouse_tests::agent_job;
use serde_json::{Value, json};

use crate::cron_add::MAIL_CHANNEL;
use crate::engine::{CommandOutput, TestHome};
use crate::probes::echo;

#[tokio::test]
async fn empty_lists_suggest_next_command() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let empty = home.rouse(["cron", "list", "--all"]);
    assert!(empty.ok().starts_with("No jobs yet. Add a job: rouse cron add"), "{empty:#?}");
    let advice = home.rouse(["cron", "list"]);
    assert_eq!(advice.code, 0, "{advice:#?}");
    assert!(home.rouse(["runs", "list"]).ok().starts_with("No runs yet"));
    assert!(home.rouse(["cron", "status"]).ok().contains("nothing is scheduled"));
    engine.add_job(echo("Something")).await;
    assert_eq!(home.rouse(["cron", "list", "--search", "nothing"]).ok(), "No job matches.\n");
}

#[tokio::test]
async fn list_over_one_page_is_complete_and_searchable() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let jobs: Vec<Value> = (0..501).map(|number| echo(&format!("Job {number}"))).collect();
    let file = json!({ "jobs": jobs }).to_string();
    engine.call("cron.import", json!({ "text": file })).await;
    let all = home.rouse(["cron", "list", "--all", "--json"]).json();
    assert_eq!(
        (all["jobs"].as_array().map(Vec::len), &all["nextCursor"]),
        (Some(501), &Value::Null)
    );
    let two = home.rouse(["cron", "list", "--all", "--limit", "2"]);
    let lines: Vec<&str> = two.ok().lines().collect();
    assert_eq!(lines.len(), 5, "a head, two jobs, a word about the rest, the heartbeat: {two:#?}");
    assert_eq!(lines[3], "There are more jobs. See all without --limit.", "{two:#?}");
    let found = home.rouse(["cron", "show", "Job 99", "--json"]).json();
    assert_eq!(found["job"]["name"], "Job 99");
}

#[tokio::test]
async fn jobs_are_described_in_words_and_json() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let added = home.rouse([
        "cron",
        "add",
        "--cron",
        "30 7 * * 1-5",
        "--tz",
        "Asia/Tokyo",
        "--message",
        "Read the news",
        "--description",
        "For breakfast",
    ]);
    for text in [
        "Added.",
        "Read the news",
        "For breakfast",
        "Weekdays at 07:30 · Asia/Tokyo",
        "Read the news",
    ] {
        assert!(added.ok().contains(text), "no `{text}` in {added:#?}");
    }
    home.rouse([
        "cron",
        "add",
        "--manual",
        "--tool",
        "echo",
        "--arguments",
        r#"{"text":"hi"}"#,
        "--name",
        "Hi",
    ])
    .ok();
    home.rouse(["cron", "add", "--every", "90m", "--system-event", "Tea", "--name", "Tea"]).ok();
    let shown = home.rouse(["cron", "show", "Hi"]);
    assert!(
        shown.ok().contains("by hand") && shown.ok().contains(r#"echo {"text":"hi"}"#),
        "{shown:#?}"
    );
    let list = home.rouse(["cron", "list"]);
    let lines: Vec<&str> = list.ok().lines().collect();
    assert!(lines[0].contains("NAME") && lines[0].contains("NEXT"), "{list:#?}");
    let tea = lines[1..3]
        .iter()
        .find(|line| line.contains("Tea"))
        .expect("the job among the scheduled jobs");
    assert!(tea.contains("Every 90 minutes"), "{list:#?}");
    assert!(lines[3].contains("Hi") && lines[3].contains("by hand"), "{list:#?}");
    let mut json = home.rouse(["cron", "list", "--json"]).json();
    let next = |index: usize| json["jobs"][index]["job"]["state"]["nextRunAtMs"].as_i64();
    assert!(next(0).is_some() && next(0) <= next(1) && next(2).is_none(), "soonest first: {json}");
    let heartbeat = json.as_object_mut().and_then(|answer| answer.remove("heartbeat"));
    assert_eq!(
        json,
        engine.call("cron.list", json!({})).await,
        "--json prints the answer of the gateway"
    );
    assert_eq!(heartbeat, Some(engine.call("heartbeat.status", json!({})).await));
    let found = home.rouse(["cron", "list", "--search", "BREAKFAST", "--json"]).json();
    assert_eq!(found["jobs"][0]["job"]["name"], "Read the news");
}

#[tokio::test]
async fn list_names_job_paused_after_failures() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let call = ["--tool", "json", "--arguments", r#"{"op":"parse","text":"no JSON"}"#];
    let job = ["cron", "add", "--every", "1d", "--name", "Broken", "--pause-after", "1"];
    home.rouse(job.into_iter().chain(call)).ok();
    assert!(!home.rouse(["cron", "list"]).ok().contains("paused"), "no failure yet");
    let broken = || home.rouse(["cron", "show", "Broken", "--json"]).json();
    engine.call("cron.run", json!({ "id": broken()["job"]["id"], "mode": "force" })).await;
    engine
        .wait_until(async |engine| {
            let status = engine.call("cron.status", json!({})).await;
            (status["enabledJobs"] == 0).then_some(())
        })
        .await;
    let list = home.rouse(["cron", "list"]);
    let text = "1 job is paused after failures: Broken. See all: rouse cron list --all";
    assert!(list.ok().contains(text), "{list:#?}");
    assert!(!list.out.contains(" off: "), "mentioned once: {list:#?}");
    for name in ["On", "Off"] {
        home.rouse(["cron", "add", "--every", "1d", "--name", name].into_iter().chain(call)).ok();
    }
    home.rouse(["cron", "disable", "Off"]).ok();
    let list = home.rouse(["cron", "list"]);
    assert!(
        list.ok().contains(text) && list.out.contains("\n1 more is off: rouse cron list --all\n")
    );
    let all = home.rouse(["cron", "list", "--all"]);
    assert!(all.ok().contains("failed, paused") && !all.out.contains(text), "{all:#?}");
}

#[tokio::test]
async fn preview_prints_next_slots_and_saves_nothing() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let output = home.rouse([
        "cron",
        "preview",
        "--cron",
        "0 9 * * 1",
        "--tz",
        "Asia/Tokyo",
        "--count",
        "3",
    ]);
    assert!(output.ok().starts_with("Mondays at 09:00 (Asia/Tokyo)\n"), "{output:#?}");
    assert_eq!(output.out.matches(" Asia/Tokyo\n").count(), 3, "{output:#?}");
    assert_eq!(output.out.matches(" here, 09:00").count(), 3, "{output:#?}");
    let json = home
        .rouse(["cron", "preview", "--cron", "0 9 * * 1", "--tz", "Asia/Tokyo", "--json"])
        .json();
    assert_eq!(json["next"].as_array().map(Vec::len), Some(5));
    assert_eq!(
        home.rouse(["cron", "preview", "--every", "1h", "--json"]).json()["next"]
            .as_array()
            .map(Vec::len),
        Some(5)
    );
    assert_eq!(
        home.rouse(["cron", "preview", "--at", "20m", "--json"]).json()["next"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    let years = ["--cron", "0 9 1 * *", "--tz", "Europe/Berlin", "--count", "36"];
    let output = home.rouse(["cron", "preview"].into_iter().chain(years));
    for text in
        ["the clock goes forward from 02:00 to 03:00", "the clock goes back from 03:00 to 02:00"]
    {
        assert!(output.ok().contains(text), "{output:#?}");
    }
    assert!(output.out.contains(" more clock changes"), "{output:#?}");
    home.rouse(["cron", "preview", "--manual"]).ok();
    home.rouse(["cron", "preview"])
        .assert_error(2, "a schedule is missing: add one of --at, --every, --cron, --on-event");
    home.rouse(["cron", "preview", "--cron", "nonsense"]).assert_error(2, "schedule.expr");
    home.rouse(["cron", "preview", "--at", "2020-01-01T00:00"]).assert_error(2, "schedule.atMs");
    home.rouse(["cron", "preview", "--every", "1h", "--count", "51"]).assert_error(2, "--count");
    assert_eq!(engine.call("cron.status", json!({})).await["jobs"], 0);
}

#[tokio::test]
async fn preview_shows_the_channels_of_the_flag() {
    let config = format!("deliverTo = [\"notification\"]\n{MAIL_CHANNEL}");
    let home = TestHome::new().config(&config);
    let _engine = home.serve().await;
    let preview = |names: &str| {
        home.rouse(["cron", "preview", "--manual", "--deliver-to", names]).single_spaced()
    };
    let mail = preview("mail");
    assert!(mail.ends_with("Delivered to mail (E-mail)\nApprovals to notification\n"), "{mail}");
    assert!(!preview("none").contains("Delivered to"));
    assert!(preview("fax").contains("there is no channel `fax`"));
    home.rouse(["cron", "preview", "--manual", "--deliver-to", "mail:"])
        .assert_error(2, "policies.deliverTo");
}

#[tokio::test]
async fn pause_is_reported_and_resumed() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let paused = home.rouse(["cron", "pause", "2h"]);
    assert!(paused.ok().contains("Paused until"), "{paused:#?}");
    let list = home.rouse(["cron", "list"]);
    assert!(list.code == 0 && list.err.contains("everything is paused until"), "{list:#?}");
    assert!(home.rouse(["cron", "status", "--json"]).json()["pause"]["untilMs"].is_i64());
    let doctor = home.rouse(["doctor"]);
    assert!(
        doctor.code == 1
            && doctor.out.contains("Everything is paused")
            && doctor.out.contains("rouse cron resume"),
        "{doctor:#?}"
    );
    let forever = home.rouse(["cron", "pause"]);
    assert!(forever.ok().contains("Paused until `rouse cron resume`"), "{forever:#?}");
    assert_eq!(home.rouse(["cron", "pause", "--json"]).json()["pause"], json!({ "untilMs": null }));
    assert_eq!(home.rouse(["cron", "resume", "--json"]).json()["pause"], Value::Null);
    assert!(!home.rouse(["cron", "resume"]).ok().contains("Paused"));
    home.rouse(["cron", "pause", "2020-01-01T00:00"]).assert_error(2, "untilMs");
    home.rouse(["cron", "pause", "a while"]).assert_error(2, "a while");
    home.rouse(["cron", "pause", "a while"]).assert_error(2, "UNTIL: expected a time");
}

#[tokio::test]
async fn job_created_by_agent_is_marked() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut job = echo("Stretch");
    job["createdBy"] = json!({ "kind": "agent", "runId": "run-7" });
    let id = engine.add_job(job).await;
    engine.add_job(echo("Mine")).await;
    let mut task = echo("Look");
    task["payload"] = json!({ "kind": "agentTurn", "message": "Look at example.org" });
    task["messageBy"] = json!({ "kind": "agent", "runId": "run-8" });
    let rewritten = engine.add_job(task).await;
    let list = home.rouse(["cron", "list", "--all"]);
    let marks_of = |name: &str| {
        let line = list.ok().lines().find(|line| line.contains(name)).unwrap_or_default();
        (line.contains("(by an agent)"), line.contains("(task by an agent)"))
    };
    assert_eq!(
        [marks_of("Stretch"), marks_of("Mine"), marks_of("Look")],
        [(true, false), (false, false), (false, true)],
        "{list:#?}"
    );
    let shown = home.rouse(["cron", "show", &id]);
    assert!(shown.single_spaced().contains("Created by an agent, in run run-7"), "{shown:#?}");
    // A tool call has no message with an author.
    assert!(!shown.out.contains("Message by"), "{shown:#?}");
    let shown = home.rouse(["cron", "show", &rewritten]);
    let author = "an agent, in run run-8; to take over, write the message again with --message";
    assert!(shown.single_spaced().contains(&format!("Message by {author}")), "{shown:#?}");
    home.rouse(["cron", "edit", &rewritten, "--message", "Look again"]).ok();
    let shown = home.rouse(["cron", "show", &rewritten]);
    assert!(!shown.ok().contains("Message by"), "{shown:#?}");
}

#[tokio::test]
async fn cron_list_ends_with_heartbeat_in_text_and_json() {
    let home = TestHome::new();
    let engine = home.serve().await;
    engine.add_job(echo("Mine")).await;
    let last = |output: &CommandOutput| output.ok().lines().last().unwrap_or_default().to_owned();
    let on = home.rouse(["cron", "list"]);
    assert!(last(&on).starts_with("Heartbeat on \u{b7} every 30 min \u{b7} "), "{on:#?}");
    let json = home.rouse(["cron", "list", "--json"]).json();
    assert_eq!(json["heartbeat"]["everyMs"], 1_800_000);
    assert_eq!(json["jobs"].as_array().map(Vec::len), Some(1));
    assert!(!home.rouse(["cron", "list", "--search", "Mine"]).ok().contains("Heartbeat"));
    home.rouse(["heartbeat", "off"]).ok();
    let off = home.rouse(["cron", "list"]);
    assert_eq!(last(&off), "Heartbeat off \u{b7} every 30 min");
}

#[tokio::test]
async fn misspelled_name_gets_suggestion() {
    let home = TestHome::new();
    let engine = home.serve().await;
    engine.add_job(echo("Weekly report")).await;
    let skill = home.data().join("skills/installed/fetch");
    std::fs::create_dir_all(&skill).expect("a folder");
    let text = "---\nname: fetch\ndescription: Fetches.\n---\nFetch it.\n";
    std::fs::write(skill.join("SKILL.md"), text).expect("a skill");
    home.rouse_with_input(["secrets", "set", "github", "--host", "api.github.com"], "s3cr3t-value")
        .ok();
    for (expected, meant) in [
        (&["cron", "show", "Weekly reprot"][..], "Weekly report"),
        (&["skills", "show", "fecth"], "fetch"),
        (&["skills", "distrust", "fecth"], "fetch"),
        (&["secrets", "rm", "gihtub"], "github"),
        (&["sessions", "show", "mian"], "main"),
    ] {
        let output = home.rouse(expected);
        output.assert_error(4, &format!("Did you mean \u{201c}{meant}\u{201d}?"));
    }
    home.rouse(["cron", "run", "Weekly report", "--force"]).ok();
    let expected = "but a job. See the runs of the job: rouse cron runs \"Weekly report\"";
    home.rouse(["runs", "show", "Weekly report"]).assert_error(4, expected);
    // Runs keep the name of their deleted job.
    home.rouse(["cron", "rm", "Weekly report"]).ok();
    for command in
        [["cron", "runs", "Weekly report"].as_slice(), &["runs", "list", "--job", "Weekly report"]]
    {
        assert!(home.rouse(command).ok().contains("Weekly report"), "{command:?}");
    }
    home.rouse(["cron", "runs", "Weekly repor"]).assert_error(4, "There is no job Weekly repor");
}

#[tokio::test]
async fn noun_without_verb_prints_its_list() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    for noun in [
        "cron",
        "runs",
        "heartbeat",
        "config",
        "secrets",
        "skills",
        "hooks",
        "sessions",
        "approvals",
        "grants",
        "tools",
    ] {
        let output = home.rouse([noun]);
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{noun}: {output:#?}");
        assert!(!output.out.is_empty(), "{noun} prints nothing");
    }
}

#[tokio::test]
async fn run_between_attempts_is_not_shown_as_running() {
    let home = TestHome::new().config(
        "[model]\npatienceSeconds = 0\n[providers.mine]\nkind = \"openai\"\nbaseUrl = \"http://127.0.0.1:9/v1\"\nmodel = \"fake-1\"\n",
    );
    let engine = home.serve().await;
    let mut job = agent_job("Look");
    job["runtime"] = json!({ "maxAttempts": 2, "retryBackoffMs": 3_600_000 });
    let id = engine.add_job(job).await;
    let run = engine.start_run(&id).await;
    engine
        .wait_until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            detail["run"]["nextAttemptAtMs"].is_number().then_some(())
        })
        .await;
    let status = engine.call("cron.status", json!({})).await;
    assert_eq!((&status["running"], &status["betweenAttempts"]), (&json!(0), &json!(1)));
    let output = home.rouse(["status"]);
    let text = "0 running \u{b7} 1 waits for its next attempt \u{b7} 0 queued";
    assert!(output.ok().contains(text), "{output:#?}");
    for args in [&["runs", "list"][..], &["runs", "show", &run], &["cron", "runs", &id]] {
        let output = home.rouse(args);
        assert!(output.ok().contains("waits for its next attempt"), "{args:?}: {output:#?}");
        assert!(!output.ok().contains("running"), "{args:?}: {output:#?}");
    }
    // A manual run of a disabled job is still retried.
    let off = home.rouse(["cron", "disable", &id]);
    let text = "waits for its next attempt. To cancel: rouse runs cancel ";
    assert!(off.ok().contains(&format!("{text}{run}\n")), "{off:#?}");
    home.rouse(["runs", "cancel", &run]).ok();
    assert_eq!(engine.call("cron.status", json!({})).await["betweenAttempts"], 0);
}

#[tokio::test]
async fn skipped_one_shot_is_not_shown_as_done() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let at = |ms: i64| json!({ "kind": "at", "atMs": ms });
    let now = || async { engine.call("system.status", json!({})).await["nowMs"].as_i64() };
    let last = async |id: &str, state: &str| {
        engine
            .wait_until(async |engine| {
                let view = engine.call("cron.get", json!({ "id": id })).await;
                (view["job"]["state"]["lastState"] == state).then_some(())
            })
            .await;
    };
    let mut tea = echo("Tea");
    tea["schedule"] = at(now().await.expect("an instant") + 1_000);
    let tea = engine.add_job(tea).await;
    last(&tea, "succeeded").await;
    engine.call("cron.pause", json!({})).await;
    let mut soup = echo("Soup");
    soup["schedule"] = at(now().await.expect("an instant") + 1_000);
    let soup = engine.add_job(soup).await;
    last(&soup, "skipped").await;

    let list = home.rouse(["cron", "list"]);
    for (name, word) in [("Tea", "done"), ("Soup", "skipped")] {
        let line = list.ok().lines().find(|line| line.contains(name)).expect("a line");
        assert!(line.contains(&format!(" {word} ")), "{name}: {list:#?}");
        let shown = home.rouse(["cron", "show", name]);
        assert!(
            shown.single_spaced().contains(&format!("Next run {word}\n")),
            "{name}: {shown:#?}"
        );
    }
}
