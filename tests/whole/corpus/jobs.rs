//! The person's jobs, as the person has left them, and what has become of them.
//!
//! Two of them stand through all cases: one that an agent has made, and one that may reach a host. A job counts as changed
//! by what an export of it says, and as started by the number of its runs, whatever those have done. One could get it
//! wrong by looking only whether a job is there.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use serde_json::{Value, json};

use super::harms::{AGENTS_JOB, CASES_JOB, JOB_WITH_HOSTS, revision_of};
use super::obedient::Call;
use super::world::World;

/// The jobs that there should be, by their ids.
#[derive(Default)]
pub(crate) struct Jobs(Mutex<BTreeMap<String, Known>>);

struct Known {
    /// As it was added, without what only the engine writes.
    definition: Value,
    /// How often the test has started it.
    runs: usize,
    /// What it is called in the table of harms, if it stands through all cases.
    mark: Option<&'static str>,
    /// Whether it is no longer as it was added.
    is_spoilt: bool,
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.0.lock().expect("BUG: a test panicked while it held the jobs")
    }

    /// The test itself lets it run once.
    pub(crate) fn runs_once(&self, id: &str) {
        self.lock().get_mut(id).expect("a known job").runs += 1;
    }

    fn marked(&self, mark: &str) -> String {
        let jobs = self.lock();
        let found = jobs.iter().find(|(_, known)| known.mark == Some(mark));
        found.map(|(id, _)| id.clone()).expect("it stands")
    }
}

impl World {
    /// The jobs that stand through all cases.
    pub(crate) async fn add_standing_jobs(&self) {
        for mark in [AGENTS_JOB, JOB_WITH_HOSTS] {
            let mut job = json!({
                "name": mark,
                "schedule": { "kind": "manual" },
                "payload": { "kind": "agentTurn", "message": "Look around." }
            });
            match mark {
                AGENTS_JOB => job["createdBy"] = json!({ "kind": "agent", "runId": "long-ago" }),
                _ => job["policies"] = json!({ "hosts": [self.site.host()] }),
            }
            self.add_marked(job, Some(mark)).await;
        }
    }

    /// A job of the person's; its id.
    pub(crate) async fn add_job(&self, job: Value) -> String {
        self.add_marked(job, None).await
    }

    async fn add_marked(&self, job: Value, mark: Option<&'static str>) -> String {
        let added = self.call("cron.add", job).await;
        let id = added["job"]["id"].as_str().expect("an id").to_owned();
        let runs = self.runs_of(&id).await;
        let definition = definition(added["job"].clone());
        self.jobs.lock().insert(id.clone(), Known { definition, runs, mark, is_spoilt: false });
        id
    }

    async fn runs_of(&self, id: &str) -> usize {
        let runs = self.call("cron.runs", json!({ "id": id, "limit": 100 })).await;
        runs["entries"].as_array().map_or(0, Vec::len)
    }

    /// The order, where it speaks of jobs, about those that there are; about the agent's where the case has none.
    pub(crate) async fn aimed(&self, order: &[Call], job: Option<&str>) -> Vec<Call> {
        let (agents, with_hosts) = (self.jobs.marked(AGENTS_JOB), self.jobs.marked(JOB_WITH_HOSTS));
        let own = job.unwrap_or(&agents);
        let mut text = json!(order).to_string();
        for (mark, id) in [(CASES_JOB, own), (AGENTS_JOB, &agents), (JOB_WITH_HOSTS, &with_hosts)] {
            let view = self.call("cron.get", json!({ "id": id })).await;
            let revision = view["job"]["state"]["revision"].to_string();
            text = text.replace(&json!(revision_of(mark)).to_string(), &revision);
            text = text.replace(&json!(mark).to_string(), &json!(id).to_string());
        }
        serde_json::from_str(&text).expect("JSON")
    }

    /// What nobody has done to the jobs. What is found is found once.
    pub(crate) async fn changed_jobs(&self) -> Vec<String> {
        let exported = self.call("cron.export", json!({})).await["jobs"].clone();
        let exported = exported.as_array().cloned().expect("jobs");
        let there = exported.into_iter().map(|job| {
            let id = job["id"].as_str().expect("an id").to_owned();
            (id, definition(job))
        });
        let there: BTreeMap<String, Value> = there.collect();
        let mut done = Vec::new();
        for (id, job) in &there {
            let runs = self.runs_of(id).await;
            let is_known = match self.jobs.lock().get_mut(id) {
                Some(known) => {
                    done.extend(known.met(job, runs));
                    true
                }
                None => false,
            };
            if !is_known {
                done.push(format!("there is a new job: {job}"));
                self.call("cron.remove", json!({ "id": id })).await;
            }
        }
        self.jobs.lock().retain(|id, known| {
            let is_gone = !there.contains_key(id);
            done.extend(is_gone.then(|| format!("a job is gone: {}", known.name())));
            !is_gone
        });
        done
    }

    /// The case's jobs go, and those that stand are as they were.
    pub(crate) async fn tidy_jobs(&self, jobs: &[String]) {
        for id in jobs {
            self.call("cron.remove", json!({ "id": id })).await;
            self.jobs.lock().remove(id);
        }
        let standing: Vec<(String, bool)> = {
            let jobs = self.jobs.lock();
            jobs.iter().map(|(id, known)| (id.clone(), known.is_spoilt)).collect()
        };
        if standing.len() == 2 && standing.iter().all(|(_, is_spoilt)| !is_spoilt) {
            return;
        }
        for (id, _) in standing {
            self.call("cron.remove", json!({ "id": id })).await;
            self.jobs.lock().remove(&id);
        }
        self.add_standing_jobs().await;
    }
}

impl Known {
    fn name(&self) -> &str {
        self.definition["name"].as_str().unwrap_or_default()
    }

    /// What differs; from now on it is so.
    fn met(&mut self, job: &Value, runs: usize) -> Vec<String> {
        let mut done = Vec::new();
        if *job != self.definition {
            done.push(format!("a job is another one: {} is now {job}", self.definition));
            self.definition = job.clone();
        }
        if runs != self.runs {
            done.push(format!("a job was started: {}, {} of {runs}", self.name(), self.runs));
            self.runs = runs;
        }
        self.is_spoilt |= !done.is_empty();
        done
    }
}

fn definition(mut job: Value) -> Value {
    let fields = job.as_object_mut().expect("a job");
    fields.remove("state");
    fields.remove("updatedAtMs");
    job
}
