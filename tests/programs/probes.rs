//! An engine with something to lose, and every method with parameters that would work.

use rouse_gateway::METHODS;
use rouse_testkit::fake_model::{FakeModel, Reply};
use serde_json::{Value, json};

use crate::asks::{calling, question, settings_of};
use crate::engine::{Engine, Home};

/// An engine that has jobs, a run, a delivery and settings.
pub(crate) struct Stage<'h> {
    pub(crate) engine: Engine<'h>,
    job: String,
    spare_job: String,
    webhook: String,
    run: String,
    delivery: String,
    question: String,
    skill_digest: String,
    _model: FakeModel,
    /// A provider that lists one model.
    provider: FakeModel,
}

impl<'h> Stage<'h> {
    pub(crate) async fn set(home: &'h Home) -> Self {
        let model = calling(vec![("write_file", json!({ "path": "a.md", "content": "a" }))]);
        home.write_config(&settings_of(&model));
        let provider = FakeModel::start(|_| Reply::json(200, r#"{"data":[{"id":"m-1"}]}"#));
        let skill = home.data().join("skills/installed/fetch");
        std::fs::create_dir_all(&skill).expect("a folder");
        let text = "---\nname: fetch\ndescription: About it.\n---\nFetch it.\n";
        std::fs::write(skill.join("SKILL.md"), text).expect("a file");
        let engine = home.serve().await;
        let skills = engine.call("skills.list", json!({})).await;
        let skill_digest = skills["skills"][0]["digest"].as_str().expect("a digest").to_owned();
        let job = engine.add(echo("Kept")).await;
        let spare_job = engine.add(echo("Spare")).await;
        let mut hooked = echo("Hooked");
        hooked["schedule"] = json!({ "kind": "webhook" });
        let webhook = engine.add(hooked).await;
        let run = engine.run_now(&job).await;
        let delivery = engine.until(async |engine| settled_delivery(engine, &run).await).await;
        let asks = engine.add(ask("Write it.")).await;
        let waits = engine.run_now(&asks).await;
        engine.until(async |engine| settled_delivery(engine, &waits).await).await;
        let question = question(&engine).await["id"].as_str().expect("an id").to_owned();
        Self {
            engine,
            job,
            spare_job,
            webhook,
            run,
            delivery,
            question,
            skill_digest,
            _model: model,
            provider,
        }
    }

    /// Every method, as a request that does its work when it is let in.
    pub(crate) fn requests(&self) -> Vec<(&'static str, Value)> {
        METHODS.iter().map(|method| (*method, rpc(method, &self.params(method)))).collect()
    }

    fn server(&self) -> Value {
        let base_url = format!("{}/v1", self.provider.url());
        json!({ "name": "guessed", "kind": "openai", "baseUrl": base_url })
    }

    fn params(&self, method: &str) -> Value {
        match method {
            "wake" => json!({ "text": "let me in", "mode": "next-heartbeat" }),
            "set-heartbeats" => json!({ "enabled": false }),
            "cron.add" => echo("Added"),
            "cron.check" => json!({ "job": echo("Checked") }),
            "cron.update" => json!({ "id": self.job, "patch": { "name": "Renamed" } }),
            "cron.remove" => json!({ "id": self.spare_job }),
            "cron.run" => json!({ "id": self.job, "mode": "force" }),
            "cron.get" | "cron.runs" | "tools.effective" => json!({ "id": self.job }),
            "cron.preview" | "cron.estimate" => {
                json!({ "schedule": { "kind": "every", "everyMs": 60_000 } })
            }
            "cron.import" => json!({ "text": json!([echo("Imported")]).to_string() }),
            "cron.webhook" => json!({ "id": self.webhook, "rotate": true }),
            "cron.tryCondition" => json!({ "id": self.job, "cel": "result != null" }),
            "cron.ledger" => json!({ "id": self.job }),
            "tools.try" => json!({ "tool": "echo", "arguments": { "text": "let me in" } }),
            "runs.await" => json!({ "id": self.run, "by": "guessed" }),
            "runs.get" | "runs.cancel" | "runs.seen" | "runs.retry" => json!({ "id": self.run }),
            "approvals.get" => json!({ "id": self.question }),
            "approvals.decide" => {
                json!({ "id": self.question, "answer": { "kind": "once" }, "from": "cli" })
            }
            "grants.revoke" => json!({ "id": "guessed" }),
            "chat.send" => json!({ "text": "let me in" }),
            "sessions.get" => json!({ "key": "main" }),
            // The message that `chat.send` has written may still be answered.
            "sessions.clear" => json!({ "key": "cron:guessed" }),
            "secrets.set" => {
                json!({ "name": "key", "value": "guessed-value", "hosts": ["example.org"] })
            }
            "secrets.remove" => json!({ "name": "key" }),
            "skills.trust" => json!({ "name": "fetch", "digest": self.skill_digest }),
            // Where no list is, none is what was looked at.
            "heartbeat.trust" => json!({ "digest": "" }),
            "skills.distrust" => json!({ "name": "fetch" }),
            "deliveries.get" => json!({ "id": self.delivery }),
            "deliveries.answer" => json!({ "key": "guessed", "outcome": "shown" }),
            "models.list" => json!({ "server": self.server() }),
            "models.add" => json!({ "server": self.server(), "model": "m-1" }),
            "models.pull" => json!({ "model": "guessed" }),
            "config.patch" => json!({ "patch": { "cron": { "maxConcurrentRuns": 3 } } }),
            "heartbeat.status"
            | "cron.list"
            | "cron.status"
            | "cron.pause"
            | "cron.resume"
            | "cron.export"
            | "spending.get"
            | "runs.list"
            | "deliveries.test"
            | "tools.catalog"
            | "approvals.list"
            | "grants.list"
            | "chat.abort"
            | "sessions.list"
            | "secrets.list"
            | "skills.list"
            | "providers.list"
            | "models.providers"
            | "models.test"
            | "models.pullStatus"
            | "models.cancelPull"
            | "backup.create"
            | "backup.list"
            | "hooks.list"
            | "config.get"
            | "system.status"
            | "system.storage"
            | "system.dismissFirstStart" => {
                json!({})
            }
            new => panic!("{new} is new: say here what a stranger would ask of it"),
        }
    }

    /// Everything that a request could have changed. The number of the newest event is in it: nothing is stored without one.
    pub(crate) async fn state(&self) -> Value {
        let engine = &self.engine;
        json!({
            "seq": engine.call("system.status", json!({})).await["seq"],
            "jobs": engine.call("cron.export", json!({})).await["jobs"],
            "runs": engine.call("runs.list", json!({})).await["total"],
            "settings": engine.call("config.get", json!({})).await,
            "cron": engine.call("cron.status", json!({})).await["pause"],
            "lines": engine.call("heartbeat.status", json!({})).await["queuedEvents"],
        })
    }
}

/// A JSON-RPC request.
pub(crate) fn rpc(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A job that needs no model and fires only by hand.
pub(crate) fn echo(name: &str) -> Value {
    json!({
        "name": name,
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "echo", "arguments": { "text": "hello" } }
    })
}

/// An agent's job that fires only by hand.
pub(crate) fn ask(message: &str) -> Value {
    json!({
        "name": "Ask",
        "schedule": { "kind": "manual" },
        "payload": { "kind": "agentTurn", "message": message }
    })
}

/// Every event that belongs to the delivery of `run` has been written when it is settled.
async fn settled_delivery(engine: &Engine<'_>, run: &str) -> Option<String> {
    let detail = engine.call("runs.get", json!({ "id": run })).await;
    let delivery = detail["deliveries"].as_array()?.first()?;
    (delivery["state"] != "pending").then(|| delivery["id"].as_str().map(str::to_owned)).flatten()
}
