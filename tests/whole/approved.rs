//! What a person has said yes to is what runs, and nothing else: the real tools behind the real gate.
//!
//! Between the yes and the call any byte of it may be another: of the line, the folder, the environment, the script that
//! it runs, the file that it replaces, the hosts that it reaches and the sandbox around it. Each such call is another one,
//! which nobody has allowed, by an answer of the run or by a grant of its job. The short form tries some hundred of them,
//! `cargo xtask torture calls` a hundred thousand.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{Called, Gate, Passage, Terms, ToolRegistry};
use rouse_core::approval::{Answer, AnsweredFrom, Approval, Cover, NewGrant};
use rouse_core::job::job_from_json;
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Run, Usage};
use rouse_core::tool::{LooseEnds, SandboxMode, ToolContext};
use rouse_core::{Clock, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::{Park, Store};
use rouse_testkit::dice::{count_or, first_seed};
use rouse_testkit::{Dice, ManualClock};
use rouse_tools::{ToolsConfig, builtin};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const NOW: UnixMs = UnixMs(1_795_251_600_000);

/// What allows the call, as often as it is made.
#[derive(Debug, Clone, Copy)]
enum Yes {
    /// An answer for the run that asked.
    OfRun,
    /// A grant of the job, for all its runs.
    OfJob,
}

impl Yes {
    fn to(self, approval: &Approval) -> Answer {
        let (fingerprint, arguments) = (approval.standing(), approval.arguments.clone());
        match self {
            Self::OfRun => Answer::Run,
            Self::OfJob => Answer::Always(NewGrant {
                covers: Cover::Exact { fingerprint, arguments },
                expires_at: None,
                uses: None,
            }),
        }
    }
}

/// A run whose call is allowed.
struct Approved {
    gate: Gate,
    context: ToolContext,
    tool: &'static str,
    workspace: PathBuf,
    _folder: TempDir,
}

impl Approved {
    /// The yes to `arguments` in a workspace that `lay_out` has made.
    async fn to(tool: &'static str, arguments: &Value, yes: Yes, lay_out: impl Fn(&Path)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = folder.path().join("workspace");
        fs::create_dir(&workspace).expect("made");
        let workspace = workspace.canonicalize().expect("there");
        lay_out(&workspace);
        let file = folder.path().join("rouse.db");
        let store = Store::open(&file, Arc::new(|_| {})).await.expect("a store");
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(NOW));
        let tools = ToolRegistry::new(builtin(ToolsConfig::default())).expect("a registry");
        let gate = Gate::new(tools, store.clone(), Arc::clone(&clock));
        let saved = json!({
            "id": "job-1", "name": "Proof", "schedule": { "kind": "manual" },
            "payload": { "kind": "toolCall", "tool": tool, "arguments": arguments },
        });
        let saved = job_from_json(saved, NOW, chrono_tz::UTC).expect("a job");
        store.insert_job(&saved, NOW).await.expect("saved");
        let job = saved.id;
        let at_work = |id| {
            let queued = Run::queued(RunId::new(id), RunTrigger::Manual, NOW);
            let (state, job_id) = (RunState::Running, Some(job.clone()));
            Run { state, job_id, started_at: Some(NOW), attempt: 1, ..queued }
        };
        let run = at_work("run-1");
        store.insert_run(&run, NOW).await.expect("inserted");
        let context = ToolContext {
            run_id: run.id.clone(),
            job_id: Some(job.clone()),
            job_name: "Proof".to_owned(),
            workspace: workspace.clone(),
            sandbox: SandboxMode::Sandboxed { hosts: vec![HOST.to_owned()] },
            named_hosts: Vec::new(),
            zone: clock.zones().local(),
            clock,
            skills: Vec::new(),
            event: None,
            asked_at: None,
            loose_ends: LooseEnds::default(),
        };
        let mut approved = Self { gate, context, tool, workspace, _folder: folder };
        let Passage::Asks(question) = approved.call(arguments, &approved.context).await else {
            panic!("it was made unasked")
        };
        let (id, answer) = (question.approval.id.clone(), yes.to(&question.approval));
        let (questions, usage) = (vec![question.approval], Usage::default());
        let park = Park { run_id: run.id.clone(), questions, usage, deliveries: vec![], now: NOW };
        store.park_run(&park).await.expect("parked").expect("a run");
        store.decide(&id, &answer, AnsweredFrom::Page, NOW).await.expect("decided");
        store.start_runs(&[run.id], NOW).await.expect("started");
        if matches!(yes, Yes::OfJob) {
            let another = at_work("run-2");
            store.insert_run(&another, NOW).await.expect("inserted");
            approved.context.run_id = another.id;
        }
        approved
    }

    async fn call(&self, arguments: &Value, context: &ToolContext) -> Passage {
        let (id, tool) = ("c".to_owned(), self.tool.to_owned());
        let request = ToolCallRequest { id, tool, arguments: arguments.clone() };
        let policy = ToolPolicy::of_tools(None);
        let question_for = Duration::from_secs(1_800);
        let terms = Terms { account: None, policy, question_for, knows_outside: false };
        let cancel = CancellationToken::new();
        self.gate.call(&terms, &request, context, &cancel).await.expect("a journal")
    }

    /// Tries another call than the approved one.
    async fn tries(&self, arguments: &Value, context: &ToolContext, what: &str) {
        if let Passage::Called(called) = self.call(arguments, context).await {
            assert!(!called.reached_tool, "{what}: {arguments} was made: {called:?}");
        }
    }

    async fn is_made(&self, arguments: &Value) -> Called {
        match self.call(arguments, &self.context).await {
            Passage::Called(called) => *called,
            Passage::Asks(question) => panic!("the approved call is asked about: {question:?}"),
        }
    }
}

