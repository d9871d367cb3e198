//! An engine with data, and a valid request for every method.

use rouse_gateway::METHODS;
use rouse_testkit::fake_model::{FakeModel, Reply};
use rouse_tests::{agent_job, model_calling, model_settings};
use serde_json::{Value, json};

use crate::engine::{EngineProcess, TestHome};

/// An engine with jobs, a run, a delivery, an approval and settings.
pub(crate) struct ProbeEngine<'h> {
    pub(crate) engine: EngineProcess<'h>,
    job: String,
    spare_job: String,
    webhook: String,
    run: String,
    delivery: String,
    approval: String,
    skill_digest: String,
    /// The page of a skill that is not installed.
    skill_page: Value,
    _model: FakeModel,
    /// A provider with a single model.
    provider: FakeModel,
}

impl<'h> ProbeEngine<'h> {
    pub(crate) async fn start(home: &'h TestHome) -> Self {
        let model = model_calling(vec![("write_file", json!({ "path": "a.md", "content": "a" }))]);
        home.write_config(&model_settings(&model));
        let provider = FakeModel::start(|_| Reply::json(200, r#"{"data":[{"id":"m-1"}]}"#));
        let skill = home.data().join("skills/installed/fetch");
        std::fs::create_dir_all(&skill).expect("a folder");
        let text = "---\nname: fetch\ndescription: About it.\n---\nFetch it.\n";
        std::fs::write(skill.join("SKILL.md"), text).expect("a file");
        let engine = home.serve().await;
        let skills = engine.call("skills.list", json!({})).await;
        let skill_digest = skills["skills"][0]["digest"].as_str().expect("a digest").to_owned();
        let source = home.sibling("notes");
        std::fs::create_dir(&source).expect("a folder");
        let text = "---\nname: notes\ndescription: About it.\n---\nNote it.\n";
        std::fs::write(source.join("SKILL.md"), text).expect("a file");
        let skill_page = engine.call("skills.preview", json!({ "path": source })).await;
        let job = engine.add_job(echo("Kept")).await;
        let spare_job = engine.add_job(echo("Spare")).await;
        let mut hooked = echo("Hooked");
        hooked["schedule"] = json!({ "kind": "webhook" });
        let webhook = engine.add_job(hooked).await;
        let run = engine.start_run(&job).await;
        let delivery = engine.wait_until(async |engine| settled_delivery(engine, &run).await).await;
        let parked_job = engine.add_job(agent_job("Write it.")).await;
        let parked_run = engine.start_run(&parked_job).await;
        engine.wait_until(async |engine| settled_delivery(engine, &parked_run).await).await;
        let approval = engine.pending_approval().await["id"].as_str().expect("an id").to_owned();
        Self {
            engine,
            job,
            spare_job,
            webhook,
            run,
            delivery,
            approval,
            skill_digest,
            skill_page,
            _model: model,
            provider,
        }
    }

    /// A valid request for every method.
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
            "tools.build" => json!({ "task": "Let me in." }),
            "tools.source" | "tools.removeBuilds" => json!({ "name": "guessed" }),
            "tools.check" => json!({ "folder": "/guessed" }),
            "runs.await" => json!({ "id": self.run, "waitingRunId": "guessed" }),
            "runs.attachment" => json!({ "runId": self.run, "step": 1, "position": 0 }),
            "runs.get" | "runs.cancel" | "runs.seen" | "runs.retry" => json!({ "id": self.run }),
            "approvals.get" => json!({ "id": self.approval }),
            "approvals.decide" => {
                json!({ "id": self.approval, "decision": { "kind": "once" }, "from": "cli" })
            }
            "grants.revoke" => json!({ "id": "guessed" }),
            "chat.send" => json!({ "text": "let me in" }),
            "sessions.get" => json!({ "key": "main" }),
            // The run of `chat.send` may still be open.
            "sessions.clear" => json!({ "key": "cron:guessed" }),
            "secrets.set" => {
                json!({ "name": "key", "value": "guessed-value", "hosts": ["example.org"] })
            }
            "secrets.remove" => json!({ "name": "key" }),
            "extensions.preview" => json!({ "name": "cal", "server": remote_server() }),
            "extensions.install" => {
                json!({ "name": "cal", "server": remote_server(), "accept": "guessed" })
            }
            "extensions.accept" => json!({ "name": "guessed", "accept": "guessed" }),
            "extensions.setAccess" => {
                json!({ "name": "guessed", "tool": "echo", "access": "readsOnly" })
            }
            "extensions.setEnabled" => json!({ "name": "guessed", "enabled": false }),
            "extensions.get"
            | "extensions.review"
            | "extensions.remove"
            | "extensions.restart"
            | "extensions.signIn"
            | "extensions.awaitSignIn"
            | "extensions.cancelSignIn"
            | "extensions.signOut"
            | "extensions.installStatus"
            | "extensions.cancelInstall" => {
                json!({ "name": "guessed" })
            }
            "mcpAccess.create" => json!({ "name": "guessed", "scope": "read" }),
            "mcpAccess.revoke" => json!({ "name": "guessed" }),
            "devices.pair" => json!({ "name": "guessed", "scope": "read" }),
            "devices.revoke" => json!({ "id": "guessed" }),
            "skills.trust" => json!({ "name": "fetch", "digest": self.skill_digest }),
            // The digest of a missing list is empty.
            "heartbeat.trust" => json!({ "digest": "" }),
            "skills.distrust" => json!({ "name": "fetch" }),
            "skills.preview" => json!({ "path": self.skill_page["path"] }),
            "skills.install" => {
                json!({ "path": self.skill_page["path"], "hash": self.skill_page["hash"] })
            }
            "skills.remove" => json!({ "name": "notes" }),
            "skills.search" | "extensions.search" => json!({ "query": "guessed" }),
            "skills.download" => json!({ "slug": "guessed" }),
            "extensions.registryEntry" => json!({ "name": "io.example/guessed" }),
            "deliveries.get" => json!({ "id": self.delivery }),
            "deliveries.answer" => json!({ "key": "guessed", "outcome": "shown" }),
            "channels.test" => json!({ "name": "notification" }),
            "channels.pair" | "channels.pairing" => json!({ "name": "guessed" }),
            "channels.confirmPairing" => json!({ "name": "guessed", "accept": true }),
            "channels.unpair" => json!({ "name": "guessed", "address": "7" }),
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
            | "channels.list"
            | "channels.check"
            | "tools.catalog"
            | "tools.builds"
            | "approvals.list"
            | "grants.list"
            | "chat.abort"
            | "sessions.list"
            | "secrets.list"
            | "mcpAccess.list"
            | "devices.list"
            | "extensions.list"
            | "agents.presets"
            | "extensions.verify"
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
            new => panic!("{new} is new: add a request here"),
        }
    }

    /// Everything that a request could change. Every stored change increments the event number.
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

pub(crate) fn rpc(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A manual job without a model.
pub(crate) fn echo(name: &str) -> Value {
    json!({
        "name": name,
        "schedule": { "kind": "manual" },
        "payload": { "kind": "toolCall", "tool": "echo", "arguments": { "text": "hello" } }
    })
}

/// A settled delivery implies that all events of `run` are written.
async fn settled_delivery(engine: &EngineProcess<'_>, run: &str) -> Option<String> {
    let detail = engine.call("runs.get", json!({ "id": run })).await;
    let delivery = detail["deliveries"].as_array()?.first()?;
    (delivery["state"] != "pending").then(|| delivery["id"].as_str().map(str::to_owned)).flatten()
}

/// A server that nobody reaches.
fn remote_server() -> Value {
    json!({ "transport": { "kind": "http", "url": "https://mcp.example.org/v1" } })
}
