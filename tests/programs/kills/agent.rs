//! The same for an agent's run with effects that may not come twice: a job's, and a turn that a person has started.
//!
//! The model asks for things that nobody may do again blindly, some of them only after a person's yes. The person says
//! yes once to each question, before the kill or after it. What came of it is held against what the model was told
//! (`effects`). One could get it wrong by killing only where the engine writes: a run that waits writes nothing.

use std::fs;

use rouse_gateway::Client;
use rouse_testkit::dice::is_long;
use rouse_testkit::fake_model::{FakeModel, Reply};
use serde_json::{Value, json};

use super::effects::{self, Effects, LINE, NOTE, RENAMED, REPORT, ROUTINE};
use super::tracer::{Before, Life};
use super::{Doomed, ask, assert_shown, to_kill_before, until_killed};
use crate::asks::{calling, settings_of};
use crate::engine::{Engine, Home, is_over};

/// Who has started the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A job's, which nobody watches.
    Job,
    /// A job's that sends something to somebody: a call that no rule makes harmless to repeat.
    Sends,
    /// A turn of the main session: only there an agent may make a job.
    Chat,
    /// One that changes, starts and deletes jobs that are there.
    Routines,
}

/// The model, and who is sent something by a run.
struct Servers {
    model: FakeModel,
    sink: FakeModel,
}

impl Servers {
    fn home(&self) -> Home {
        let sink = self.sink.url().replace("http://", "");
        let tools = format!("[tools]\nallowPrivateHosts = [\"{sink}\"]\n");
        Home::new().config(&format!("{tools}{}", settings_of(&self.model)))
    }
}

impl Way {
    fn servers(self) -> Servers {
        let sink = FakeModel::start(|_| Reply::json(200, "{}"));
        let post = json!({ "url": format!("{}/take", sink.url()), "method": "POST", "body": NOTE });
        let shared = [
            ("memory_write", json!({ "path": "memory/log.md", "content": LINE, "append": true })),
            ("notify", json!({ "body": NOTE })),
            ("run_command", json!({ "command": effects::COMMAND })),
        ];
        let reminder =
            json!({ "name": ROUTINE, "schedule": { "kind": "manual" }, "reminder": "Tea" });
        let calls: Vec<(&str, Value)> = match self {
            Self::Job => {
                let report = json!({ "path": "report.md", "content": REPORT });
                shared.into_iter().chain([("write_file", report)]).collect()
            }
            Self::Sends => vec![shared[0].clone(), ("http", post), shared[1].clone()],
            Self::Chat => shared.into_iter().chain([("routine_create", reminder)]).collect(),
            Self::Routines => vec![
                ("routine_update", json!({ "id": "changed", "revision": 1, "name": RENAMED })),
                ("routine_fire", json!({ "id": "fired" })),
                ("routine_delete", json!({ "id": "gone" })),
            ],
        };
        Servers { model: calling(calls), sink }
    }

    /// Starts the run; whether it was promised.
    async fn begin(self, client: &Client) -> bool {
        let (method, params) = match self {
            Self::Job | Self::Sends => {
                let payload = json!({ "kind": "agentTurn", "message": "Do it." });
                let job = json!({ "id": "agent", "name": "Agent", "schedule": { "kind": "manual" }, "payload": payload });
                ask(client, "cron.add", job).await;
                ("cron.run", json!({ "id": "agent", "mode": "force" }))
            }
            Self::Chat => ("chat.send", json!({ "text": "Do it." })),
            Self::Routines => {
                for id in ["changed", "fired", "gone"] {
                    let payload = json!({ "kind": "systemEvent", "text": "Tea" });
                    let job = json!({ "id": id, "name": id, "schedule": { "kind": "manual" }, "payload": payload, "wakeMode": "next-heartbeat" });
                    ask(client, "cron.add", job).await;
                }
                ("chat.send", json!({ "text": "Do it." }))
            }
        };
        ask(client, method, params).await.is_some()
    }
}