/// Another text: a byte changed, put in or taken away.
fn other(dice: &mut Dice, text: &str) -> String {
    loop {
        let mut bytes = text.as_bytes().to_vec();
        let at = dice.below(bytes.len());
        let byte = u8::try_from(dice.between(0x20, 0x7e)).expect("a letter");
        match dice.below(3) {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            _ => drop(bytes.remove(at)),
        }
        let changed = String::from_utf8(bytes).expect("letters");
        if changed != text {
            return changed;
        }
    }
}

/// The one host that the approved call may reach.
const HOST: &str = "a.example";

/// Another room around the call.
fn other_room(dice: &mut Dice) -> SandboxMode {
    let here = HOST.to_owned();
    let hosts = match dice.below(4) {
        0 => Vec::new(),
        1 => vec![here, other(dice, HOST)],
        2 => vec![here, "b.example".to_owned(), other(dice, "c.example")],
        _ => vec![other(dice, HOST)],
    };
    match dice.below(4) {
        0 => SandboxMode::OpenedByPerson { hosts },
        _ => SandboxMode::Sandboxed { hosts },
    }
}

const SCRIPT: &str = "#!/bin/sh\necho ran >> ../ran\n";

fn with_script(workspace: &Path) {
    for folder in ["sub", "other"] {
        fs::create_dir(workspace.join(folder)).expect("made");
        fs::write(workspace.join(folder).join("go.sh"), SCRIPT).expect("written");
    }
}

#[tokio::test]
async fn no_other_command_than_the_approved_one_runs() {
    only_this_command_runs(Yes::OfRun).await;
}

#[tokio::test]
async fn no_other_command_than_the_granted_one_runs() {
    only_this_command_runs(Yes::OfJob).await;
}

async fn only_this_command_runs(yes: Yes) {
    let line = "sh go.sh one";
    let good = json!({ "command": line, "cwd": "sub" });
    let approved = Approved::to("run_command", &good, yes, with_script).await;
    let (script, ran) = (approved.workspace.join("sub/go.sh"), approved.workspace.join("ran"));
    let absent = approved.workspace.join("sub/one");
    let seed = first_seed();
    let mut dice = Dice::new(seed);
    for number in 0..count_or(400) {
        let what = format!("seed {seed}, number {number}");
        let (mut call, mut context) = (good.clone(), approved.context.clone());
        match dice.below(9) {
            0 | 1 => call["command"] = other(&mut dice, line).into(),
            2 => {
                let others = ["other", ".", "sub/", "./sub", "../workspace/sub", "sub/../other"];
                call["cwd"] = (*dice.pick(&others)).into();
            }
            3 => fs::write(&script, other(&mut dice, SCRIPT)).expect("written"),
            4 => context.job_name = other(&mut dice, &context.job_name),
            5 => call["timeoutSeconds"] = dice.between(1, 600).into(),
            6 | 7 => context.sandbox = other_room(&mut dice),
            _ => fs::write(&absent, "it is there now").expect("written"),
        }
        approved.tries(&call, &context, &what).await;
        assert!(!ran.exists(), "{what}: it ran");
        fs::write(&script, SCRIPT).expect("written");
        if absent.exists() {
            fs::remove_file(&absent).expect("removed");
        }
    }
    let called = approved.is_made(&good).await;
    if cfg!(target_os = "linux") {
        assert!(!called.output.is_error(), "{called:?}");
        assert_eq!(fs::read_to_string(&ran).expect("it ran"), "ran\n");
    }
}

