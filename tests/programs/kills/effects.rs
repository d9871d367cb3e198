//! What an agent's run has done, as it is on record where no kill reaches, and what its model was told of it.
//!
//! Owns the judgement: no effect is there twice, what was told to be done is there, what nobody knows was told as that,
//! and one yes let one call through. It knows nothing of kills; a test of its own feeds it what it must refuse.

use std::collections::HashMap;
use std::fs;

use rouse_testkit::fake_model::FakeModel;
use serde_json::{Value, json};

use crate::engine::Engine;

/// What the person is told by the run.
pub(super) const NOTE: &str = "The line is written.";
/// What it keeps in its memory.
pub(super) const LINE: &str = "a line\n";
/// What the report says.
pub(super) const REPORT: &str = "one report\n";
/// The job that the agent makes.
pub(super) const ROUTINE: &str = "Tea";
/// The name that it gives a job.
pub(super) const RENAMED: &str = "Coffee";
/// Where the command says that it has done its work, if somebody wants to hear of it.
pub(super) const PIPE: &str = "told";
/// Adds a line, however often it is run. It waits only for somebody who has made the pipe.
pub(super) const COMMAND: &str =
    "echo mark >> ledger.txt; if [ -p told ]; then echo done > told; sleep 600; fi";

/// How often each tool may have done its work, and did.
#[derive(Debug, Clone)]
pub(super) struct Effects {
    /// The final states of the runs, and the attempt of each.
    runs: Vec<(String, u64)>,
    /// By tool.
    done: HashMap<&'static str, usize>,
    /// What the model was told last of each of its calls, by tool.
    told: HashMap<String, Vec<String>>,
    /// The calls that a yes let through, by tool and question.
    let_through: Vec<(String, String)>,
    /// The questions and their states, by tool.
    asked: Vec<(String, String)>,
}

impl Effects {
    /// What has come of the run, by its model and by whom it has sent something to.
    pub(super) async fn of(
        engine: &Engine<'_>,
        (model, sink): (&FakeModel, &FakeModel),
        run: Option<Value>,
    ) -> Self {
        let workspace = engine.home.data().join("workspace");
        let text = |path: &str| fs::read_to_string(workspace.join(path)).unwrap_or_default();
        let jobs = engine.call("cron.list", json!({ "includeDisabled": true })).await;
        let jobs = jobs["jobs"].as_array().cloned().unwrap_or_default();
        let job = |id: &str| jobs.iter().find(|job| job["job"]["id"] == id);
        // A run that makes up for one that was cut off is the same start.
        let fired = engine.runs("fired").await;
        let fired = fired.iter().filter(|run| run["retryOf"].is_null()).count();
        // Each change of a job gives it another revision.
        let changed = job("changed").map_or(0, |job| revision(job) - 1);
        // Before the run there may be only some of the jobs, and it is asked for when all are there.
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
            told: told(model),
            let_through: Vec::new(),
            asked: Vec::new(),
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
        let notes = list("deliveries").iter().filter(|told| told["body"] == NOTE).count();
        self.done.insert("notify", notes);
        for step in list("steps") {
            if step["gate"]["decision"] == "answered" {
                self.let_through.push((word(&step["name"]), word(&step["gate"]["approvalId"])));
            }
        }
        for asked in list("approvals") {
            self.asked.push((word(&asked["tool"]), word(&asked["state"])));
        }
    }

