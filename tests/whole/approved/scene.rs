//! A run whose call is allowed, and the calls that are made instead of it.
//!
//! Owns the store, the job, its runs and grants, and the gates: each look at another environment is by a gate of its own
//! over the same store, as after a start of Rouse. A gate may be made forgetful, so that the proof can be seen to fail.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{Called, Gate, Passage, Terms, ToolRegistry};
use rouse_core::approval::{Answer, AnsweredFrom, Cover, NewGrant, Rule};
use rouse_core::job::job_from_json;
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Run, Usage};
use rouse_core::tool::{LooseEnds, SandboxMode, Tool, ToolContext};
use rouse_core::{Clock, JobId, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::{Park, Store};
use rouse_testkit::ManualClock;
use rouse_tools::{CommandConfig, HttpConfig, ToolsConfig, builtin};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::forgetful::{Forget, Forgetful};
use super::other::raw;

pub(super) const NOW: UnixMs = UnixMs(1_795_251_600_000);

/// The one host that the approved call may reach, where the proof has no server.
pub(super) const HOST: &str = "a.example";

/// An environment: names and values.
pub(super) type Variables = Vec<(OsString, OsString)>;

/// What allows the call, as often as it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Yes {
    /// An answer for the run that asked.
    Run,
    /// A grant of the job, for all its runs.
    Job,
    /// A grant of the job for every path in the folder of this one, the rest of the call as it is.
    Folder,
}

/// A call about to be allowed.
#[derive(Clone, Copy)]
pub(super) struct Plan<'p> {
    pub(super) tool: &'static str,
    pub(super) arguments: &'p Value,
    pub(super) yes: Yes,
    /// A call of the same tool that is granted to the job as well, if any.
    pub(super) neighbour: Option<&'p Value>,
    /// The host of the job.
    pub(super) host: &'p str,
    /// What the gate forgets of what a yes is bound to, if anything.
    pub(super) forgets: Option<Forget>,
}

impl<'p> Plan<'p> {
    pub(super) const fn of(tool: &'static str, arguments: &'p Value, yes: Yes) -> Self {
        Self { tool, arguments, yes, neighbour: None, host: HOST, forgets: None }
    }
}

/// A run whose call is allowed.
pub(super) struct Approved {
    store: Store,
    clock: Arc<dyn Clock>,
    tool: &'static str,
    host: String,
    forgets: Option<Forget>,
    gate: Gate,
    pub(super) arguments: Value,
    pub(super) context: ToolContext,
    pub(super) variables: Variables,
    pub(super) workspace: PathBuf,
    _folder: TempDir,
}

/// A call that is made instead of the approved one.
pub(super) struct Another {
    pub(super) arguments: Value,
    pub(super) context: ToolContext,
    /// Where Rouse has been started anew in another environment.
    pub(super) variables: Option<Variables>,
}

/// All of it is what a confined command is told of; some is no text.
fn variables() -> Variables {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let words: [(&[u8], &[u8]); 6] = [
        (b"LANG", b"de_DE.UTF-8"),
        (b"LANGUAGE", "de:fr:größer".as_bytes()),
        (b"TZ", b"Europe/Berlin"),
        (b"LC_PAPER", b"caf\xe9"),
        (b"LC_\xe9", b"x"),
        (b"USER", b"me"),
    ];
    let words = words.map(|(name, value)| (raw(name), raw(value)));
    [(OsString::from("PATH"), path)].into_iter().chain(words).collect()
}

