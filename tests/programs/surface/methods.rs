//! The JSON of every gateway method, over an engine with jobs, runs, a delivery, an approval and a provider.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::{assert_scenario, shown};
use crate::engine::TestHome;
use crate::probes::ProbeEngine;

/// The methods that start nothing. They run first, so that no answer depends on running work.
const FIRST: [&str; 38] = [
    "system.status",
    "system.storage",
    "config.get",
    "cron.list",
    "cron.get",
    "cron.status",
    "cron.runs",
    "cron.ledger",
    "cron.preview",
    "cron.estimate",
    "cron.check",
    "cron.tryCondition",
    "cron.export",
    "spending.get",
    "runs.list",
    "runs.get",
    "approvals.list",
    "approvals.get",
    "grants.list",
    "deliveries.get",
    "heartbeat.status",
    "hooks.list",
    "sessions.list",
    "sessions.get",
    "secrets.list",
    "skills.list",
    "tools.catalog",
    "tools.builds",
    "tools.effective",
    "providers.list",
    "models.providers",
    "models.list",
    "models.pullStatus",
    "backup.list",
    "models.cancelPull",
    "chat.abort",
    "cron.pause",
    "cron.resume",
];

#[tokio::test]
async fn json_of_every_method_is_pinned() {
    let home = TestHome::new().env("TZ", "UTC");
    let probe = ProbeEngine::start(&home).await;
    let mut requests = probe.requests();
    requests.sort_by_key(|(method, _)| {
        FIRST.iter().position(|first| first == method).unwrap_or(FIRST.len())
    });
    let mut rooms: BTreeMap<&str, String> = BTreeMap::new();
    for (method, request) in requests {
        let answer = probe.engine.client.call(method, request["params"].clone()).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => Value::String(error.to_string()),
        };
        let room = rooms.entry(method.split('.').next().unwrap_or(method)).or_default();
        writeln!(room, "{method}\n{}\n", shown(&answer)).expect("a text takes all");
    }
    for (room, text) in rooms {
        assert_scenario(&format!("methods_{room}"), &text);
    }
}