    /// That all is in order; what is not, if not.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.runs.is_empty()
            && let Some((tool, done)) = self.done.iter().find(|(_, done)| **done > 0)
        {
            return Err(format!("{tool} has done its work {done} times, and there is no run"));
        }
        for (state, _) in &self.runs {
            if state != "succeeded" {
                return Err(format!("the run has {state}"));
            }
        }
        for (tool, done) in &self.done {
            if *done > 1 {
                return Err(format!("{tool} has done its work {done} times"));
            }
        }
        for (tool, told) in &self.told {
            let done = self.done.get(tool.as_str()).copied().unwrap_or(0);
            let [told] = told.as_slice() else {
                return Err(format!("{tool} was called {} times by the model", told.len()));
            };
            if done == 0 && !is_unknown(told) {
                return Err(format!("{tool} has done nothing, and the model was told: {told}"));
            }
        }
        for (place, (tool, question)) in self.let_through.iter().enumerate() {
            if self.let_through[..place].iter().any(|(_, other)| other == question) {
                return Err(format!("one yes let two calls of {tool} through"));
            }
        }
        match self.asked.iter().find(|(_, state)| state != "approved") {
            Some((tool, state)) => Err(format!("a question of {tool} is {state} at the end")),
            None => Ok(()),
        }
    }

    /// Whether the run was there, and did all that it was to do.
    pub(super) fn is_whole(&self) -> bool {
        !self.runs.is_empty()
            && self.told.len() >= 3
            && self.told.keys().all(|tool| self.done.get(tool.as_str()) == Some(&1))
            && !self.knows_not()
    }

    /// Whether another attempt went on with what one had begun.
    pub(super) fn went_on(&self) -> bool {
        self.runs.iter().any(|(_, attempt)| *attempt > 1)
    }

    /// Whether the model was told that nobody knows the outcome of a call.
    pub(super) fn knows_not(&self) -> bool {
        self.told.values().flatten().any(|told| is_unknown(told))
    }

    /// How often the person was asked about this tool.
    pub(super) fn questions(&self, tool: &str) -> usize {
        self.asked.iter().filter(|(asked, _)| asked == tool).count()
    }

    /// How often the command has done its work.
    pub(super) fn ledger(&self) -> usize {
        self.done["run_command"]
    }
}

fn revision(job: &Value) -> usize {
    job["job"]["state"]["revision"].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or(0)
}

fn is_unknown(told: &str) -> bool {
    told.contains("nobody knows whether it did its work")
}

/// What the last request says of each call.
fn told(server: &FakeModel) -> HashMap<String, Vec<String>> {
    let mut told: HashMap<String, Vec<String>> = HashMap::new();
    let last = server.bodies().pop().unwrap_or_default();
    let messages = last["messages"].as_array().cloned().unwrap_or_default();
    let mut tools = HashMap::new();
    for message in messages {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            tools.insert(call["id"].to_string(), call["function"]["name"].clone());
        }
        if let Some(tool) = tools.get(&message["tool_call_id"].to_string()) {
            let tool = tool.as_str().unwrap_or_default().to_owned();
            told.entry(tool).or_default().push(message["content"].to_string());
        }
    }
    told
}

/// A run that is in order, and what must not pass for one.
#[test]
fn a_run_with_effects_that_are_not_in_order_is_refused() {
    let whole = || Effects {
        runs: vec![("succeeded".to_owned(), 2)],
        done: HashMap::from([
            ("run_command", 1),
            ("notify", 1),
            ("memory_write", 1),
            ("write_file", 1),
        ]),
        told: ["run_command", "notify", "memory_write", "write_file"]
            .map(|tool| (tool.to_owned(), vec!["Done.".to_owned()]))
            .into(),
        let_through: vec![("run_command".to_owned(), "q1".to_owned())],
        asked: vec![("run_command".to_owned(), "approved".to_owned())],
    };
    assert_eq!(whole().check(), Ok(()));
    assert!(whole().is_whole() && whole().went_on() && !whole().knows_not());
    type Spoil = fn(&mut Effects);
    let spoiled: [(&str, Spoil); 8] = [
        ("and there is no run", |run| run.runs.clear()),
        ("the run has failed", |run| run.runs[0].0 = "failed".to_owned()),
        ("notify has done its work 2 times", |run| {
            run.done.insert("notify", 2);
        }),
        ("run_command has done nothing", |run| {
            run.done.insert("run_command", 0);
        }),
        ("called 2 times", |run| {
            run.told.get_mut("notify").expect("there").push("Done.".to_owned());
        }),
        ("called 0 times", |run| run.told.get_mut("notify").expect("there").clear()),
        ("one yes let two", |run| run.let_through.push(run.let_through[0].clone())),
        ("is pending at the end", |run| run.asked[0].1 = "pending".to_owned()),
    ];
    for (words, spoil) in spoiled {
        let mut run = whole();
        spoil(&mut run);
        let why = run.check().expect_err(words);
        assert!(why.contains(words), "`{words}` is not in: {why}");
    }
}
