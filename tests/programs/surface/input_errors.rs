//! Errors for invalid input, at the command line and at the gateway.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::assert_surface;
use crate::engine::TestHome;

#[tokio::test]
async fn errors_of_bad_commands_are_pinned() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let commands: [&[&str]; 24] = [
        &["cron", "add"],
        &["cron", "add", "--manual"],
        &["cron", "add", "--cron", "61 * * * *", "--tool", "time"],
        &["cron", "add", "--cron", "CRON_TZ=UTC 0 9 * * *", "--tool", "time"],
        &["cron", "add", "--cron", "5/15 * * * *", "--tool", "time"],
        &["cron", "add", "--cron", "0 9 * * *", "--tz", "Berlin", "--tool", "time"],
        &["cron", "add", "--at", "yesterday", "--tool", "time"],
        &["cron", "add", "--every", "fast", "--tool", "time"],
        &["cron", "add", "--every", "1h", "--tool", "tiem"],
        &[
            "cron",
            "add",
            "--every",
            "1h",
            "--tool",
            "http",
            "--arguments",
            "{\"url\": \"example.org\"}",
        ],
        &["cron", "add", "--every", "1h", "--tool", "echo", "--arguments", "no JSON"],
        &["cron", "add", "--every", "1h", "--message", "x", "--misfire", "sometimes"],
        &["cron", "add", "--every", "1h", "--message", "x", "--timeout", "0s"],
        &["cron", "add", "--after", "Backup", "--message", "x"],
        &["cron", "show", "nothing"],
        &["cron", "run", "nothing"],
        &["runs", "show", "nothing"],
        &["approvals", "allow"],
        &["grants", "revoke", "nothing"],
        &["config", "set", "cron.maxConcurrentRuns", "many"],
        &["config", "set", "cron.maxConcurentRuns", "3"],
        &["models", "add", "chatty"],
        &["models", "remove", "chatty"],
        &["secrets", "remove", "nothing"],
    ];
    let mut text = String::new();
    for command in commands {
        let output = home.rouse(command);
        writeln!(
            text,
            "$ rouse {}\n[exit {}]\n{}{}",
            command.join(" "),
            output.code,
            output.out,
            output.err
        )
        .expect("a text takes all");
    }
    assert_surface("refused_commands", &text);
}

#[tokio::test]
async fn errors_of_bad_jobs_are_pinned() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let call = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "x" } });
    let job = |schedule: Value, payload: &Value| json!({ "name": "J", "schedule": schedule, "payload": payload });
    let manual = || json!({ "kind": "manual" });
    let with_policies = |policies: Value| {
        let mut job = job(manual(), &call);
        job["policies"] = policies;
        job
    };
    let jobs = [
        json!({}),
        json!([]),
        json!({ "name": 7 }),
        with_policies(json!({ "overlap": "sometimes" })),
        with_policies(json!({ "misfire": { "mode": "runAll", "limit": -1 } })),
        with_policies(json!({ "cooldownSeconds": "10" })),
        with_policies(json!({ "timeoutSeconds": 0 })),
        with_policies(json!({ "notify": "loudly" })),
        with_policies(json!({ "approvals": "yes" })),
        with_policies(json!({ "budget": { "tokensPerRun": 0 } })),
        with_policies(json!({ "quietHours": { "from": "25:00", "to": "07:00" } })),
        job(json!({ "kind": "weekly" }), &call),
        job(json!({ "kind": "at" }), &call),
        job(json!({ "kind": "every", "everyMs": 0 }), &call),
        job(json!({ "kind": "cron", "expr": "0 9 * *" }), &call),
        job(json!({ "kind": "cron", "expr": "0 0 30 2 *" }), &call),
        job(json!({ "kind": "cron", "expr": "0 9 * * *", "tz": "Europe/Berln" }), &call),
        job(json!({ "kind": "event", "source": "", "pattern": "(" }), &call),
        job(manual(), &json!({ "kind": "shell" })),
        job(manual(), &json!({ "kind": "agentTurn" })),
        job(manual(), &json!({ "kind": "agentTurn", "message": " " })),
        job(manual(), &json!({ "kind": "agentTurn", "message": "x", "maxSteps": 0 })),
        job(manual(), &json!({ "kind": "toolCall", "tool": "nothing", "arguments": {} })),
        job(manual(), &json!({ "kind": "toolCall", "tool": "echo", "arguments": { "txt": 1 } })),
        job(
            manual(),
            &json!({ "kind": "toolCall", "tool": "echo", "notifyWhen": { "cel": "result =" } }),
        ),
    ];
    let mut text = String::new();
    for job in jobs {
        let error = match engine.client.call("cron.add", job.clone()).await {
            Ok(added) => format!("accepted, warnings {}", added["warnings"]),
            Err(error) => error.to_string(),
        };
        writeln!(text, "{job}\n→ {error}\n").expect("a text takes all");
    }
    assert_surface("refused_jobs", &text);
}
