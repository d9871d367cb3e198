//! `kill -9` during work: nothing is lost or repeated, and interruptions are reported.

use std::fs;

use rouse_testkit::fake_model::{FakeModel, Reply, sse};
use rouse_tests::{agent_job, model_settings};
use serde_json::{Value, json};

use crate::engine::{EngineProcess, TestHome};
use crate::probes::echo;

/// A home with `server` as the model and one run at a time.
fn single_run_home(server: &FakeModel) -> TestHome {
    let settings = model_settings(server);
    TestHome::new().config(&format!("{settings}[cron]\nmaxConcurrentRuns = 1\n"))
}

/// Streams `text` and stalls until the client disconnects.
fn stalled_reply(text: &str) -> Reply {
    Reply::events(sse::chat_says(text)).held_after("\n\n")
}

/// Waits until the live text of `run` is a prefix of `text`. Redaction holds back an end that may begin a stored
/// secret.
async fn wait_for_stream(engine: &EngineProcess<'_>, run: &str, prefix: &str) {
    engine
        .wait_until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            let shown = detail["liveText"].as_str().filter(|text| !text.is_empty());
            shown.is_some_and(|text| prefix.starts_with(text)).then_some(())
        })
        .await;
}

fn text_field<'r>(run: &'r Value, name: &str) -> &'r str {
    run[name].as_str().unwrap_or_default()
}