impl Approved {
    /// The yes to the call of `plan` in a workspace that `lay_out` has made.
    pub(super) async fn to(plan: Plan<'_>, lay_out: impl Fn(&Path)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = folder.path().join("workspace");
        fs::create_dir(&workspace).expect("made");
        let workspace = workspace.canonicalize().expect("there");
        lay_out(&workspace);
        let file = folder.path().join("rouse.db");
        let store = Store::open(&file, Arc::new(|_| {})).await.expect("a store");
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(NOW));
        let variables = variables();
        let gate = gate(&store, &clock, (plan.tool, plan.host, plan.forgets), &variables);
        let context = ToolContext {
            run_id: RunId::new("run-1"),
            job_id: Some(JobId::new("job-1")),
            job_name: "Prüfung".to_owned(),
            workspace: workspace.clone(),
            sandbox: SandboxMode::Sandboxed { hosts: vec![plan.host.to_owned()] },
            named_hosts: Vec::new(),
            folders: Vec::new(),
            zone: clock.zones().local(),
            clock: Arc::clone(&clock),
            skills: Vec::new(),
            event: None,
            asked_at: None,
            loose_ends: LooseEnds::default(),
        };
        let mut approved = Self {
            store,
            clock,
            tool: plan.tool,
            host: plan.host.to_owned(),
            forgets: plan.forgets,
            gate,
            arguments: plan.arguments.clone(),
            context,
            variables,
            workspace,
            _folder: folder,
        };
        approved.begin(plan).await;
        approved
    }

    /// Two jobs that would make the same call; of the first a run is allowed to.
    async fn begin(&mut self, plan: Plan<'_>) {
        for id in ["job-1", "job-2"] {
            let job = json!({
                "id": id, "name": "Prüfung", "schedule": { "kind": "manual" },
                "payload": { "kind": "toolCall", "tool": plan.tool, "arguments": plan.arguments },
            });
            let job = job_from_json(job, NOW, chrono_tz::UTC).expect("a job");
            self.store.insert_job(&job, NOW).await.expect("saved");
        }
        for (run, job) in
            [("run-0", "job-1"), ("run-1", "job-1"), ("run-2", "job-1"), ("run-3", "job-2")]
        {
            let queued = Run::queued(RunId::new(run), RunTrigger::Manual, NOW);
            let (state, job_id) = (RunState::Running, Some(JobId::new(job)));
            let run = Run { state, job_id, started_at: Some(NOW), attempt: 1, ..queued };
            self.store.insert_run(&run, NOW).await.expect("inserted");
        }
        self.context.run_id = RunId::new("run-0");
        if let Some(neighbour) = plan.neighbour {
            self.allow(neighbour, Yes::Job).await;
        }
        self.context.run_id = RunId::new("run-1");
        self.allow(plan.arguments, plan.yes).await;
        if plan.yes != Yes::Run {
            self.context.run_id = RunId::new("run-2");
        }
    }

    /// The run asks, waits, is answered and goes on.
    async fn allow(&self, arguments: &Value, yes: Yes) {
        let asked = self.call(&self.gate, arguments, &self.context).await;
        let Passage::Asks(question) = asked else { panic!("it was made unasked: {asked:?}") };
        let approval = question.approval;
        let (id, run_id) = (approval.id.clone(), approval.run_id.clone());
        let answer = match yes {
            Yes::Run => Answer::Run,
            Yes::Job => always(Cover::exactly(&approval)),
            Yes::Folder => always(Cover::like(&approval, of_folder(arguments))),
        };
        let (questions, usage) = (vec![approval], Usage::default());
        let park = Park {
            run_id: run_id.clone(),
            questions,
            usage,
            worked_ms: 0,
            deliveries: vec![],
            now: NOW,
        };
        self.store.park_run(&park).await.expect("parked").expect("a run");
        self.store.decide(&id, &answer, AnsweredFrom::Page, NOW).await.expect("decided");
        self.store.start_runs(&[run_id], NOW).await.expect("started");
    }

    /// A run that nobody has said yes for: of another job, or, where the yes is for one run only, another one of the job.
    pub(super) fn elsewhere(&self, is_of_job: bool) -> ToolContext {
        let (run, job) = if is_of_job { ("run-2", "job-1") } else { ("run-3", "job-2") };
        let (run_id, job_id) = (RunId::new(run), Some(JobId::new(job)));
        ToolContext { run_id, job_id, ..self.context.clone() }
    }

    async fn call(&self, gate: &Gate, arguments: &Value, context: &ToolContext) -> Passage {
        let (id, tool) = ("c".to_owned(), self.tool.to_owned());
        let request = ToolCallRequest { id, tool, arguments: arguments.clone() };
        let policy = ToolPolicy::of_tools(None);
        let question_for = Duration::from_secs(1_800);
        let terms = Terms {
            account: None,
            policy,
            question_for,
            knows_outside: false,
            rate_limit_wait: std::time::Duration::ZERO,
        };
        let cancel = CancellationToken::new();
        gate.call(&terms, &request, context, &cancel).await.expect("a journal")
    }

    /// The approved call, which is different in nothing.
    pub(super) fn same(&self) -> Another {
        let (arguments, context) = (self.arguments.clone(), self.context.clone());
        Another { arguments, context, variables: None }
    }

    /// Tries another call than the approved one; what was made of it, which must be nothing.
    pub(super) async fn tries(&self, another: &Another) -> Option<String> {
        let of = (self.tool, self.host.as_str(), self.forgets);
        let started = another.variables.as_ref();
        let started = started.map(|variables| gate(&self.store, &self.clock, of, variables));
        let gate = started.as_ref().unwrap_or(&self.gate);
        match self.call(gate, &another.arguments, &another.context).await {
            Passage::Called(called) if called.reached_tool => {
                Some(format!("{} was made: {called:?}", another.arguments))
            }
            Passage::Called(_) | Passage::Asks(_) => None,
        }
    }

    /// What comes of the approved call, after a start of Rouse in the same environment.
    pub(super) async fn asks_or_makes(&self) -> Passage {
        let of = (self.tool, self.host.as_str(), self.forgets);
        let gate = gate(&self.store, &self.clock, of, &self.variables);
        self.call(&gate, &self.arguments, &self.context).await
    }

    pub(super) async fn is_made(&self) -> Called {
        match self.asks_or_makes().await {
            Passage::Called(called) => *called,
            Passage::Asks(question) => panic!("the approved call is asked about: {question:?}"),
        }
    }

    /// The person takes all grants back.
    pub(super) async fn revoke(&self) {
        for grant in self.store.grants().await.expect("grants") {
            self.store.revoke_grant(&grant.id, NOW).await.expect("revoked");
        }
    }
}

