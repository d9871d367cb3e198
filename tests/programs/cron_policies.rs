//! `rouse cron edit` on policies and optional settings: how flags set and clear fields.

use serde_json::{Value, json};

use crate::cron_add::MAIL_CHANNEL;
use crate::cron_edit::job;
use crate::engine::TestHome;
use crate::probes::echo;

#[tokio::test]
async fn new_quiet_hours_replace_zone_and_days() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let mut document = echo("Weekend");
    document["policies"] = json!({
        "cooldownSeconds": 5,
        "quietHours": { "from": "22:00", "to": "07:00", "tz": "Asia/Tokyo", "days": ["sat", "sun"] }
    });
    let id = engine.add_job(document).await;
    let edit = |rule: &str| {
        let output = home.rouse(["cron", "edit", &id, "--quiet-hours", rule, "--json"]);
        job(&output)["policies"].clone()
    };
    let hours = json!({ "from": "23:00", "to": "06:00" });
    assert_eq!(
        edit("23:00-06:00"),
        json!({ "cooldownSeconds": 5, "quietHours": hours }),
        "omitted fields are cleared"
    );
    assert_eq!(edit("ignore")["quietHours"], "ignore");
    assert_eq!(edit("23:00-06:00")["quietHours"], hours);
    assert_eq!(edit("respect"), json!({ "cooldownSeconds": 5 }));
}

#[tokio::test]
async fn quiet_hours_flags_set_days_and_zone() {
    let home = TestHome::new();
    let engine = home.serve().await;
    let id = engine.add_job(echo("Loud")).await;
    let edit = |flags: &[&str]| {
        let output = home.rouse(["cron", "edit", &id, "--json"].iter().chain(flags.iter()));
        job(&output)["policies"]["quietHours"].clone()
    };
    let hours =
        ["--quiet-hours", "22:00-07:00", "--quiet-days", "fri,sat", "--quiet-zone", "Asia/Tokyo"];
    let expected =
        json!({ "from": "22:00", "to": "07:00", "tz": "Asia/Tokyo", "days": ["fri", "sat"] });
    assert_eq!(edit(&hours), expected);
    let fewer = json!({ "from": "22:00", "to": "07:00", "tz": "Asia/Tokyo", "days": ["sun"] });
    assert_eq!(edit(&["--quiet-days", "sun"]), fewer, "the hours stay");
    let plain = json!({ "from": "22:00", "to": "07:00" });
    assert_eq!(edit(&["--quiet-days", "none", "--quiet-zone", "none"]), plain);
    let added =
        home.rouse(["cron", "add", "--json", "--manual", "--tool", "time"].iter().chain(&hours));
    assert_eq!(job(&added)["policies"]["quietHours"], expected);
    home.rouse(["cron", "edit", &id, "--quiet-zone", "Mars"]).assert_error(2, "quietHours.tz");
}

#[tokio::test]
async fn tool_policy_flags_are_set_and_cleared() {
    let home = TestHome::new();
    let _engine = home.serve().await;
    let added = home.rouse([
        "cron",
        "add",
        "--json",
        "--name",
        "Agent",
        "--manual",
        "--message",
        "Look.",
        "--approvals",
        "deny",
        "--approval-timeout",
        "2h",
        "--hosts",
        "api.example.org,nas:8080",
        "--sandbox",
        "open",
    ]);
    let expected = json!({
        "approvals": "deny",
        "approvalSeconds": 7_200,
        "hosts": ["api.example.org", "nas:8080"],
        "sandbox": "open",
    });
    assert_eq!(job(&added)["policies"], expected);
    let edited = home.rouse([
        "cron",
        "edit",
        "Agent",
        "--json",
        "--approvals",
        "ask",
        "--approval-time",
        "none",
        "--hosts",
        "none",
        "--sandbox",
        "required",
    ]);
    assert_eq!(job(&edited).get("policies"), None, "{edited:?}");
    home.rouse(["cron", "edit", "Agent", "--hosts", "https://example.org/a"])
        .assert_error(2, "policies.hosts[0]");
    home.rouse(["cron", "edit", "Agent", "--approval-timeout", "5s"])
        .assert_error(2, "approvalSeconds");
}

