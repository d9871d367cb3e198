//! The effects of an agent run on records that no kill reaches, and the results that the model received.
//!
//! Owns the verdict: no effect is repeated, reported effects exist, unknown outcomes are reported as unknown, and one
//! approval executes one call. A unit test feeds it with defects.

use std::collections::HashMap;
use std::fs;

use rouse_testkit::fake_model::FakeModel;
use serde_json::{Value, json};

use crate::engine::EngineProcess;

/// The text of the notification.
pub(super) const NOTE: &str = "The line is written.";
/// The line of the memory note.
pub(super) const LINE: &str = "a line\n";
/// The content of the report file.
pub(super) const REPORT: &str = "one report\n";
/// The name of the created job.
pub(super) const ROUTINE: &str = "Tea";
/// The new name of the changed job.
pub(super) const RENAMED: &str = "Coffee";
/// The pipe on which the command reports the completion.
pub(super) const PIPE: &str = "completed";
/// Appends a line at each execution. Waits only if the pipe exists.
pub(super) const COMMAND: &str =
    "echo mark >> ledger.txt; if [ -p completed ]; then echo done > completed; sleep 600; fi";

/// The effects of a run.
#[derive(Debug, Clone)]
pub(super) struct RunEffects {
    /// Final state and attempt of each run.
    runs: Vec<(String, u64)>,
    /// Effects by tool.
    done: HashMap<&'static str, usize>,
    /// The last results that the model received, by tool.
    results: HashMap<String, Vec<String>>,
    /// Executed calls with an approval: tool and approval id.
    executed_approvals: Vec<(String, String)>,
    /// Approvals: tool and state.
    approvals: Vec<(String, String)>,
}

impl RunEffects {
    /// Collects the effects of the run from the model and the egress target.
    pub(super) async fn collect(
        engine: &EngineProcess<'_>,
        (model, sink): (&FakeModel, &FakeModel),
        run: Option<Value>,
    ) -> Self {
        let workspace = engine.home.data().join("workspace");
        let text = |path: &str| fs::read_to_string(workspace.join(path)).unwrap_or_default();
        let jobs = engine.call("cron.list", json!({ "includeDisabled": true })).await;
        let jobs = jobs["jobs"].as_array().cloned().unwrap_or_default();
        let job = |id: &str| jobs.iter().find(|job| job["job"]["id"] == id);
        // A retry of an interrupted run has the same start.
        let fired = engine.runs("fired").await;
        let fired = fired.iter().filter(|run| run["retryOf"].is_null()).count();
        // Every change of a job increments its revision.
        let changed = job("changed").map_or(0, |job| revision(job) - 1);
        // Before the run some jobs may not exist yet.
        let is_gone = run.is_some() && job("gone").is_none();
        let mut found = Self {
            runs: Vec::new(),
            done: HashMap::from([
                ("memory_write", text("memory/log.md").lines().count()),
                ("run_command", text("ledger.txt").lines().count()),
                ("write_file", usize::from(text("report.md") == REPORT)),
                ("http", sink.requests().len()),
                ("routine_update", changed),
                ("routine_fire", fired),
                ("routine_delete", usize::from(is_gone)),
                ("routine_create", jobs.iter().filter(|job| job["job"]["name"] == ROUTINE).count()),
            ]),
            results: tool_results(model),
            executed_approvals: Vec::new(),
            approvals: Vec::new(),
        };
        if let Some(run) = run {
            let detail = engine.call("runs.get", json!({ "id": run["id"] })).await;
            found.read(&run, &detail);
        }
        found
    }

    fn read(&mut self, run: &Value, detail: &Value) {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |key: &str| detail[key].as_array().cloned().unwrap_or_default();
        self.runs.push((word(&run["state"]), run["attempt"].as_u64().unwrap_or(0)));
        let notes = list("deliveries").iter().filter(|delivery| delivery["body"] == NOTE).count();
        self.done.insert("notify", notes);
        for step in list("steps") {
            if step["gate"]["decision"] == "approved" {
                self.executed_approvals
                    .push((word(&step["name"]), word(&step["gate"]["approvalId"])));
            }
        }
        for approval in list("approvals") {
            self.approvals.push((word(&approval["tool"]), word(&approval["state"])));
        }
    }

