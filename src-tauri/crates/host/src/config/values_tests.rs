//! Settings from file and environment.

use serde_json::json;

use rouse_core::budget::{Limit, MicroUsd};

use super::*;

const DEFAULT: &str = "/data/workspace";

/// The settings of a document with these variables.
fn config(document: Value, variables: &[(&str, &str)]) -> Result<Config, Vec<FieldError>> {
    let env = |name: &str| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let zones = chrono_tz::UTC.into();
    read(
        document,
        Path::new(DEFAULT),
        MachineFacts { env: &env, zones: &zones, secrets: None, recipients: None },
    )
}

/// The document, the variables, the workspace, and whether risky mode is on.
type Case = (Value, Vec<(&'static str, &'static str)>, &'static str, bool);

#[test]
fn workspace_variable_has_priority_over_the_file() {
    let file = json!({ "workspace": "/file" });
    let wide = json!({ "workspace": "/file/deep", "riskyWorkspace": { "enabled": true } });
    let wide_root = json!({ "riskyWorkspace": { "enabled": true, "root": "~" } });
    let risky = ("RISKY_WORKSPACE_MODE", "true");
    let cases: Vec<Case> = vec![
        (json!({}), vec![], DEFAULT, false),
        (file.clone(), vec![], "/file", false),
        (file.clone(), vec![("FILE_WORKSPACE_ROOT", "/variable")], "/variable", false),
        (file.clone(), vec![("FILE_WORKSPACE_ROOT", "  ")], "/file", false),
        (file.clone(), vec![("CODEX_CWD", "/second")], "/second", false),
        (
            file.clone(),
            vec![("CODEX_CWD", "/s"), ("FILE_WORKSPACE_ROOT", "/first")],
            "/first",
            false,
        ),
        (
            file.clone(),
            vec![("CODEX_CWD", "/second"), ("FILE_WORKSPACE_ROOT", "")],
            "/second",
            false,
        ),
        (json!({}), vec![("CODEX_CWD", "~/s"), ("HOME", "/home/p")], "/home/p/s", false),
        (file.clone(), vec![("CODEX_CWD", " ")], "/file", false),
        (json!({ "workspace": "~/w" }), vec![("HOME", "/home/p")], "/home/p/w", false),
        (json!({}), vec![("HOME", "/home/p"), ("FILE_WORKSPACE_ROOT", "~")], "/home/p", false),
        // The wider root applies in risky mode only.
        (file.clone(), vec![("RISKY_WORKSPACE_ROOT", "/wide")], "/file", false),
        (file.clone(), vec![risky, ("RISKY_WORKSPACE_ROOT", "/wide")], "/wide", true),
        (file.clone(), vec![risky, ("RISKY_WORKSPACE_ROOT", "~/w"), ("HOME", "/h")], "/h/w", true),
        (json!({}), vec![("FILE_WORKSPACE_ROOT", "/a/b"), risky], "/a", true),
        (wide.clone(), vec![], "/file", true),
        (wide.clone(), vec![("RISKY_WORKSPACE_MODE", "false")], "/file/deep", false),
        // The second variable of the mode applies if the first is not set.
        (json!({}), vec![("CODEX_CWD", "/a/b"), ("FILE_WORKSPACE_MODE", "risky")], "/a", true),
        (wide, vec![("FILE_WORKSPACE_MODE", "safe")], "/file/deep", false),
        (
            json!({}),
            vec![("CODEX_CWD", "/a/b"), risky, ("FILE_WORKSPACE_MODE", "safe")],
            "/a",
            true,
        ),
        (
            file,
            vec![("RISKY_WORKSPACE_MODE", "0"), ("FILE_WORKSPACE_MODE", "Risky")],
            "/file",
            false,
        ),
        (wide_root.clone(), vec![("HOME", "/home/p")], "/home/p", true),
        (wide_root, vec![("HOME", "/home/p"), ("RISKY_WORKSPACE_ROOT", "/r")], "/r", true),
    ];
    for (document, variables, workspace, is_risky) in cases {
        let read = config(document.clone(), &variables).expect("good settings");
        let expected = (PathBuf::from(workspace), is_risky);
        let found = (read.workspace.clone(), read.is_risky_workspace());
        assert_eq!(found, expected, "{document} {variables:?}");
    }
}

#[test]
fn workspace_with_the_data_folder_is_refused() {
    let risky = ("RISKY_WORKSPACE_MODE", "1");
    let cases: [(&[(&str, &str)], &str); 9] = [
        (&[("FILE_WORKSPACE_ROOT", "/data")], "workspace"),
        (&[("CODEX_CWD", "/data")], "workspace"),
        (&[("FILE_WORKSPACE_ROOT", "/")], "workspace"),
        (&[("FILE_WORKSPACE_ROOT", "notes")], "workspace"),
        (&[("FILE_WORKSPACE_ROOT", "~other")], "workspace"),
        // The parent of the default workspace is the data directory.
        (&[risky], "riskyWorkspace.root"),
        (&[risky, ("RISKY_WORKSPACE_ROOT", "/")], "riskyWorkspace.root"),
        (&[("RISKY_WORKSPACE_MODE", "perhaps")], "RISKY_WORKSPACE_MODE"),
        (&[("FILE_WORKSPACE_MODE", "true")], "FILE_WORKSPACE_MODE"),
    ];
    for (variables, path) in cases {
        let refused = config(json!({}), variables).expect_err("refused");
        assert_eq!(refused[0].path, path, "{variables:?}");
        let message = &refused[0].message;
        let is_unnamed = path == "riskyWorkspace.root" && variables.len() == 1;
        assert_eq!(message.contains("or as RISKY_WORKSPACE_ROOT"), is_unnamed, "{message}");
        let is_named =
            path != "workspace" || message.contains(&format!(", as {} says", variables[0].0));
        assert!(is_named, "{message}");
    }
}

#[test]
fn tool_limit_variable_has_priority_over_the_file() {
    let file =
        json!({ "tools": { "readFileMaxBytes": 10, "runCommandTimeoutMs": 20, "maxSteps": 3 } });
    let limits = |document: &Value, variables: &[(&str, &str)]| {
        let tools = config(document.clone(), variables).expect("good settings").tools;
        (tools.read_file_max_bytes, tools.run_command_timeout_ms, tools.max_steps)
    };
    assert_eq!(limits(&json!({}), &[]), (524_288, 600_000, 10));
    assert_eq!(limits(&file, &[]), (10, 20, 3));
    let variables = [
        ("READ_FILE_MAX_BYTES", "11"),
        ("RUN_COMMAND_TIMEOUT_MS", "21"),
        ("MAX_MULTI_ACT_STEPS", "400"),
    ];
    assert_eq!(limits(&file, &variables), (11, 21, 50));
    for bytes in ["0", "2000000000"] {
        let wrong = [("READ_FILE_MAX_BYTES", bytes), ("RUN_COMMAND_TIMEOUT_MS", "never")];
        let refused = config(file.clone(), &wrong).expect_err("refused");
        let paths: Vec<&str> = refused.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["READ_FILE_MAX_BYTES", "RUN_COMMAND_TIMEOUT_MS"], "{bytes}");
    }
}

