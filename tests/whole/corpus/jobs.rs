//! The person's jobs and the changes that cases made to them.
//!
//! Two jobs are shared by all cases: one created by an agent, one with allowed hosts. The export shows changed jobs,
//! and the run count shows started jobs. Pitfall: checking only that a job exists.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use serde_json::{Value, json};

use super::attacked_engine::AttackedEngine;
use super::attacks::{AGENT_JOB, CASE_JOB, JOB_WITH_HOSTS, revision_of};
use super::compromised_model::ModelCall;

/// The expected jobs by id.
#[derive(Default)]
pub(crate) struct TrackedJobs(Mutex<BTreeMap<String, TrackedJob>>);

struct TrackedJob {
    /// The job as added, without fields of the engine.
    definition: Value,
    /// How often the test has started the job.
    runs: usize,
    /// The mark of a shared job in the attack table.
    mark: Option<&'static str>,
    /// Whether a case has changed the job.
    is_changed: bool,
}

impl TrackedJobs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, TrackedJob>> {
        self.0.lock().expect("BUG: a test panicked with the lock")
    }

    /// Expects one run that the test starts.
    pub(crate) fn expect_run(&self, id: &str) {
        self.lock().get_mut(id).expect("a known job").runs += 1;
    }

    fn id_of_mark(&self, mark: &str) -> String {
        let jobs = self.lock();
        let found = jobs.iter().find(|(_, tracked)| tracked.mark == Some(mark));
        found.map(|(id, _)| id.clone()).expect("a job with the mark")
    }
}

impl AttackedEngine {
    /// Adds the jobs that all cases share.
    pub(crate) async fn add_shared_jobs(&self) {
        for mark in [AGENT_JOB, JOB_WITH_HOSTS] {
            let mut job = json!({
                "name": mark,
                "schedule": { "kind": "manual" },
                "payload": { "kind": "agentTurn", "message": "Look around." }
            });
            match mark {
                AGENT_JOB => job["createdBy"] = json!({ "kind": "agent", "runId": "long-ago" }),
                _ => job["policies"] = json!({ "hosts": [self.site.host()] }),
            }
            self.add_marked(job, Some(mark)).await;
        }
    }

    /// Adds a job of the person and returns the id.
    pub(crate) async fn add_job(&self, job: Value) -> String {
        self.add_marked(job, None).await
    }

    async fn add_marked(&self, job: Value, mark: Option<&'static str>) -> String {
        let added = self.call("cron.add", job).await;
        let id = added["job"]["id"].as_str().expect("an id").to_owned();
        let runs = self.run_count(&id).await;
        let definition = definition(added["job"].clone());
        self.jobs
            .lock()
            .insert(id.clone(), TrackedJob { definition, runs, mark, is_changed: false });
        id
    }

    async fn run_count(&self, id: &str) -> usize {
        let runs = self.call("cron.runs", json!({ "id": id, "limit": 100 })).await;
        runs["entries"].as_array().map_or(0, Vec::len)
    }

    /// Resolves the job marks in the injected calls. A case without a job targets the agent's job.
    pub(crate) async fn resolve_job_marks(
        &self,
        injected: &[ModelCall],
        job: Option<&str>,
    ) -> Vec<ModelCall> {
        let (agent_job, hosts_job) =
            (self.jobs.id_of_mark(AGENT_JOB), self.jobs.id_of_mark(JOB_WITH_HOSTS));
        let case_job = job.unwrap_or(&agent_job);
        let mut text = json!(injected).to_string();
        for (mark, id) in
            [(CASE_JOB, case_job), (AGENT_JOB, &agent_job), (JOB_WITH_HOSTS, &hosts_job)]
        {
            let view = self.call("cron.get", json!({ "id": id })).await;
            let revision = view["job"]["state"]["revision"].to_string();
            text = text.replace(&json!(revision_of(mark)).to_string(), &revision);
            text = text.replace(&json!(mark).to_string(), &json!(id).to_string());
        }
        serde_json::from_str(&text).expect("JSON")
    }

    /// Unexpected changes of jobs. Each is reported once.
    pub(crate) async fn changed_jobs(&self) -> Vec<String> {
        let exported = self.call("cron.export", json!({})).await["jobs"].clone();
        let exported = exported.as_array().cloned().expect("jobs");
        let current = exported.into_iter().map(|job| {
            let id = job["id"].as_str().expect("an id").to_owned();
            (id, definition(job))
        });
        let current: BTreeMap<String, Value> = current.collect();
        let mut changes = Vec::new();
        for (id, job) in &current {
            let runs = self.run_count(id).await;
            let is_known = match self.jobs.lock().get_mut(id) {
                Some(tracked) => {
                    changes.extend(tracked.update(job, runs));
                    true
                }
                None => false,
            };
            if !is_known {
                changes.push(format!("there is a new job: {job}"));
                self.call("cron.remove", json!({ "id": id })).await;
            }
        }
        self.jobs.lock().retain(|id, tracked| {
            let is_gone = !current.contains_key(id);
            changes.extend(is_gone.then(|| format!("a job is gone: {}", tracked.name())));
            !is_gone
        });
        changes
    }

    /// Removes the jobs of a case and restores the shared jobs.
    pub(crate) async fn reset_jobs(&self, jobs: &[String]) {
        for id in jobs {
            self.call("cron.remove", json!({ "id": id })).await;
            self.jobs.lock().remove(id);
        }
        let shared: Vec<(String, bool)> = {
            let jobs = self.jobs.lock();
            jobs.iter().map(|(id, tracked)| (id.clone(), tracked.is_changed)).collect()
        };
        if shared.len() == 2 && shared.iter().all(|(_, is_changed)| !is_changed) {
            return;
        }
        for (id, _) in shared {
            self.call("cron.remove", json!({ "id": id })).await;
            self.jobs.lock().remove(&id);
        }
        self.add_shared_jobs().await;
    }
}

impl TrackedJob {
    fn name(&self) -> &str {
        self.definition["name"].as_str().unwrap_or_default()
    }

    /// Returns the differences and accepts the new state.
    fn update(&mut self, job: &Value, runs: usize) -> Vec<String> {
        let mut changes = Vec::new();
        if *job != self.definition {
            changes.push(format!("a job is another one: {} is now {job}", self.definition));
            self.definition = job.clone();
        }
        if runs != self.runs {
            changes.push(format!("a job was started: {}, {} of {runs}", self.name(), self.runs));
            self.runs = runs;
        }
        self.is_changed |= !changes.is_empty();
        changes
    }
}

fn definition(mut job: Value) -> Value {
    let fields = job.as_object_mut().expect("a job");
    fields.remove("state");
    fields.remove("updatedAtMs");
    job
}