#[tokio::test]
async fn every_optional_setting_can_be_cleared() {
    let home = TestHome::new().config(MAIL_CHANNEL);
    let engine = home.serve().await;
    let mut draft = echo("Bound");
    draft["payload"] = json!({ "kind": "agentTurn", "message": "Look", "channel": "mail" });
    draft["schedule"] = json!({ "kind": "every", "everyMs": 60_000 });
    let id = engine.add_job(draft).await;
    let edit = |flags: &[&str]| {
        job(&home.rouse(["cron", "edit", &id, "--json"].iter().chain(flags.iter())))
    };
    let table: &[(&str, &str, &str, &str, Value)] = &[
        ("--delete-after-run", "", "=false", "/deleteAfterRun", json!(true)),
        ("--delete-after-run", "=true", "=false", "/deleteAfterRun", json!(true)),
        ("--deliver", "", "=false", "/payload/deliver", json!(true)),
        ("--pause-after-failures", "=3", "=none", "/policies/pauseAfterFailures", json!(3)),
        ("--max-lateness", "=2m", "=none", "/policies/misfire/maxLatenessSeconds", json!(120)),
        ("--misfire-limit", "=4", "=none", "/policies/misfire/limit", json!(4)),
        ("--timeout", "=1m", "=none", "/policies/timeoutSeconds", json!(60)),
        ("--cooldown", "=5m", "=none", "/policies/cooldownSeconds", json!(300)),
        ("--max-concurrent", "=4", "=none", "/policies/maxConcurrent", json!(4)),
        ("--max-attempts", "=3", "=none", "/runtime/maxAttempts", json!(3)),
        ("--retry-backoff", "=30s", "=none", "/runtime/retryBackoffMs", json!(30_000)),
        ("--jitter", "=5s", "=none", "/schedule/jitterMs", json!(5_000)),
        ("--description", "=Why", "=", "/description", json!("Why")),
        ("--post-prefix", "=News", "=", "/isolation/postToMainPrefix", json!("News")),
        ("--model", "=tiny", "=", "/payload/model", json!("tiny")),
        ("--to", "=a@b.org", "=", "/payload/to", json!("a@b.org")),
        ("--deliver-to", "=mail", "=none", "/policies/deliverTo", json!(["mail"])),
        ("--tools", "=echo,time", "=all", "/payload/tools", json!(["echo", "time"])),
        ("--tools", "=none", "=all", "/payload/useTools", json!(false)),
        ("--max-steps", "=3", "=none", "/payload/maxSteps", json!(3)),
        ("--max-tokens", "=900", "=none", "/payload/maxTokens", json!(900)),
        (
            "--context-paths",
            "=a.md,b.md",
            "=none",
            "/payload/contextPaths",
            json!(["a.md", "b.md"]),
        ),
        ("--skills", "=style,report", "=none", "/payload/skills", json!(["style", "report"])),
        ("--fallbacks", "=a,ollama:b", "=none", "/payload/fallbacks", json!(["a", "ollama:b"])),
        ("--tokens-per-run", "=5000", "=none", "/policies/budget/tokensPerRun", json!(5_000)),
        ("--tokens-per-day", "=9000", "=none", "/policies/budget/tokensPerDay", json!(9_000)),
        ("--usd-per-run", "=0.25", "=none", "/policies/budget/usdPerRun", json!(0.25)),
        ("--usd-per-day", "=$1.50", "=none", "/policies/budget/usdPerDay", json!(1.5)),
    ];
    for (flag, on, off, path, value) in table {
        let set = edit(&[&format!("{flag}{on}")]);
        assert_eq!(set.pointer(path), Some(value), "{flag}{on}: {set:#}");
        let taken = edit(&[&format!("{flag}{off}")]);
        let left = taken.pointer(path).filter(|left| **left != json!(false));
        assert_eq!(left, None, "{flag}{off}: {taken:#}");
    }
    for (flag, text) in [
        ("--pause-after-failures=soon", "a number, or none"),
        ("--usd-per-day=free", "expected dollars such as 0.50, or none"),
        ("--usd-per-day=0", "policies.budget.usdPerDay"),
        ("--timeout=soon", "--timeout"),
        ("--delete-after-run=maybe", "true"),
        ("--quiet-days=fri", "--quiet-hours"),
    ] {
        home.rouse(["cron", "edit", &id, flag]).assert_error(2, text);
    }
}