#[test]
fn budget_and_own_prices_are_read() {
    let read = config(
        json!({
            "budget": { "tokensPerDay": 1_000, "usdPerDay": 2.5 },
            "prices": { "gpt-5.6*": { "input": 1, "output": 2.5 }, "m:7b": { "input": 0, "cached": 0, "output": 0 } }
        }),
        &[],
    )
    .expect("good settings");
    assert_eq!(read.budget.limit(), Limit { tokens: Some(1_000), usd: Some(MicroUsd(2_500_000)) });
    let price = |input, cached, output| Price { input, cached, output };
    let own = [("gpt-5.6*", price(1.0, None, 2.5)), ("m:7b", price(0.0, Some(0.0), 0.0))];
    assert_eq!(read.prices, own.map(|(name, price)| (name.to_owned(), price)).into());
    assert_eq!(config(json!({}), &[]).expect("the defaults").budget.limit(), Limit::default());
    let wrong = json!({
        "budget": { "usdPerDay": -1 },
        "prices": { "a": { "input": 1 }, "b": { "input": "x", "output": -1 } }
    });
    let refused = config(wrong, &[]).expect_err("wrong");
    let paths: Vec<&str> = refused.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["budget.usdPerDay", "prices.a.output", "prices.b.input", "prices.b.output"]);
}

