//! A run with an approved call, and mutated calls of the same tool.
//!
//! Owns the store, the jobs, the runs, the grants and the gates. A mutated environment gets a new gate over the same
//! store, like a restarted engine. A gate may use a weak tool, so that the proof can fail.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{Gate, GateOutcome, GatedCall, RunPolicy, ToolRegistry};
use rouse_core::approval::{ApprovalDecision, ArgumentRule, DecisionSurface, GrantScope, NewGrant};
use rouse_core::call_progress::ProgressReporter;
use rouse_core::job::job_from_json;
use rouse_core::message::ToolCallRequest;
use rouse_core::policy::ToolPolicy;
use rouse_core::run::{Run, Usage};
use rouse_core::tool::{PendingCleanup, SandboxMode, Tool, ToolContext};
use rouse_core::{Clock, JobId, RunId, RunState, RunTrigger, UnixMs};
use rouse_store::{ParkRequest, Store};
use rouse_testkit::ManualClock;
use rouse_tools::{CommandConfig, HttpConfig, ToolsConfig, builtin};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::mutations::os_string;
use super::weak_tool::{WeakTool, Weaken};

pub(super) const NOW: UnixMs = UnixMs(1_795_251_600_000);

/// The only host of the approved call, unless the proof has a server.
pub(super) const HOST: &str = "a.example";

/// An environment: names and values.
pub(super) type Variables = Vec<(OsString, OsString)>;

/// What allows the call any number of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowance {
    /// An approval for the run.
    Run,
    /// A grant of the job for exactly this call.
    Job,
    /// A grant of the job for every path in the same folder.
    Folder,
}

/// The call to approve.
#[derive(Clone, Copy)]
pub(super) struct CallPlan<'p> {
    pub(super) tool: &'static str,
    pub(super) arguments: &'p Value,
    pub(super) allowance: Allowance,
    /// Another call of the same tool with a separate grant.
    pub(super) neighbour: Option<&'p Value>,
    /// The allowed host of the job.
    pub(super) host: &'p str,
    /// The part that the weak tool leaves out of the fingerprint.
    pub(super) weaken: Option<Weaken>,
}

impl<'p> CallPlan<'p> {
    pub(super) const fn new(
        tool: &'static str,
        arguments: &'p Value,
        allowance: Allowance,
    ) -> Self {
        Self { tool, arguments, allowance, neighbour: None, host: HOST, weaken: None }
    }
}

/// A run with an approved call.
pub(super) struct ApprovedRun {
    store: Store,
    clock: Arc<dyn Clock>,
    tool: &'static str,
    host: String,
    weaken: Option<Weaken>,
    gate: Gate,
    pub(super) arguments: Value,
    pub(super) context: ToolContext,
    pub(super) variables: Variables,
    pub(super) workspace: PathBuf,
    _folder: TempDir,
}

/// A mutation of the approved call.
pub(super) struct MutatedCall {
    pub(super) arguments: Value,
    pub(super) context: ToolContext,
    /// The environment of a restarted engine.
    pub(super) variables: Option<Variables>,
}

/// A sandboxed command gets all of these variables. Some are not UTF-8.
fn variables() -> Variables {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let variables: [(&[u8], &[u8]); 6] = [
        (b"LANG", b"de_DE.UTF-8"),
        (b"LANGUAGE", "de:fr:größer".as_bytes()),
        (b"TZ", b"Europe/Berlin"),
        (b"LC_PAPER", b"caf\xe9"),
        (b"LC_\xe9", b"x"),
        (b"USER", b"me"),
    ];
    let variables = variables.map(|(name, value)| (os_string(name), os_string(value)));
    [(OsString::from("PATH"), path)].into_iter().chain(variables).collect()
}