/// The runs that this is about, of which there is one at most; none when nobody is there.
async fn the_run(client: &Client) -> Option<Vec<Value>> {
    let found = ask(client, "runs.list", json!({ "triggers": ["manual", "chat"] })).await?;
    let mut runs = found["runs"].as_array().expect("runs").clone();
    // What the run itself has started is an effect of it.
    runs.retain(|run| run["jobId"] != "fired");
    assert!(runs.len() <= 1, "one was asked for: {runs:#?}");
    Some(runs)
}

/// What is asked and has no answer yet; nothing when nobody is there.
async fn questions(client: &Client) -> Vec<Value> {
    let Some(open) = ask(client, "approvals.list", json!({})).await else { return Vec::new() };
    open["approvals"].as_array().expect("questions").clone()
}

/// Says yes to all that is asked, once each.
async fn say_yes(client: &Client) {
    answer(client, questions(client).await).await;
}

async fn answer(client: &Client, questions: Vec<Value>) {
    for asked in questions {
        let yes = json!({ "id": asked["id"], "answer": { "kind": "once" }, "from": "cli" });
        let decided = ask(client, "approvals.decide", yes).await;
        assert!(decided.is_none_or(|decided| decided["counts"] == true), "{asked}");
    }
}

/// Starts the run and says yes to all that it asks, up to its end or that of the engine; whether it was promised.
async fn scenario(doomed: &Doomed, way: Way) -> bool {
    let Some((client, _)) = &doomed.door else { return false };
    if !way.begin(client).await {
        return false;
    }
    let Ok(mut events) = client.events(Some(0)).await else { return true };
    while events.next().await.is_some() {
        say_yes(client).await;
        if the_run(client).await.is_none_or(|runs| runs.iter().all(is_over)) {
            break;
        }
    }
    true
}

/// What a life after the kill makes of it: the run comes to its one end. Answers all that has come of it.
async fn judge(home: &Home, servers: &Servers, is_promised: bool, place: &str) -> Effects {
    let engine = home.serve_as_it_is();
    let run = engine
        .until(async |engine| {
            say_yes(&engine.client).await;
            let runs = the_run(&engine.client).await.expect("an engine");
            runs.iter().all(is_over).then(|| runs.into_iter().next())
        })
        .await;
    assert!(!is_promised || run.is_some(), "{place}: the run was promised and is gone");
    let found = Effects::of(&engine, (&servers.model, &servers.sink), run).await;
    assert!(engine.stop().success(), "{place}");
    found.check().unwrap_or_else(|why| panic!("{place}: {why}\n{found:#?}"));
    found
}

/// Kills before calls that change a file: before every one in the long form.
async fn killed_anywhere(way: Way) {
    let servers = way.servers();
    let whole = servers.home();
    let doomed = Doomed::start(&whole, Before::None);
    let before = doomed.process.calls();
    let is_promised = scenario(&doomed, way).await;
    let Life { is_killed, calls: all } = doomed.stop();
    assert!(!is_killed && is_promised);
    let whole = judge(&whole, &servers, is_promised, "not killed").await;
    assert!(whole.is_whole(), "{whole:#?}");

    let (mut kills, mut calls, mut went_on, mut unknown) = (0, 0, 0, 0);
    for at in to_kill_before(all) {
        let killed = until_killed(async || {
            let servers = way.servers();
            let home = servers.home();
            let doomed = Doomed::start(&home, Before::Call(at));
            let is_promised = scenario(&doomed, way).await;
            let is_killed = doomed.stop().is_killed;
            let place = format!("killed before call {at} of {all}");
            let found = judge(&home, &servers, is_promised, &place).await;
            went_on += u32::from(is_killed && found.went_on());
            unknown += u32::from(found.knows_not());
            is_killed
        });
        (kills, calls) = (kills + u32::from(killed.await), calls + 1);
    }
    println!(
        "{kills} kills of {way:?} in {all} calls, {before} of them its start; {went_on} went on, {unknown} could not know an outcome"
    );
    assert_shown(kills, calls);
    // A part may lie before its beginning.
    let is_part = is_long() && calls < all;
    assert!(is_part || went_on > 0, "no kill came while the agent was at work");
}

