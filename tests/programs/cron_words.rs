//! What a person reads: every command of `rouse cron` without `--json`, and the same as JSON.

use serde_json::{Value, json};

use crate::engine::{Home, Said};
use crate::probes::{ask, echo};

#[tokio::test]
async fn the_first_look_teaches() {
    let home = Home::new();
    let engine = home.serve().await;
    let empty = home.rouse(["cron", "list", "--all"]);
    assert!(empty.ok().starts_with("No jobs yet. Make one: rouse cron add"), "{empty:#?}");
    let advice = home.rouse(["cron", "list"]);
    assert_eq!(advice.code, 0, "{advice:#?}");
    assert!(home.rouse(["runs", "list"]).ok().starts_with("No runs yet"));
    assert!(home.rouse(["cron", "status"]).ok().contains("nothing is scheduled"));
    engine.add(echo("Something")).await;
    assert_eq!(home.rouse(["cron", "list", "--search", "nothing"]).ok(), "No job matches.\n");
}

#[tokio::test]
async fn more_jobs_than_one_answer_holds_are_listed_whole_and_found_by_name() {
    let home = Home::new();
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
    assert_eq!(lines[3], "There are more. See all of them without --limit.", "{two:#?}");
    // The last of them by name.
    let found = home.rouse(["cron", "show", "Job 99", "--json"]).json();
    assert_eq!(found["job"]["name"], "Job 99");
}