#[tokio::test]
async fn nothing_else_is_written_than_what_was_approved() {
    only_this_is_written(Yes::OfRun).await;
}

#[tokio::test]
async fn nothing_else_is_written_than_what_was_granted() {
    only_this_is_written(Yes::OfJob).await;
}

async fn only_this_is_written(yes: Yes) {
    let (content, old) = ("Buy milk.\n", "Buy bread.\n");
    let good = json!({ "path": "notes/list.md", "content": content });
    let lay_out = |workspace: &Path| {
        fs::create_dir(workspace.join("notes")).expect("made");
        fs::write(workspace.join("notes/list.md"), old).expect("written");
    };
    let approved = Approved::to("write_file", &good, yes, lay_out).await;
    let file = approved.workspace.join("notes/list.md");
    let seed = first_seed();
    let mut dice = Dice::new(seed);
    for number in 0..count_or(400) {
        let what = format!("seed {seed}, number {number}");
        let mut call = good.clone();
        let mut there = Some(old.to_owned());
        // A standing yes is not held to what is replaced: the call itself changes that.
        let ways = if matches!(yes, Yes::OfRun) { 4 } else { 2 };
        match dice.below(ways) {
            0 => call["path"] = other(&mut dice, "notes/list.md").into(),
            1 => call["content"] = other(&mut dice, content).into(),
            2 => there = Some(other(&mut dice, old)),
            _ => there = None,
        }
        match &there {
            Some(text) => fs::write(&file, text).expect("written"),
            None => fs::remove_file(&file).expect("removed"),
        }
        approved.tries(&call, &approved.context, &what).await;
        assert_eq!(fs::read_to_string(&file).ok(), there, "{what}");
        fs::write(&file, old).expect("written");
    }
    assert!(!approved.is_made(&good).await.output.is_error());
    assert_eq!(fs::read_to_string(&file).expect("there"), content);
}

#[tokio::test]
async fn a_standing_yes_outlives_what_the_call_itself_changes() {
    for yes in [Yes::OfRun, Yes::OfJob] {
        let line = json!({ "command": "date >> log.txt" });
        let appends = Approved::to("run_command", &line, yes, |_| {}).await;
        for lines in 1..=3 {
            let called = appends.is_made(&line).await;
            if cfg!(target_os = "linux") {
                assert!(!called.output.is_error(), "{called:?}");
                let log = fs::read_to_string(appends.workspace.join("log.txt")).expect("written");
                assert_eq!(log.lines().count(), lines);
            }
        }
        let file = json!({ "path": "new/list.md", "content": "Buy milk.\n" });
        let writes = Approved::to("write_file", &file, yes, |_| {}).await;
        for _ in 0..2 {
            assert!(!writes.is_made(&file).await.output.is_error());
        }
        fs::write(writes.workspace.join("new/list.md"), "Buy bread.\n").expect("written");
        assert!(!writes.is_made(&file).await.output.is_error());
    }
}

#[tokio::test]
async fn a_script_in_a_folder_that_the_line_goes_to_is_held_by_a_standing_yes() {
    let line = json!({ "command": "cd sub && sh go.sh" });
    let approved = Approved::to("run_command", &line, Yes::OfJob, with_script).await;
    assert!(!approved.is_made(&line).await.output.is_error() || !cfg!(target_os = "linux"));
    fs::write(approved.workspace.join("sub/go.sh"), "echo evil >> ../ran\n").expect("written");
    let passage = approved.call(&line, &approved.context).await;
    assert!(matches!(passage, Passage::Asks(_)), "{passage:?}");
}

#[tokio::test]
async fn no_standing_yes_covers_a_line_that_runs_more_than_is_bound() {
    let line = json!({ "command": "make" });
    let lay_out = |workspace: &Path| {
        fs::write(workspace.join("Makefile"), "all:\n\t@echo made\n").expect("written");
    };
    let approved = Approved::to("run_command", &line, Yes::OfJob, lay_out).await;
    let passage = approved.call(&line, &approved.context).await;
    assert!(matches!(passage, Passage::Asks(_)), "{passage:?}");
}