#[test]
fn context_window_of_a_provider_is_read() {
    let provider = |tokens: Value| {
        let entry = json!({ "baseUrl": "http://x/v1", "model": "m", "contextTokens": tokens });
        config(json!({ "providers": { "mine": entry } }), &[])
    };
    let read = provider(json!(32_000)).expect("good settings");
    assert_eq!(read.providers["mine"].context_tokens, Some(32_000));
    for wrong in [json!(100), json!("many"), json!(-1)] {
        let errors = provider(wrong).expect_err("no such size");
        assert_eq!(errors[0].path, "providers.mine.contextTokens");
    }
}

#[test]
fn hours_as_text_are_refused_with_the_expected_table() {
    for (file, key) in [
        (json!({ "quietHours": "22:00-07:00" }), "quietHours"),
        (json!({ "heartbeat": { "activeHours": "22:00-07:00" } }), "heartbeat.activeHours"),
    ] {
        let errors = config(file, &[]).expect_err("wrong");
        let found: Vec<(&str, &str)> =
            errors.iter().map(|error| (&*error.path, &*error.message)).collect();
        let expected = "expected a table such as { from = \"22:00\", to = \"07:00\" }, found the text `22:00-07:00`";
        assert_eq!(found, [(key, expected)]);
    }
}

#[test]
fn invalid_value_is_named_with_plain_bounds() {
    for (file, expected) in [
        (
            json!({ "cron": { "enabled": "flase" } }),
            "expected true or false, found the text `flase`",
        ),
        (
            json!({ "budget": { "usdPerDay": 0 } }),
            "must be between 0.000001 and 1,000,000 dollars, found 0",
        ),
    ] {
        let errors = config(file, &[]).expect_err("wrong");
        assert_eq!(errors[0].message, expected);
    }
}

#[test]
fn api_key_in_place_of_a_name_is_refused_unquoted() {
    let provider = |key_env: &str| json!({ "providers": { "work": { "kind": "openai", "baseUrl": "https://a.example", "model": "m", "keyEnv": key_env } } });
    for key in ["sk-ant-api03-CANARY", "CANARYz0123456789abcdef", "9CANARY", "CANARY CANARY"] {
        let refused = config(provider(key), &[]).expect_err("refused");
        assert_eq!(refused[0].path, "providers.work.keyEnv");
        assert!(!format!("{refused:?}").contains("CANARY"), "{refused:?}");
    }
    for name in ["OPENAI_API_KEY", "AZURE_OPENAI_KEY_2026_PROD", "my_key", "_K1"] {
        assert!(config(provider(name), &[]).is_ok(), "{name}");
    }
}

#[test]
fn search_section_is_read_and_checked() {
    let search = |table: Value| config(json!({ "search": table }), &[]);
    let read = search(json!({ "provider": "kagi", "keySecret": "kagi" })).expect("good").search;
    assert_eq!(read.provider.map(|kind| kind.name()), Some("kagi"));
    assert_eq!((read.url, read.key_secret.as_deref()), (None, Some("kagi")));
    for (table, path) in [
        (json!({ "provider": "bing" }), "search.provider"),
        (json!({ "url": "localhost:8888" }), "search.url"),
        (json!({ "keySecret": "sk-0123456789" }), "search.keySecret"),
        (json!({ "keyEnv": "A", "keySecret": "b" }), "search.keySecret"),
    ] {
        let errors = search(table).expect_err(path);
        assert_eq!(errors[0].path, path);
    }
}

#[test]
fn registries_section_is_read_and_checked() {
    let registries = |table: Value| config(json!({ "registries": table }), &[]);
    let read = registries(json!({ "skills": "https://skills.example.org" })).expect("good");
    let skills = Some("https://skills.example.org".to_owned());
    assert_eq!(read.registries, RegistriesSection { servers: None, skills });
    assert_eq!(registries(json!({})).expect("good").registries, RegistriesSection::default());
    for key in ["servers", "skills"] {
        let errors = registries(json!({ key: "http://registry.example.org" })).expect_err(key);
        assert_eq!(errors[0].path, format!("registries.{key}"));
        assert!(errors[0].message.starts_with("must begin with https://"), "{errors:?}");
    }
}