#[tokio::test]
async fn a_job_is_told_in_words() {
    let home = Home::new();
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
    for words in [
        "Added.",
        "Read the news",
        "For breakfast",
        "Weekdays at 07:30 · Asia/Tokyo",
        "asks the agent: Read the news",
    ] {
        assert!(added.ok().contains(words), "no `{words}` in {added:#?}");
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
        shown.ok().contains("by hand") && shown.ok().contains(r#"calls echo {"text":"hi"}"#),
        "{shown:#?}"
    );
    let list = home.rouse(["cron", "list"]);
    let lines: Vec<&str> = list.ok().lines().collect();
    assert!(lines[0].contains("NAME") && lines[0].contains("NEXT"), "{list:#?}");
    let tea =
        lines[1..3].iter().find(|line| line.contains("Tea")).expect("before what has no time");
    assert!(tea.contains("Every 90 minutes"), "{list:#?}");
    assert!(lines[3].contains("Hi") && lines[3].contains("by hand"), "{list:#?}");
    let mut json = home.rouse(["cron", "list", "--json"]).json();
    let next = |place: usize| json["jobs"][place]["job"]["state"]["nextRunAtMs"].as_i64();
    assert!(next(0).is_some() && next(0) <= next(1) && next(2).is_none(), "soonest first: {json}");
    let heartbeat = json.as_object_mut().and_then(|answer| answer.remove("heartbeat"));
    assert_eq!(
        json,
        engine.call("cron.list", json!({})).await,
        "with --json it is the gateway's answer as it came"
    );
    assert_eq!(heartbeat, Some(engine.call("heartbeat.status", json!({})).await), "beside it");
    let found = home.rouse(["cron", "list", "--search", "BREAKFAST", "--json"]).json();
    assert_eq!(found["jobs"][0]["job"]["name"], "Read the news");
}

#[tokio::test]
async fn a_job_that_was_paused_after_failures_is_not_passed_over_in_silence() {
    let home = Home::new();
    let engine = home.serve().await;
    let call = ["--tool", "json", "--arguments", r#"{"op":"parse","text":"no JSON"}"#];
    let job = ["cron", "add", "--every", "1d", "--name", "Broken", "--pause-after", "1"];
    home.rouse(job.into_iter().chain(call)).ok();
    assert!(!home.rouse(["cron", "list"]).ok().contains("paused"), "it has not failed yet");
    let broken = || home.rouse(["cron", "show", "Broken", "--json"]).json();
    engine.call("cron.run", json!({ "id": broken()["job"]["id"], "mode": "force" })).await;
    engine
        .until(async |engine| {
            let status = engine.call("cron.status", json!({})).await;
            (status["enabledJobs"] == 0).then_some(())
        })
        .await;
    let list = home.rouse(["cron", "list"]);
    let words = "1 job is paused after failures: Broken. See it: rouse cron list --all";
    assert!(list.ok().contains(words), "{list:#?}");
    assert!(!list.out.contains(" off: "), "it was told already: {list:#?}");
    for name in ["On", "Off"] {
        home.rouse(["cron", "add", "--every", "1d", "--name", name].into_iter().chain(call)).ok();
    }
    home.rouse(["cron", "disable", "Off"]).ok();
    let list = home.rouse(["cron", "list"]);
    assert!(
        list.ok().contains(words) && list.out.contains("\n1 more is off: rouse cron list --all\n")
    );
    let all = home.rouse(["cron", "list", "--all"]);
    assert!(all.ok().contains("failed, paused") && !all.out.contains(words), "{all:#?}");
}

#[tokio::test]
async fn a_preview_tells_the_next_times_and_saves_nothing() {
    let home = Home::new();
    let engine = home.serve().await;
    let told = home.rouse([
        "cron",
        "preview",
        "--cron",
        "0 9 * * 1",
        "--tz",
        "Asia/Tokyo",
        "--count",
        "3",
    ]);
    assert!(told.ok().starts_with("Mondays at 09:00 (Asia/Tokyo)\n"), "{told:#?}");
    assert_eq!(told.out.matches(" Asia/Tokyo\n").count(), 3, "{told:#?}");
    assert_eq!(told.out.matches(" here, 09:00").count(), 3, "{told:#?}");
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
    let told = home.rouse(["cron", "preview"].into_iter().chain(years));
    for words in
        ["the clock goes forward from 02:00 to 03:00", "the clock goes back from 03:00 to 02:00"]
    {
        assert!(told.ok().contains(words), "{told:#?}");
    }
    assert!(told.out.contains(" more changes of the clock"), "{told:#?}");
    home.rouse(["cron", "preview", "--manual"]).ok();
    home.rouse(["cron", "preview"])
        .refused(2, "say when: one of --at, --every, --cron, --on-event");
    home.rouse(["cron", "preview", "--cron", "nonsense"]).refused(2, "schedule.expr");
    home.rouse(["cron", "preview", "--at", "2020-01-01T00:00"]).refused(2, "schedule.atMs");
    home.rouse(["cron", "preview", "--every", "1h", "--count", "51"]).refused(2, "--count");
    assert_eq!(engine.call("cron.status", json!({})).await["jobs"], 0);
}

#[tokio::test]
async fn a_pause_is_told_and_ended() {
    let home = Home::new();
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
    home.rouse(["cron", "pause", "2020-01-01T00:00"]).refused(2, "untilMs");
    home.rouse(["cron", "pause", "a while"]).refused(2, "a while");
    home.rouse(["cron", "pause", "a while"]).refused(2, "UNTIL: expected a time");
}

#[tokio::test]
async fn a_job_that_an_agent_has_made_says_so() {
    let home = Home::new();
    let engine = home.serve().await;
    let mut job = echo("Stretch");
    job["createdBy"] = json!({ "kind": "agent", "runId": "run-7" });
    let id = engine.add(job).await;
    engine.add(echo("Mine")).await;
    let mut task = echo("Look");
    task["payload"] = json!({ "kind": "agentTurn", "message": "Look at example.org" });
    task["messageBy"] = json!({ "kind": "agent", "runId": "run-8" });
    let rewritten = engine.add(task).await;
    let list = home.rouse(["cron", "list", "--all"]);
    let said = |name: &str| {
        let line = list.ok().lines().find(|line| line.contains(name)).unwrap_or_default();
        (line.contains("(by an agent)"), line.contains("(task by an agent)"))
    };
    assert_eq!(
        [said("Stretch"), said("Mine"), said("Look")],
        [(true, false), (false, false), (false, true)],
        "{list:#?}"
    );
    let one = home.rouse(["cron", "show", &id]);
    assert!(one.ok().contains("made   by an agent, in run run-7"), "{one:#?}");
    // A call has no words that could be an agent's.
    assert!(!one.out.contains("wrote"), "{one:#?}");
    let one = home.rouse(["cron", "show", &rewritten]);
    let whose = "an agent wrote it, in run run-8; write it anew with --message to make it yours";
    assert!(one.ok().contains(&format!("  task   {whose}")), "{one:#?}");
    home.rouse(["cron", "edit", &rewritten, "--message", "Look again"]).ok();
    let one = home.rouse(["cron", "show", &rewritten]);
    assert!(!one.ok().contains("an agent wrote it"), "{one:#?}");
}

#[tokio::test]
async fn the_list_of_jobs_ends_with_the_heartbeat_and_its_json_has_it_beside_the_jobs() {
    let home = Home::new();
    let engine = home.serve().await;
    engine.add(echo("Mine")).await;
    let last = |said: &Said| said.ok().lines().last().unwrap_or_default().to_owned();
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
async fn what_is_spelled_like_a_name_that_nothing_has_is_told() {
    let home = Home::new();
    let engine = home.serve().await;
    engine.add(echo("Weekly report")).await;
    let skill = home.data().join("skills/installed/fetch");
    std::fs::create_dir_all(&skill).expect("a folder");
    let text = "---\nname: fetch\ndescription: Fetches.\n---\nFetch it.\n";
    std::fs::write(skill.join("SKILL.md"), text).expect("a skill");
    home.rouse_reading(["secrets", "set", "github", "--host", "api.github.com"], "s3cr3t-value")
        .ok();
    for (words, meant) in [
        (&["cron", "show", "Weekly reprot"][..], "Weekly report"),
        (&["skills", "show", "fecth"], "fetch"),
        (&["skills", "distrust", "fecth"], "fetch"),
        (&["secrets", "rm", "gihtub"], "github"),
        (&["sessions", "show", "mian"], "main"),
    ] {
        let said = home.rouse(words);
        said.refused(4, &format!("Did you mean \u{201c}{meant}\u{201d}?"));
    }
    home.rouse(["cron", "run", "Weekly report", "--force"]).ok();
    let words = "it is a job. See its runs: rouse cron runs \"Weekly report\"";
    home.rouse(["runs", "show", "Weekly report"]).refused(4, words);
    // Its runs are still called so when it is gone.
    home.rouse(["cron", "rm", "Weekly report"]).ok();
    for command in
        [["cron", "runs", "Weekly report"].as_slice(), &["runs", "list", "--job", "Weekly report"]]
    {
        assert!(home.rouse(command).ok().contains("Weekly report"), "{command:?}");
    }
    home.rouse(["cron", "runs", "Weekly repor"]).refused(4, "There is no job Weekly repor");
}

#[tokio::test]
async fn a_noun_alone_shows_what_there_is() {
    let home = Home::new();
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
        let said = home.rouse([noun]);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{noun}: {said:#?}");
        assert!(!said.out.is_empty(), "{noun} says nothing");
    }
}

#[tokio::test]
async fn a_run_between_two_attempts_is_nowhere_said_to_run() {
    let home = Home::new().config(
        "[model]\npatienceSeconds = 0\n[providers.mine]\nkind = \"openai\"\nbaseUrl = \"http://127.0.0.1:9/v1\"\nmodel = \"fake-1\"\n",
    );
    let engine = home.serve().await;
    let mut job = ask("Look");
    job["runtime"] = json!({ "maxAttempts": 2, "retryBackoffMs": 3_600_000 });
    let id = engine.add(job).await;
    let run = engine.run_now(&id).await;
    engine
        .until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            detail["run"]["nextAttemptAtMs"].is_number().then_some(())
        })
        .await;
    let status = engine.call("cron.status", json!({})).await;
    assert_eq!((&status["running"], &status["betweenAttempts"]), (&json!(0), &json!(1)));
    let told = home.rouse(["status"]);
    let words = "0 running \u{b7} 1 waits for its next attempt \u{b7} 0 waiting";
    assert!(told.ok().contains(words), "{told:#?}");
    for args in [&["runs", "list"][..], &["runs", "show", &run], &["cron", "runs", &id]] {
        let told = home.rouse(args);
        assert!(told.ok().contains("waits for its next attempt"), "{args:?}: {told:#?}");
        assert!(!told.ok().contains("running"), "{args:?}: {told:#?}");
    }
    // One that was started by hand goes on trying.
    let off = home.rouse(["cron", "disable", &id]);
    let words = "A run of it waits for its next attempt; `rouse runs cancel ";
    assert!(off.ok().contains(&format!("{words}{run}` ends it.")), "{off:#?}");
    home.rouse(["runs", "cancel", &run]).ok();
    assert_eq!(engine.call("cron.status", json!({})).await["betweenAttempts"], 0);
}

#[tokio::test]
async fn a_one_shot_that_never_ran_is_not_called_done() {
    let home = Home::new();
    let engine = home.serve().await;
    let at = |ms: i64| json!({ "kind": "at", "atMs": ms });
    let now = || async { engine.call("system.status", json!({})).await["nowMs"].as_i64() };
    let last = async |id: &str, state: &str| {
        engine
            .until(async |engine| {
                let view = engine.call("cron.get", json!({ "id": id })).await;
                (view["job"]["state"]["lastState"] == state).then_some(())
            })
            .await;
    };
    let mut tea = echo("Tea");
    tea["schedule"] = at(now().await.expect("an instant") + 1_000);
    let tea = engine.add(tea).await;
    last(&tea, "succeeded").await;
    engine.call("cron.pause", json!({})).await;
    let mut soup = echo("Soup");
    soup["schedule"] = at(now().await.expect("an instant") + 1_000);
    let soup = engine.add(soup).await;
    last(&soup, "skipped").await;

    let list = home.rouse(["cron", "list"]);
    for (name, word) in [("Tea", "done"), ("Soup", "left out")] {
        let line = list.ok().lines().find(|line| line.contains(name)).expect("a line");
        assert!(line.contains(&format!(" {word} ")), "{name}: {list:#?}");
        let shown = home.rouse(["cron", "show", name]);
        assert!(shown.ok().contains(&format!("  next   {word}\n")), "{name}: {shown:#?}");
    }
}