#[tokio::test]
async fn interrupted_run_is_retried_and_ends_once() {
    let server = FakeModel::replying([
        stalled_reply("Half a sen"),
        Reply::events(sse::chat_says("A whole sentence.")),
    ]);
    let home = single_run_home(&server);
    let engine = home.serve().await;
    let id = engine.add_job(agent_job("Say a sentence.")).await;
    let first = engine.start_run(&id).await;
    wait_for_stream(&engine, &first, "Half a sen").await;
    engine.kill();

    let engine = home.serve_plain();
    let run = &engine.finished_runs(&id, 1).await[0];
    assert_eq!((text_field(run, "id"), text_field(run, "state")), (first.as_str(), "succeeded"));
    assert_eq!(
        (text_field(run, "trigger"), text_field(run, "summary")),
        ("manual", "A whole sentence.")
    );
    assert_eq!(run["attempt"], 2, "{run:#}");
    let detail = engine.call("runs.get", json!({ "id": first })).await;
    assert_eq!(detail["steps"][0]["status"], "unknown", "{detail:#}");
    assert!(engine.stop().success());

    let engine = home.serve_plain();
    assert_eq!(engine.finished_runs(&id, 1).await.len(), 1, "once is once");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn interrupted_run_with_misfire_skip_is_only_reported() {
    let server = FakeModel::replying([stalled_reply("Half a sen")]);
    let home = single_run_home(&server);
    let engine = home.serve().await;
    let mut job = agent_job("Say a sentence.");
    job["policies"] = json!({ "misfire": { "mode": "skip" } });
    let id = engine.add_job(job).await;
    let first = engine.start_run(&id).await;
    wait_for_stream(&engine, &first, "Half a sen").await;
    engine.kill();

    let engine = home.serve_plain();
    let runs = engine.finished_runs(&id, 1).await;
    assert_eq!(
        (text_field(&runs[0], "id"), text_field(&runs[0], "state")),
        (first.as_str(), "interrupted")
    );
    let shown = home.rouse(["runs", "show", &first]);
    assert!(
        shown.ok().contains("interrupted") && shown.ok().contains("Rouse stopped during the run"),
        "{shown:#?}"
    );
    let detail = engine.call("runs.get", json!({ "id": first })).await;
    assert_eq!(
        detail["deliveries"].as_array().map(Vec::len),
        Some(1),
        "the user is notified: {detail:#}"
    );
    let job = engine.call("cron.get", json!({ "id": id })).await;
    assert_eq!(
        (&job["job"]["state"]["lastState"], &job["job"]["state"]["lastStatus"]),
        (&json!("interrupted"), &json!("error"))
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn run_interrupted_three_times_is_not_retried() {
    let server = FakeModel::replying([
        stalled_reply("Once"),
        stalled_reply("Twice"),
        stalled_reply("Thrice"),
    ]);
    let home = single_run_home(&server);
    let engine = home.serve().await;
    let id = engine.add_job(agent_job("Take the process down.")).await;
    let first = engine.start_run(&id).await;
    wait_for_stream(&engine, &first, "Once").await;
    engine.kill();

    for text in ["Twice", "Thrice"] {
        let engine = home.serve_plain();
        wait_for_stream(&engine, &first, text).await;
        engine.kill();
    }

    let engine = home.serve_plain();
    let run = &engine.finished_runs(&id, 1).await[0];
    assert_eq!(run["state"], "interrupted", "{run:#}");
    assert!(text_field(run, "reason").contains("Rouse stopped during the run"), "{run:#}");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn queued_runs_survive_a_kill() {
    let server =
        FakeModel::replying([stalled_reply("Busy"), Reply::events(sse::chat_says("Done."))]);
    let home = single_run_home(&server);
    let engine = home.serve().await;
    let busy = engine.add_job(agent_job("Be busy.")).await;
    let patient = engine.add_job(echo("Patient")).await;
    let first = engine.start_run(&busy).await;
    wait_for_stream(&engine, &first, "Busy").await;
    let waiting = [engine.start_run(&patient).await, engine.start_run(&patient).await];
    let states: Vec<Value> =
        engine.runs(&patient).await.iter().map(|run| run["state"].clone()).collect();
    assert_eq!(states, ["queued", "queued"], "the only permit is taken");
    engine.kill();

    let engine = home.serve_plain();
    let mut runs = engine.finished_runs(&patient, 2).await;
    runs.reverse();
    let holders_end: Vec<(&str, &str)> =
        runs.iter().map(|run| (text_field(run, "id"), text_field(run, "state"))).collect();
    assert_eq!(
        holders_end,
        [(waiting[0].as_str(), "succeeded"), (waiting[1].as_str(), "succeeded")]
    );
    assert_eq!(text_field(&engine.finished_runs(&busy, 1).await[0], "state"), "succeeded");
}

#[tokio::test]
async fn interrupted_tool_call_has_unknown_outcome() {
    let server = FakeModel::start(|_| Reply::json(200, r#"{"half": 1}"#).held_after("half"));
    let host = server.url().replace("http://", "");
    let home = TestHome::new().config(&format!("[tools]\nallowPrivateHosts = [\"{host}\"]\n"));
    let engine = home.serve().await;
    let mut job = echo("Fetch");
    job["payload"] =
        json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": server.url() } });
    job["policies"] = json!({ "misfire": { "mode": "skip" } });
    let id = engine.add_job(job).await;
    let run = engine.start_run(&id).await;
    engine
        .wait_until(async |engine| {
            let detail = engine.call("runs.get", json!({ "id": run })).await;
            assert_eq!(detail["run"]["finishedAtMs"], Value::Null, "{detail:#}");
            (detail["steps"][0]["status"] == "started").then_some(())
        })
        .await;
    engine.kill();
    let engine = home.serve_plain();
    assert_eq!(text_field(&engine.finished_runs(&id, 1).await[0], "state"), "interrupted");
    let detail = engine.call("runs.get", json!({ "id": run })).await;
    assert_eq!(detail["steps"][0]["status"], "unknown", "{detail:#}");
}

#[tokio::test]
async fn run_cut_off_by_stop_is_retried() {
    let server = FakeModel::replying([
        stalled_reply("Half a sen"),
        Reply::events(sse::chat_says("A whole sentence.")),
    ]);
    let home = single_run_home(&server);
    let engine = home.serve().await;
    let id = engine.add_job(agent_job("Say a sentence.")).await;
    let first = engine.start_run(&id).await;
    wait_for_stream(&engine, &first, "Half a sen").await;
    assert!(engine.stop().success());
    let engine = home.serve_plain();
    let run = &engine.finished_runs(&id, 1).await[0];
    assert_eq!((text_field(run, "id"), text_field(run, "state")), (first.as_str(), "succeeded"));
}

/// A pipe and a command line with two processes that hold the pipe, one outside the process group.
#[cfg(target_os = "linux")]
fn pipe_with_two_holders(home: &TestHome) -> (std::path::PathBuf, String) {
    let pipe = home.sibling("alive");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    // Only the process that has left the group reports: a kill of Rouse ends the group.
    let outside = "setsid sh -c 'echo ready >&3; exec sleep 1000'";
    let line = format!("exec 3>'{}'; {outside} & sleep 1000", pipe.display());
    (pipe, line)
}

/// Waits for the first line. The returned task ends when the last process closes the pipe.
#[cfg(target_os = "linux")]
async fn wait_for_start(pipe: std::path::PathBuf) -> tokio::task::JoinHandle<bool> {
    use std::io::{BufRead as _, BufReader};
    let (started, has_started) = tokio::sync::oneshot::channel();
    let holders_end = tokio::task::spawn_blocking(move || {
        let mut lines = BufReader::new(std::fs::File::open(pipe).expect("opened")).lines();
        started.send(lines.next()).expect("the test waits");
        lines.next().is_none()
    });
    has_started.await.expect("started").expect("a line").expect("read");
    holders_end
}

#[cfg(target_os = "linux")]
async fn wait_for_end(holders_end: tokio::task::JoinHandle<bool>) {
    let holders_end = tokio::time::timeout(std::time::Duration::from_secs(30), holders_end).await;
    assert!(holders_end.expect("both were ended").expect("joined"));
}

/// An engine with a hook that starts two processes at the first call, and a task that ends with both.
#[cfg(target_os = "linux")]
async fn engine_with_hook<'h>(
    home: &'h TestHome,
    timeout: &str,
) -> (EngineProcess<'h>, tokio::task::JoinHandle<bool>) {
    let (pipe, line) = pipe_with_two_holders(home);
    let script = format!("test -e hooked && exit 0; touch hooked; {line}");
    home.write_config(&format!(
        "[[hooks]]\non = \"before_tool_call\"\ncommand = [\"sh\", \"-c\", \"\"\"{script}\"\"\"]\ntimeout = \"{timeout}\"\n"
    ));
    let engine = home.serve().await;
    let id = engine.add_job(echo("Hooked")).await;
    engine.start_run(&id).await;
    (engine, wait_for_start(pipe).await)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn orphans_of_hook_are_killed_at_next_start() {
    let home = TestHome::new();
    let (engine, holders_end) = engine_with_hook(&home, "5m").await;
    engine.kill();
    assert!(!holders_end.is_finished(), "a kill of Rouse alone ends no hook");

    let engine = home.serve_plain();
    wait_for_end(holders_end).await;
    assert!(engine.stop().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn orphans_of_hook_are_killed_at_its_timeout() {
    let home = TestHome::new();
    let (engine, holders_end) = engine_with_hook(&home, "1s").await;
    wait_for_end(holders_end).await;
    assert!(engine.stop().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn orphans_of_command_are_killed_at_next_start() {
    let home = TestHome::new();
    let (pipe, line) = pipe_with_two_holders(&home);
    let mut job = echo("Left behind");
    job["payload"] =
        json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": line } });
    let engine = home.serve().await;
    let id = engine.add_job(job).await;
    engine.start_run(&id).await;
    let holders_end = wait_for_start(pipe).await;
    engine.kill();
    assert!(!holders_end.is_finished(), "a kill of Rouse alone ends no command");

    let engine = home.serve_plain();
    wait_for_end(holders_end).await;
    let runs = engine.finished_runs(&id, 1).await;
    assert_eq!((runs.len(), text_field(&runs[0], "state")), (1, "interrupted"), "not repeated");
}

/// Whether a process is running. Zombies are not.
#[cfg(target_os = "linux")]
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    let state = stat.iter().find_map(|stat| stat.rsplit_once(") ")?.1.chars().next());
    state.is_some_and(|state| state != 'Z')
}

/// A job that runs a command line.
#[cfg(target_os = "linux")]
fn command_job(line: &str, schedule: &Value, policies: &Value) -> Value {
    let mut job = echo("Does not listen");
    job["schedule"] = schedule.clone();
    job["policies"] = policies.clone();
    job["payload"] =
        json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": line } });
    job
}

/// A pipe for the process ids of commands.
#[cfg(target_os = "linux")]
struct PidPipe(std::sync::Arc<std::sync::Mutex<std::io::BufReader<std::fs::File>>>, String);

#[cfg(target_os = "linux")]
impl PidPipe {
    fn new(home: &TestHome) -> Self {
        let pipe = home.sibling("numbers");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo runs").success());
        // Open at both ends, so that the pipe has no end between commands.
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
async fn run_ends_after_its_command_process() {
    let home = TestHome::new();
    let pids = PidPipe::new(&home);
    let engine = home.serve().await;
    let line = format!("trap '' TERM; echo $$ > '{}'; sleep 1000", pids.1);
    for (policies, state) in
        [(json!({}), "cancelled"), (json!({ "timeoutSeconds": 1 }), "timedOut")]
    {
        let id = engine.add_job(command_job(&line, &json!({ "kind": "manual" }), &policies)).await;
        let run = engine.start_run(&id).await;
        let pid = pids.next().await;
        if state == "cancelled" {
            engine.call("runs.cancel", json!({ "id": run })).await;
        }
        let runs = engine.finished_runs(&id, 1).await;
        let was_alive = is_alive(&pid);
        assert_eq!(text_field(&runs[0], "state"), state);
        assert!(!was_alive, "{state}: the run ended before the command");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn cancel_other_waits_for_previous_command_to_end() {
    let home = TestHome::new();
    let pids = PidPipe::new(&home);
    let line = format!("trap '' TERM; echo $$ > '{}'; sleep 1000", pids.1);
    let engine = home.serve().await;
    let schedule = json!({ "kind": "every", "everyMs": 2_000 });
    engine.add_job(command_job(&line, &schedule, &json!({ "overlap": "cancelOther" }))).await;
    let first = pids.next().await;
    pids.next().await;
    assert!(!is_alive(&first), "two commands of one job ran in parallel");
    assert!(engine.stop().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn orderly_stop_leaves_no_process_behind() {
    let home = TestHome::new();
    let pids = PidPipe::new(&home);
    // This process left the process group of the command and ignores SIGTERM.
    let stubborn = format!("trap \"\" TERM; echo $$ > {}; sleep 1000", pids.1);
    let line = format!("setsid sh -c '{stubborn}' & trap '' TERM; sleep 1000");
    let engine = home.serve().await;
    let id = engine.add_job(command_job(&line, &json!({ "kind": "manual" }), &json!({}))).await;
    engine.start_run(&id).await;
    let pid = pids.next().await;
    assert!(is_alive(&pid));
    assert!(engine.stop().success());
    assert!(!is_alive(&pid), "a process of a run outlived an orderly stop");
}

/// On Unix SQLite would continue writing to the moved file.
#[tokio::test]
async fn moved_database_refuses_writes_until_restored() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let kept = engine.add_job(echo("Kept")).await;
    let (file, away) = (home.data().join("rouse.db"), home.sibling("away.db"));
    fs::rename(&file, &away).expect("our own file");
    let add = ["cron", "add", "--name", "Lost", "--every", "1h", "--system-event", "x"];
    home.rouse(add).assert_error(1, "was deleted or replaced while Rouse was running");
    fs::write(&file, b"another one").expect("our own file");
    home.rouse(add).assert_error(1, "Restore the file, or restart Rouse");
    home.rouse(["cron", "run", "--force", kept.as_str()])
        .assert_error(1, "was deleted or replaced");
    assert_eq!(fs::read(&file).expect("there"), b"another one", "the other file is unchanged");
    fs::rename(&away, &file).expect("our own file");
    assert_eq!(home.rouse(add).code, 0);
    assert!(engine.stop().success());
}