    /// Returns the first inconsistency.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.runs.is_empty()
            && let Some((tool, done)) = self.done.iter().find(|(_, done)| **done > 0)
        {
            return Err(format!("{tool} has executed {done} times, and there is no run"));
        }
        for (state, _) in &self.runs {
            if state != "succeeded" {
                return Err(format!("the run has {state}"));
            }
        }
        for (tool, done) in &self.done {
            if *done > 1 {
                return Err(format!("{tool} has executed {done} times"));
            }
        }
        for (tool, results) in &self.results {
            let done = self.done.get(tool.as_str()).copied().unwrap_or(0);
            let [result] = results.as_slice() else {
                return Err(format!("{tool} was called {} times by the model", results.len()));
            };
            if done == 0 && !is_unknown(result) {
                return Err(format!("{tool} has done nothing, and the model received: {result}"));
            }
        }
        for (index, (tool, approval)) in self.executed_approvals.iter().enumerate() {
            if self.executed_approvals[..index].iter().any(|(_, other)| other == approval) {
                return Err(format!("one approval executed two calls of {tool}"));
            }
        }
        match self.approvals.iter().find(|(_, state)| state != "approved") {
            Some((tool, state)) => Err(format!("an approval of {tool} is {state} at the end")),
            None => Ok(()),
        }
    }

    /// Whether the run exists with all effects.
    pub(super) fn is_complete(&self) -> bool {
        !self.runs.is_empty()
            && self.results.len() >= 3
            && self.results.keys().all(|tool| self.done.get(tool.as_str()) == Some(&1))
            && !self.has_unknown_outcome()
    }

    /// Whether a later attempt continued the run.
    pub(super) fn was_retried(&self) -> bool {
        self.runs.iter().any(|(_, attempt)| *attempt > 1)
    }

    /// Whether the model received an unknown outcome.
    pub(super) fn has_unknown_outcome(&self) -> bool {
        self.results.values().flatten().any(|result| is_unknown(result))
    }

    /// The number of approvals for this tool.
    pub(super) fn approval_count(&self, tool: &str) -> usize {
        self.approvals.iter().filter(|(name, _)| name == tool).count()
    }

    /// How often the command was executed.
    pub(super) fn command_count(&self) -> usize {
        self.done["run_command"]
    }
}

fn revision(job: &Value) -> usize {
    job["job"]["state"]["revision"]
        .as_u64()
        .and_then(|revision| usize::try_from(revision).ok())
        .unwrap_or(0)
}

fn is_unknown(result: &str) -> bool {
    result.contains("its outcome is unknown")
}

/// The result of each call in the last request.
fn tool_results(server: &FakeModel) -> HashMap<String, Vec<String>> {
    let mut results: HashMap<String, Vec<String>> = HashMap::new();
    let last = server.bodies().pop().unwrap_or_default();
    let messages = last["messages"].as_array().cloned().unwrap_or_default();
    let mut tools = HashMap::new();
    for message in messages {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            tools.insert(call["id"].to_string(), call["function"]["name"].clone());
        }
        if let Some(tool) = tools.get(&message["tool_call_id"].to_string()) {
            let tool = tool.as_str().unwrap_or_default().to_owned();
            results.entry(tool).or_default().push(message["content"].to_string());
        }
    }
    results
}

/// A consistent run, and the defects that must be found.
#[test]
fn inconsistent_effects_are_refused() {
    let consistent = || RunEffects {
        runs: vec![("succeeded".to_owned(), 2)],
        done: HashMap::from([
            ("run_command", 1),
            ("notify", 1),
            ("memory_write", 1),
            ("write_file", 1),
        ]),
        results: ["run_command", "notify", "memory_write", "write_file"]
            .map(|tool| (tool.to_owned(), vec!["Done.".to_owned()]))
            .into(),
        executed_approvals: vec![("run_command".to_owned(), "q1".to_owned())],
        approvals: vec![("run_command".to_owned(), "approved".to_owned())],
    };
    assert_eq!(consistent().check(), Ok(()));
    assert!(
        consistent().is_complete()
            && consistent().was_retried()
            && !consistent().has_unknown_outcome()
    );
    type Defect = fn(&mut RunEffects);
    let defects: [(&str, Defect); 8] = [
        ("and there is no run", |run| run.runs.clear()),
        ("the run has failed", |run| run.runs[0].0 = "failed".to_owned()),
        ("notify has executed 2 times", |run| {
            run.done.insert("notify", 2);
        }),
        ("run_command has done nothing", |run| {
            run.done.insert("run_command", 0);
        }),
        ("called 2 times", |run| {
            run.results.get_mut("notify").expect("there").push("Done.".to_owned());
        }),
        ("called 0 times", |run| run.results.get_mut("notify").expect("there").clear()),
        ("one approval executed two", |run| {
            run.executed_approvals.push(run.executed_approvals[0].clone())
        }),
        ("is pending at the end", |run| run.approvals[0].1 = "pending".to_owned()),
    ];
    for (text, introduce) in defects {
        let mut run = consistent();
        introduce(&mut run);
        let error = run.check().expect_err(text);
        assert!(error.contains(text), "`{text}` is not in: {error}");
    }
}