#[tokio::test]
async fn an_agent_that_is_killed_anywhere_goes_on_and_does_nothing_twice() {
    killed_anywhere(Way::Job).await;
}

#[tokio::test]
async fn a_job_that_sends_and_is_killed_anywhere_sends_nothing_twice() {
    killed_anywhere(Way::Sends).await;
}

#[tokio::test]
async fn a_turn_of_a_person_that_is_killed_anywhere_goes_on_and_does_nothing_twice() {
    killed_anywhere(Way::Chat).await;
}

#[tokio::test]
async fn a_turn_that_changes_jobs_and_is_killed_anywhere_changes_nothing_twice() {
    killed_anywhere(Way::Routines).await;
}

/// The workspace gives a file its name by a call that the C library has no part in.
#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn a_rename_that_no_library_makes_is_seen() {
    let servers = Way::Job.servers();
    let home = servers.home();
    let doomed = Doomed::start(&home, Before::First(libc::SYS_renameat));
    let is_promised = scenario(&doomed, Way::Job).await;
    assert!(doomed.stop().is_killed, "a file got its name, and nobody saw it");
    let folder = home.data().join("workspace/memory");
    let files: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path()).collect();
    let [file] = files.as_slice() else { panic!("one file is on its way: {files:?}") };
    assert_ne!(file.file_name(), Some("log.md".as_ref()));
    assert_eq!(fs::read_to_string(file).expect("text"), LINE);
    let found = judge(&home, &servers, is_promised, "killed before a file had its name").await;
    assert!(found.went_on() && found.knows_not(), "{found:#?}");
}

/// An engine that lives until it is told to die, with a question of its run.
async fn asked<'h>(home: &'h Home, way: Way, tool: &str) -> Engine<'h> {
    let engine = home.serve_as_it_is();
    assert!(way.begin(&engine.client).await);
    engine
        .until(async |engine| {
            let open = questions(&engine.client).await;
            if open.iter().any(|asked| asked["tool"] == tool) {
                return Some(());
            }
            // Only to what was looked at: the next question is the one that this waits for.
            answer(&engine.client, open).await;
            None
        })
        .await;
    engine
}

#[tokio::test]
async fn one_that_waits_for_an_answer_and_is_killed_asks_no_second_time() {
    for (way, tool) in [
        (Way::Job, "run_command"),
        (Way::Job, "write_file"),
        (Way::Chat, "run_command"),
        (Way::Chat, "routine_create"),
    ] {
        for answers_first in [false, true] {
            let servers = way.servers();
            let home = servers.home();
            let engine = asked(&home, way, tool).await;
            if answers_first {
                say_yes(&engine.client).await;
            }
            engine.kill();
            let place = format!("{way:?} killed with a question of {tool}, {answers_first}");
            let found = judge(&home, &servers, true, &place).await;
            assert_eq!(found.questions(tool), 1, "{place}: {found:#?}");
            assert!(answers_first || found.is_whole(), "{place}: {found:#?}");
        }
    }
}

/// The command says when it has done its work, and then waits: the kill comes before anybody has heard of its end.
#[tokio::test]
async fn a_command_that_had_done_its_work_when_the_engine_was_killed_is_not_run_again() {
    for way in [Way::Job, Way::Chat] {
        let servers = way.servers();
        let home = servers.home();
        let workspace = home.data().join("workspace");
        rouse_tests::make_database(&home.data()).await;
        fs::create_dir(&workspace).expect("a folder");
        let pipe = workspace.join(effects::PIPE);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo starts").success());
        let engine = asked(&home, way, "run_command").await;
        say_yes(&engine.client).await;
        let heard = tokio::task::spawn_blocking({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe)
        });
        assert_eq!(heard.await.expect("read").expect("said").trim(), "done");
        engine.kill();
        fs::remove_file(&pipe).expect("removed");
        let place = format!("{way:?} killed while its command was at work");
        let found = judge(&home, &servers, true, &place).await;
        assert_eq!((found.ledger(), found.knows_not()), (1, true), "{place}: {found:#?}");
    }
}
