//! What holds for every built-in tool.

use std::collections::BTreeMap;

use jsonschema::Validator;
use rouse_core::tool::{ApprovalRule, Domain};
use serde_json::{Value, json};

use crate::testing::{call, call_in};
use crate::{ToolsConfig, builtin};

fn valid_arguments() -> BTreeMap<&'static str, Vec<Value>> {
    BTreeMap::from([
        ("echo", vec![json!({ "text": "x" })]),
        ("time", vec![json!({}), json!({ "tz": "Europe/Berlin" })]),
        (
            "json",
            vec![
                json!({ "op": "merge", "value": {}, "patch": null }),
                json!({ "op": "get", "text": "1", "pointer": "" }),
            ],
        ),
        (
            "http",
            vec![
                json!({ "url": "https://example.com" }),
                json!({ "url": "x", "headers": { "accept": "a" }, "maxBytes": 1 }),
            ],
        ),
        (
            "read_file",
            vec![
                json!({ "path": "a" }),
                json!({ "path": "a", "encoding": "utf-8", "offset": 0, "limit": 4 }),
            ],
        ),
        ("list_dir", vec![json!({}), json!({ "path": ".", "recursive": true })]),
        (
            "run_command",
            vec![
                json!({ "command": "true" }),
                json!({ "command": "true", "cwd": ".", "timeoutSeconds": 5 }),
            ],
        ),
        ("notify", vec![json!({ "body": "b" }), json!({ "title": "t", "body": "b" })]),
        ("complete_run", vec![json!({ "outcome": "report", "summary": "s" })]),
    ])
}

#[test]
fn the_catalogue_is_complete_and_in_order() {
    let tools = builtin(ToolsConfig::default());
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    let expected = [
        "echo",
        "time",
        "json",
        "http",
        "read_file",
        "list_dir",
        "run_command",
        "notify",
        "complete_run",
    ];
    assert_eq!(names, expected);
}

#[test]
fn every_schema_is_strict_and_takes_what_the_tool_takes() {
    for tool in builtin(ToolsConfig::default()) {
        let spec = tool.spec();
        let schema: Validator =
            jsonschema::draft202012::new(&spec.parameters).expect("a valid schema");
        assert_eq!(spec.parameters["additionalProperties"], false, "{}", spec.name);
        for arguments in &valid_arguments()[spec.name.as_str()] {
            assert!(schema.is_valid(arguments), "{}: {arguments}", spec.name);
            let mut more = arguments.clone();
            more["approved"] = true.into();
            assert!(!schema.is_valid(&more), "{} takes an unknown argument", spec.name);
        }
        assert!(!schema.is_valid(&json!([])), "{} takes a list", spec.name);
    }
}

#[tokio::test]
async fn every_tool_refuses_unknown_arguments_by_itself() {
    for tool in builtin(ToolsConfig::default()) {
        for mut arguments in valid_arguments()[tool.spec().name.as_str()].clone() {
            arguments["approved"] = true.into();
            let output = call(&*tool, arguments).await;
            assert!(output.is_error() && output.effect.is_none(), "{}", tool.spec().name);
            assert!(output.text().contains("approved"), "{}: {}", tool.spec().name, output.text());
        }
    }
}

#[tokio::test]
async fn what_may_be_long_comes_last() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(dir.path().join("file"), "eight by").expect("a file");
    let tools = builtin(ToolsConfig::default());
    let cases = [
        ("read_file", json!({ "path": "file", "limit": 4 }), "\"content\":\"eigh\"}"),
        ("list_dir", json!({}), "\"size\":8}]}"),
    ];
    for (name, arguments, end) in cases {
        let tool = tools.iter().find(|tool| tool.spec().name == name).expect("it exists");
        let text = call_in(&**tool, dir.path(), arguments).await.text();
        assert!(text.ends_with(end), "{text}");
    }
}

#[test]
fn every_tool_says_truly_how_it_is_to_be_judged() {
    let from_outside = ["http", "read_file", "list_dir", "run_command"];
    let acts = ["notify", "run_command"];
    for tool in builtin(ToolsConfig::default()) {
        let spec = tool.spec();
        let asks = spec.name == "run_command";
        let approval = if asks { ApprovalRule::UnlessGranted } else { ApprovalRule::Never };
        assert_eq!(spec.approval, approval, "{}", spec.name);
        let domain = if asks { Domain::Container } else { Domain::InProcess };
        assert_eq!(spec.domain, domain, "{}", spec.name);
        assert_eq!(
            spec.untrusted_output,
            from_outside.contains(&spec.name.as_str()),
            "{}",
            spec.name
        );
        assert_eq!(spec.is_repeatable(), !acts.contains(&spec.name.as_str()), "{}", spec.name);
        assert!(
            spec.rate.per_minute > 0 && spec.rate.per_hour > 0 && !spec.description.is_empty(),
            "{}",
            spec.name
        );
    }
}