fn always(covers: Cover) -> Answer {
    Answer::Always(NewGrant { covers, expires_at: None, uses: None })
}

/// The rules for calls like this one with a path in the same folder.
fn of_folder(arguments: &Value) -> BTreeMap<String, Rule> {
    let rule = |(name, value): (&String, &Value)| {
        let path = value.as_str().filter(|_| name == "path");
        let folder = path.and_then(|path| path.rsplit_once('/'));
        let rule = match folder {
            Some((folder, _)) => Rule::Below(folder.to_owned()),
            None => Rule::Equals(value.clone()),
        };
        (name.clone(), rule)
    };
    arguments.as_object().expect("arguments").iter().map(rule).collect()
}

/// The gate of an engine that was started in this environment.
fn gate(
    store: &Store,
    clock: &Arc<dyn Clock>,
    (tool, host, forgets): (&str, &str, Option<Forget>),
    variables: &Variables,
) -> Gate {
    let environment = variables.iter().cloned().collect();
    let command = CommandConfig { environment, ..CommandConfig::default() };
    let http = HttpConfig { allow_private_hosts: vec![host.to_owned()], ..HttpConfig::default() };
    let tools = builtin(ToolsConfig { command, http, ..ToolsConfig::default() });
    let of_proof = tools.into_iter().filter(|known| known.spec().name == tool);
    let tools: Vec<Arc<dyn Tool>> = match forgets {
        None => of_proof.collect(),
        Some(forgets) => of_proof.map(|inner| Forgetful::over(inner, forgets)).collect(),
    };
    Gate::new(ToolRegistry::new(tools).expect("a registry"), store.clone(), Arc::clone(clock))
}
