//! `kill -9` in the middle of work: nothing is lost, nothing comes twice, and it is told what happened.

use std::fs;

use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use serde_json::{Value, json};

use crate::engine::{Engine, Home};
use crate::probes::{ask, echo};

/// A home whose model is `server`.
fn home_with(server: &FakeModel) -> Home {
    Home::new().config(&format!(
        "[providers.fake]\nkind = \"openai\"\nbaseUrl = \"{}/v1\"\nmodel = \"fake-1\"\n[cron]\nmaxConcurrentRuns = 1\n",
        server.url()
    ))
}

/// Says `words` and then nothing, until nobody listens any more.
fn held(words: &str) -> Reply {
    Reply::events(sse::chat_says(words)).held_after("\n\n")
}

/// Waits until the model of run `run` is in the middle of saying `words`.
async fn mid_stream(engine: &Engine<'_>, run: &str, words: &str) {
    engine
        .until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            detail["liveText"].as_str().is_some_and(|text| text.contains(words)).then_some(())
        })
        .await;
}

fn fact<'r>(run: &'r Value, name: &str) -> &'r str {
    run[name].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_run_that_was_cut_off_goes_on_and_ends_once() {
    let server = FakeModel::replying([
        held("Half a sen"),
        Reply::events(sse::chat_says("A whole sentence.")),
    ]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let id = engine.add(ask("Say a sentence.")).await;
    let first = engine.run_now(&id).await;
    mid_stream(&engine, &first, "Half a sen").await;
    engine.kill();

    let engine = home.serve_as_it_is();
    let run = &engine.ended(&id, 1).await[0];
    assert_eq!((fact(run, "id"), fact(run, "state")), (first.as_str(), "succeeded"));
    assert_eq!((fact(run, "trigger"), fact(run, "summary")), ("manual", "A whole sentence."));
    assert_eq!(run["attempt"], 2, "{run:#}");
    let detail = engine.call("runs.get", json!({ "id": first })).await;
    assert_eq!(detail["steps"][0]["status"], "unknown", "{detail:#}");
    assert!(engine.stop().success());

    let engine = home.serve_as_it_is();
    assert_eq!(engine.ended(&id, 1).await.len(), 1, "once is once");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn with_misfire_skip_it_is_only_told() {
    let server = FakeModel::replying([held("Half a sen")]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let mut job = ask("Say a sentence.");
    job["policies"] = json!({ "misfire": { "mode": "skip" } });
    let id = engine.add(job).await;
    let first = engine.run_now(&id).await;
    mid_stream(&engine, &first, "Half a sen").await;
    engine.kill();

    let engine = home.serve_as_it_is();
    let runs = engine.ended(&id, 1).await;
    assert_eq!((fact(&runs[0], "id"), fact(&runs[0], "state")), (first.as_str(), "interrupted"));
    let shown = home.rouse(["runs", "show", &first]);
    assert!(
        shown.ok().contains("interrupted") && shown.ok().contains("stopped while it was at work"),
        "{shown:#?}"
    );
    let detail = engine.call("runs.get", json!({ "id": first })).await;
    assert_eq!(
        detail["deliveries"].as_array().map(Vec::len),
        Some(1),
        "the person is told: {detail:#}"
    );
    let job = engine.call("cron.get", json!({ "id": id })).await;
    assert_eq!(
        (&job["job"]["state"]["lastState"], &job["job"]["state"]["lastStatus"]),
        (&json!("interrupted"), &json!("error"))
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_job_that_always_dies_is_not_tried_for_ever() {
    let server = FakeModel::replying([held("Once"), held("Twice"), held("Thrice")]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let id = engine.add(ask("Take the process down.")).await;
    let first = engine.run_now(&id).await;
    mid_stream(&engine, &first, "Once").await;
    engine.kill();

    for words in ["Twice", "Thrice"] {
        let engine = home.serve_as_it_is();
        mid_stream(&engine, &first, words).await;
        engine.kill();
    }

    let engine = home.serve_as_it_is();
    let run = &engine.ended(&id, 1).await[0];
    assert_eq!(run["state"], "interrupted", "{run:#}");
    assert!(fact(run, "reason").contains("stopped while it was at work"), "{run:#}");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn runs_that_waited_still_run() {
    let server = FakeModel::replying([held("Busy"), Reply::events(sse::chat_says("Done."))]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let busy = engine.add(ask("Be busy.")).await;
    let patient = engine.add(echo("Patient")).await;
    let first = engine.run_now(&busy).await;
    mid_stream(&engine, &first, "Busy").await;
    let waiting = [engine.run_now(&patient).await, engine.run_now(&patient).await];
    let states: Vec<Value> =
        engine.runs(&patient).await.iter().map(|run| run["state"].clone()).collect();
    assert_eq!(states, ["queued", "queued"], "there is one place, and it is taken");
    engine.kill();

    let engine = home.serve_as_it_is();
    let mut runs = engine.ended(&patient, 2).await;
    runs.reverse();
    let ended: Vec<(&str, &str)> =
        runs.iter().map(|run| (fact(run, "id"), fact(run, "state"))).collect();
    assert_eq!(ended, [(waiting[0].as_str(), "succeeded"), (waiting[1].as_str(), "succeeded")]);
    assert_eq!(fact(&engine.ended(&busy, 1).await[0], "state"), "succeeded");
}

#[tokio::test]
async fn a_tool_that_was_at_work_is_of_unknown_outcome() {
    let server = FakeModel::start(|_| Reply::json(200, r#"{"half": 1}"#).held_after("half"));
    let host = server.url().replace("http://", "");
    let home = Home::new().config(&format!("[tools]\nallowPrivateHosts = [\"{host}\"]\n"));
    let engine = home.serve().await;
    let mut job = echo("Fetch");
    job["payload"] =
        json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": server.url() } });
    job["policies"] = json!({ "misfire": { "mode": "skip" } });
    let id = engine.add(job).await;
    let run = engine.run_now(&id).await;
    engine
        .until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            assert_eq!(detail["run"]["finishedAtMs"], Value::Null, "{detail:#}");
            (detail["steps"][0]["status"] == "started").then_some(())
        })
        .await;
    engine.kill();
    let engine = home.serve_as_it_is();
    assert_eq!(fact(&engine.ended(&id, 1).await[0], "state"), "interrupted");
    let detail = engine.call("runs.get", json!({ "id": run })).await;
    assert_eq!(detail["steps"][0]["status"], "unknown", "{detail:#}");
}

#[tokio::test]
async fn asking_it_to_end_cuts_runs_off_in_the_same_way() {
    let server = FakeModel::replying([
        held("Half a sen"),
        Reply::events(sse::chat_says("A whole sentence.")),
    ]);
    let home = home_with(&server);
    let engine = home.serve().await;
    let id = engine.add(ask("Say a sentence.")).await;
    let first = engine.run_now(&id).await;
    mid_stream(&engine, &first, "Half a sen").await;
    assert!(engine.stop().success());
    let engine = home.serve_as_it_is();
    let run = &engine.ended(&id, 1).await[0];
    assert_eq!((fact(run, "id"), fact(run, "state")), (first.as_str(), "succeeded"));
}

/// A pipe, and a line of which two processes hold it: one in the line's group, one that left it.
#[cfg(target_os = "linux")]
fn held_pipe(home: &Home) -> (std::path::PathBuf, String) {
    let pipe = home.beside("alive");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let line =
        format!("exec 3>'{}'; setsid sleep 1000 & echo ready >&3; sleep 1000", pipe.display());
    (pipe, line)
}

/// Waits until the line has begun; what comes back is done when the last process that holds the pipe has ended.
#[cfg(target_os = "linux")]
async fn begun(pipe: std::path::PathBuf) -> tokio::task::JoinHandle<bool> {
    use std::io::{BufRead as _, BufReader};
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let ended = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(std::fs::File::open(pipe).expect("opened")).lines();
        begun.send(lines.next()).expect("the test waits");
        lines.next().is_none()
    });
    has_begun.await.expect("begun").expect("a line").expect("read");
    ended
}

#[cfg(target_os = "linux")]
async fn all_ended(ended: tokio::task::JoinHandle<bool>) {
    let ended = tokio::time::timeout(std::time::Duration::from_secs(30), ended).await;
    assert!(ended.expect("both were ended").expect("joined"));
}

/// An engine that calls a tool, and waits for a hook that has started two processes at this first call and does nothing at
/// any other; and what is done when both have ended.
#[cfg(target_os = "linux")]
async fn hooked<'h>(home: &'h Home, timeout: &str) -> (Engine<'h>, tokio::task::JoinHandle<bool>) {
    let (pipe, line) = held_pipe(home);
    let script = format!("test -e hooked && exit 0; touch hooked; {line}");
    home.write_config(&format!(
        "[[hooks]]\non = \"before_tool_call\"\ncommand = [\"sh\", \"-c\", \"\"\"{script}\"\"\"]\ntimeout = \"{timeout}\"\n"
    ));
    let engine = home.serve().await;
    let id = engine.add(echo("Hooked")).await;
    engine.run_now(&id).await;
    (engine, begun(pipe).await)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_hook_had_started_is_ended_at_the_next_start() {
    let home = Home::new();
    let (engine, ended) = hooked(&home, "5m").await;
    engine.kill();
    assert!(!ended.is_finished(), "a kill of Rouse alone ends no hook");

    let engine = home.serve_as_it_is();
    all_ended(ended).await;
    assert!(engine.stop().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_hook_has_started_ends_with_its_time() {
    let home = Home::new();
    let (engine, ended) = hooked(&home, "1s").await;
    all_ended(ended).await;
    assert!(engine.stop().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_command_had_started_is_ended_at_the_next_start() {
    let home = Home::new();
    let (pipe, line) = held_pipe(&home);
    let mut job = echo("Left behind");
    job["payload"] =
        json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": line } });
    let engine = home.serve().await;
    let id = engine.add(job).await;
    engine.run_now(&id).await;
    let ended = begun(pipe).await;
    engine.kill();
    assert!(!ended.is_finished(), "a kill of Rouse alone ends no command");

    let engine = home.serve_as_it_is();
    all_ended(ended).await;
    let runs = engine.ended(&id, 1).await;
    assert_eq!((runs.len(), fact(&runs[0], "state")), (1, "interrupted"), "it is not repeated");
}

/// Whether a process is at work. What has ended and was not yet waited for is none any more.
#[cfg(target_os = "linux")]
fn is_alive(number: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", number.trim()));
    let state = stat.iter().find_map(|stat| stat.rsplit_once(") ")?.1.chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// What a job of a command line looks like.
#[cfg(target_os = "linux")]
fn command(line: &str, schedule: &Value, policies: &Value) -> Value {
    let mut job = echo("Does not listen");
    job["schedule"] = schedule.clone();
    job["policies"] = policies.clone();
    job["payload"] =
        json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": line } });
    job
}

/// Where commands write their numbers.
#[cfg(target_os = "linux")]
struct Numbers(std::sync::Arc<std::sync::Mutex<std::io::BufReader<std::fs::File>>>, String);

#[cfg(target_os = "linux")]
impl Numbers {
    fn new(home: &Home) -> Self {
        let pipe = home.beside("numbers");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo runs").success());
        // Open at both ends, so that it has no end while commands come and go.
        let file = std::fs::File::options().read(true).write(true).open(&pipe).expect("opened");
        let lines = std::io::BufReader::new(file);
        Self(std::sync::Arc::new(std::sync::Mutex::new(lines)), pipe.display().to_string())
    }

    async fn next(&self) -> String {
        let lines = std::sync::Arc::clone(&self.0);
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            std::io::BufRead::read_line(&mut *lines.lock().expect("one reader"), &mut line)
                .expect("read");
            line
        });
        line.await.expect("joined").trim().to_owned()
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_run_is_over_when_its_command_is() {
    let home = Home::new();
    let numbers = Numbers::new(&home);
    let engine = home.serve().await;
    let line = format!("trap '' TERM; echo $$ > '{}'; sleep 1000", numbers.1);
    for (policies, state) in
        [(json!({}), "cancelled"), (json!({ "timeoutSeconds": 1 }), "timedOut")]
    {
        let id = engine.add(command(&line, &json!({ "kind": "manual" }), &policies)).await;
        let run = engine.run_now(&id).await;
        let number = numbers.next().await;
        if state == "cancelled" {
            engine.call("runs.cancel", json!({ "id": run })).await;
        }
        let runs = engine.ended(&id, 1).await;
        let was_alive = is_alive(&number);
        assert_eq!(fact(&runs[0], "state"), state);
        assert!(!was_alive, "{state}: the run was called over while its command worked");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_newer_slot_begins_when_the_command_before_has_ended() {
    let home = Home::new();
    let numbers = Numbers::new(&home);
    let line = format!("trap '' TERM; echo $$ > '{}'; sleep 1000", numbers.1);
    let engine = home.serve().await;
    let schedule = json!({ "kind": "every", "everyMs": 2_000 });
    engine.add(command(&line, &schedule, &json!({ "overlap": "cancelOther" }))).await;
    let first = numbers.next().await;
    numbers.next().await;
    assert!(!is_alive(&first), "two commands of one job were at work at once");
    assert!(engine.stop().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_orderly_stop_leaves_no_command_behind() {
    let home = Home::new();
    let numbers = Numbers::new(&home);
    // It has left the group of its command, and does not listen.
    let stubborn = format!("trap \"\" TERM; echo $$ > {}; sleep 1000", numbers.1);
    let line = format!("setsid sh -c '{stubborn}' & trap '' TERM; sleep 1000");
    let engine = home.serve().await;
    let id = engine.add(command(&line, &json!({ "kind": "manual" }), &json!({}))).await;
    engine.run_now(&id).await;
    let number = numbers.next().await;
    assert!(is_alive(&number));
    assert!(engine.stop().success());
    assert!(!is_alive(&number), "a process of a run outlived an orderly stop");
}

/// On Unix SQLite would go on writing into a file that has no name any more.
#[tokio::test]
async fn a_database_that_is_moved_away_saves_nothing_and_goes_on_when_it_is_back() {
    let home = Home::new();
    let engine = home.serve().await;
    let kept = engine.add(echo("Kept")).await;
    let (file, away) = (home.data().join("rouse.db"), home.beside("away.db"));
    fs::rename(&file, &away).expect("our own file");
    let add = ["cron", "add", "--name", "Lost", "--every", "1h", "--system-event", "x"];
    home.rouse(add).refused(1, "was deleted or replaced while Rouse was running");
    fs::write(&file, b"another one").expect("our own file");
    home.rouse(add).refused(1, "put it back, or start Rouse anew");
    home.rouse(["cron", "run", "--force", kept.as_str()]).refused(1, "was deleted or replaced");
    assert_eq!(fs::read(&file).expect("there"), b"another one", "it is left alone");
    fs::rename(&away, &file).expect("our own file");
    assert_eq!(home.rouse(add).code, 0);
    assert!(engine.stop().success());
}
