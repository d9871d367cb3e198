//! `rouse config`: the settings of the engine, by the command line; and a file that was changed under it.

use std::fs;

use serde_json::{Value, json};

use crate::engine::Home;

#[tokio::test]
async fn settings_are_read_and_changed_by_key() {
    let home = Home::new().config("# mine\n[cron]\nmaxConcurrentRuns = 3\n");
    let engine = home.serve().await;
    let all = home.rouse(["config", "get"]);
    for line in ["cron.enabled = true", "cron.maxConcurrentRuns = 3", "quietHours = none"] {
        assert!(all.ok().lines().any(|said| said == line), "no `{line}` in {all:#?}");
    }
    assert!(!all.out.contains("revision"), "{all:#?}");
    assert_eq!(home.rouse(["config", "get", "cron.maxConcurrentRuns"]).ok(), "3\n");
    assert_eq!(home.rouse(["config", "get", "cron", "--json"]).json()["enabled"], true);
    let table = [
        ("cron.enabled", "false", "/cron/enabled", json!(false)),
        ("cron.maxConcurrentRuns", "5", "/cron/maxConcurrentRuns", json!(5)),
        ("cron.maxConcurrentRuns", "none", "/cron/maxConcurrentRuns", json!(2)),
        ("heartbeat.every", "45m", "/heartbeat/everyMs", json!(2_700_000)),
        ("heartbeat.activeHours", "08:00-20:00", "/heartbeat/activeHours/to", json!("20:00")),
        ("quietHours", "22:00-07:00", "/quietHours", json!({ "from": "22:00", "to": "07:00" })),
        ("quietHours.days", "fri,sat", "/quietHours/days", json!(["fri", "sat"])),
        ("quietHours", "23:00-06:00", "/quietHours", json!({ "from": "23:00", "to": "06:00" })),
        ("quietHours", "none", "/quietHours", Value::Null),
        ("retention.runsPerJob", "100", "/retention/runsPerJob", json!(100)),
        ("retention.maxDatabaseMb", "64", "/retention/maxDatabaseMb", json!(64)),
        ("budget.tokensPerDay", "5000", "/budget/tokensPerDay", json!(5_000)),
        ("budget.usdPerDay", "0.5", "/budget/usdPerDay", json!(0.5)),
        ("budget.usdPerDay", "none", "/budget/usdPerDay", Value::Null),
        ("system.keepAwake", "true", "/system/keepAwake", json!(true)),
    ];
    for (key, value, path, expected) in table {
        let said = home.rouse(["config", "set", key, value, "--json"]);
        assert_eq!(said.json().pointer(path), Some(&expected), "{key} {value}: {said:#?}");
        assert_eq!(engine.call("config.get", json!({})).await.pointer(path), Some(&expected));
    }
    assert_eq!(engine.call("cron.status", json!({})).await["enabled"], false, "it is in force");
    assert_eq!(home.rouse(["config", "set", "cron.enabled", "true"]).ok(), "cron.enabled = true\n");
    let file = fs::read_to_string(home.data().join("config.toml")).expect("a file");
    assert!(file.starts_with("# mine\n"), "{file}");
    for (key, value, words) in [
        ("cron.enabled", "maybe", "cron.enabled: expected true or false"),
        ("cron.maxConcurrentRuns", "0", "cron.maxConcurrentRuns"),
        ("cron.maxRuns", "3", "cron.maxRuns"),
        ("quietHours", "soon", "quietHours: expected hours such as 22:00-07:00, or none"),
        ("heartbeat.every", "soon", "heartbeat.everyMs"),
    ] {
        home.rouse(["config", "set", key, value]).refused(2, words);
    }
    let unknown = home.rouse(["config", "get", "cron.maxRuns"]);
    unknown.refused(2, "cron.maxRuns: there is no such setting");
    assert!(unknown.err.contains("cron.maxConcurrentRuns"), "{unknown:#?}");
    home.rouse(["config", "get", "revision"]).refused(2, "there is no such setting");
    for key in ["providers.work.model", "cron.maxRuns"] {
        home.rouse(["config", "set", key, "big"]).refused(2, "there is no such setting");
    }
}

#[tokio::test]
async fn a_provider_of_the_file_is_changed_by_its_name() {
    let provider = "kind = \"openai\"\nbaseUrl = \"http://localhost:9/v1\"\nmodel = \"small\"\n";
    let home = Home::new().config(&format!("[providers.work]\n{provider}"));
    let _engine = home.serve().await;
    let set = home.rouse(["config", "set", "providers.work.model", "big"]);
    assert_eq!(set.ok(), "providers.work.model = big\n");
    assert_eq!(home.rouse(["config", "get", "providers.work.model"]).ok(), "big\n");
    home.rouse(["config", "set", "providers.word.model", "big"]).refused(2, "no such setting");
}

#[tokio::test]
async fn a_file_that_was_changed_under_the_engine_is_told() {
    let home = Home::new();
    let engine = home.serve().await;
    let told = "was changed since the start; restart Rouse to use it";
    assert!(!home.rouse(["status"]).ok().contains(told));
    assert!(!home.rouse(["doctor"]).ok().contains(told));
    fs::write(home.data().join("config.toml"), "[cron]\nmaxConcurrentRuns = 4\n").expect("a file");
    assert!(home.rouse(["status"]).ok().contains(told));
    let doctor = home.rouse(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains(told), "{doctor:#?}");
    assert!(engine.stop().success());
    let engine = home.serve().await;
    assert!(!home.rouse(["status"]).ok().contains(told));
    drop(engine);
}