impl ApprovedRun {
    /// Approves the call of `plan` in a workspace after `prepare`.
    pub(super) async fn approve(plan: CallPlan<'_>, prepare: impl Fn(&Path)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = folder.path().join("workspace");
        fs::create_dir(&workspace).expect("made");
        let workspace = workspace.canonicalize().expect("there");
        prepare(&workspace);
        let file = folder.path().join("rouse.db");
        let store = Store::open(&file, Arc::new(|_| {})).await.expect("a store");
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(NOW));
        let variables = variables();
        let gate = gate(&store, &clock, (plan.tool, plan.host, plan.weaken), &variables);
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
            requested_at: None,
            pending_cleanup: PendingCleanup::default(),
            searchable_tools: Arc::default(),
            progress: ProgressReporter::default(),
        };
        let mut approved = Self {
            store,
            clock,
            tool: plan.tool,
            host: plan.host.to_owned(),
            weaken: plan.weaken,
            gate,
            arguments: plan.arguments.clone(),
            context,
            variables,
            workspace,
            _folder: folder,
        };
        approved.start_runs(plan).await;
        approved
    }

    /// Adds two jobs with the same call and approves a run of the first.
    async fn start_runs(&mut self, plan: CallPlan<'_>) {
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
            self.allow(neighbour, Allowance::Job).await;
        }
        self.context.run_id = RunId::new("run-1");
        self.allow(plan.arguments, plan.allowance).await;
        if plan.allowance != Allowance::Run {
            self.context.run_id = RunId::new("run-2");
        }
    }

    /// Parks the run, decides the approval and resumes the run.
    async fn allow(&self, arguments: &Value, allowance: Allowance) {
        let outcome = self.call(&self.gate, arguments, &self.context).await;
        let GateOutcome::NeedsApproval(pending) = outcome else {
            panic!("the call ran without an approval: {outcome:?}")
        };
        let approval = pending.approval;
        let (id, run_id) = (approval.id.clone(), approval.run_id.clone());
        let decision = match allowance {
            Allowance::Run => ApprovalDecision::Run,
            Allowance::Job => always(GrantScope::exact_call(&approval)),
            Allowance::Folder => always(GrantScope::matching(&approval, folder_rules(arguments))),
        };
        let (approvals, usage) = (vec![approval], Usage::default());
        let park = ParkRequest {
            run_id: run_id.clone(),
            approvals,
            usage,
            worked_ms: 0,
            deliveries: vec![],
            now: NOW,
        };
        self.store.park_run(&park).await.expect("parked").expect("a run");
        self.store
            .decide_approval(&id, &decision, DecisionSurface::Page, NOW)
            .await
            .expect("decided");
        self.store.start_runs(&[run_id], NOW).await.expect("started");
    }

    /// The context of a run without the approval: of another job, or another run of the job.
    pub(super) fn other_context(&self, is_of_job: bool) -> ToolContext {
        let (run, job) = if is_of_job { ("run-2", "job-1") } else { ("run-3", "job-2") };
        let (run_id, job_id) = (RunId::new(run), Some(JobId::new(job)));
        ToolContext { run_id, job_id, ..self.context.clone() }
    }

    async fn call(&self, gate: &Gate, arguments: &Value, context: &ToolContext) -> GateOutcome {
        let (id, tool) = ("c".to_owned(), self.tool.to_owned());
        let request = ToolCallRequest { id, tool, arguments: arguments.clone() };
        let policy = ToolPolicy::for_tools(None);
        let approval_timeout = Duration::from_secs(1_800);
        let run_policy = RunPolicy {
            budgets: None,
            tools: policy,
            approval_timeout,
            is_tainted: false,
            rate_limit_wait: std::time::Duration::ZERO,
        };
        let cancel = CancellationToken::new();
        gate.call(&run_policy, &request, context, &cancel).await.expect("a journal")
    }

    /// The approved call without a change.
    pub(super) fn unchanged_call(&self) -> MutatedCall {
        let (arguments, context) = (self.arguments.clone(), self.context.clone());
        MutatedCall { arguments, context, variables: None }
    }

    /// Calls the gate with a mutation and reports an executed call.
    pub(super) async fn try_mutation(&self, mutation: &MutatedCall) -> Option<String> {
        let options = (self.tool, self.host.as_str(), self.weaken);
        let restarted = mutation.variables.as_ref();
        let restarted =
            restarted.map(|variables| gate(&self.store, &self.clock, options, variables));
        let gate = restarted.as_ref().unwrap_or(&self.gate);
        match self.call(gate, &mutation.arguments, &mutation.context).await {
            GateOutcome::Called(called) if called.reached_tool => {
                Some(format!("{} was executed: {called:?}", mutation.arguments))
            }
            GateOutcome::Called(_) | GateOutcome::NeedsApproval(_) => None,
        }
    }

    /// The outcome of the approved call after a restart in the same environment.
    pub(super) async fn outcome(&self) -> GateOutcome {
        let options = (self.tool, self.host.as_str(), self.weaken);
        let gate = gate(&self.store, &self.clock, options, &self.variables);
        self.call(&gate, &self.arguments, &self.context).await
    }

    pub(super) async fn call_approved(&self) -> GatedCall {
        match self.outcome().await {
            GateOutcome::Called(called) => *called,
            GateOutcome::NeedsApproval(pending) => {
                panic!("the approved call needs another approval: {pending:?}")
            }
        }
    }

    /// Revokes all grants.
    pub(super) async fn revoke(&self) {
        for grant in self.store.grants().await.expect("grants") {
            self.store.revoke_grant(&grant.id, NOW).await.expect("revoked");
        }
    }
}

fn always(covers: GrantScope) -> ApprovalDecision {
    ApprovalDecision::Always(NewGrant { covers, expires_at: None, uses: None })
}

/// Rules for the same call with any path in the same folder.
fn folder_rules(arguments: &Value) -> BTreeMap<String, ArgumentRule> {
    let rule = |(name, value): (&String, &Value)| {
        let path = value.as_str().filter(|_| name == "path");
        let folder = path.and_then(|path| path.rsplit_once('/'));
        let rule = match folder {
            Some((folder, _)) => ArgumentRule::Below(folder.to_owned()),
            None => ArgumentRule::Equals(value.clone()),
        };
        (name.clone(), rule)
    };
    arguments.as_object().expect("arguments").iter().map(rule).collect()
}

/// The gate of an engine in this environment.
fn gate(
    store: &Store,
    clock: &Arc<dyn Clock>,
    (tool, host, weaken): (&str, &str, Option<Weaken>),
    variables: &Variables,
) -> Gate {
    let environment = variables.iter().cloned().collect();
    let command = CommandConfig { environment, ..CommandConfig::default() };
    let http = HttpConfig { allow_private_hosts: vec![host.to_owned()], ..HttpConfig::default() };
    let tools = builtin(ToolsConfig { command, http, ..ToolsConfig::default() });
    let with_name = tools.into_iter().filter(|candidate| candidate.spec().name == tool);
    let tools: Vec<Arc<dyn Tool>> = match weaken {
        None => with_name.collect(),
        Some(weaken) => with_name.map(|inner| WeakTool::over(inner, weaken)).collect(),
    };
    Gate::new(ToolRegistry::new(tools).expect("a registry"), store.clone(), Arc::clone(clock))
}
