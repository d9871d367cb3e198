//! Properties of every built-in tool.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jsonschema::Validator;
use rouse_core::extension::RESERVED_EXTENSION_NAMES;
use rouse_core::memory::{IndexChanges, IndexFuture, IndexedFile, MemoryHit, MemoryIndex};
use rouse_core::routines::{RoutineAuthor, RoutineRefusal, RoutineRequest, Routines};
use rouse_core::tool::{ApprovalRule, BoxFuture, Fault, Tool, ToolDomain};
use serde_json::{Value, json};

use crate::test_context::{call, call_in};
use crate::{ToolsConfig, builtin, memory_tools, routine_tools};

/// An empty memory index.
struct EmptyIndex;

impl MemoryIndex for EmptyIndex {
    fn held(&self) -> IndexFuture<'_, Vec<IndexedFile>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn change(&self, _: IndexChanges) -> IndexFuture<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn search<'a>(&'a self, _: &'a str, _: u32) -> IndexFuture<'a, Vec<MemoryHit>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// Routines that are never called.
struct UnusedRoutines;

impl Routines for UnusedRoutines {
    fn ask<'a>(
        &'a self,
        _: RoutineRequest,
        _: RoutineAuthor<'a>,
    ) -> BoxFuture<'a, Result<Value, RoutineRefusal>> {
        Box::pin(std::future::ready(Ok(Value::Null)))
    }

    fn check<'a>(
        &'a self,
        _: &'a RoutineRequest,
        _: RoutineAuthor<'a>,
    ) -> BoxFuture<'a, Result<(), RoutineRefusal>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Every built-in tool.
fn all() -> Vec<Arc<dyn Tool>> {
    let mut tools = builtin(ToolsConfig::default());
    tools.extend(memory_tools(Arc::new(EmptyIndex), 1_000));
    tools.extend(routine_tools(&(Arc::new(UnusedRoutines) as Arc<dyn Routines>)));
    tools
}

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
                json!({ "url": "x", "method": "POST", "body": "b" }),
                json!({ "url": "x", "method": "PUT", "json": [1] }),
            ],
        ),
        (
            "read_file",
            vec![
                json!({ "path": "a" }),
                json!({ "path": "a", "encoding": "utf-8", "offset": 0, "limit": 4 }),
            ],
        ),
        (
            "list_dir",
            vec![
                json!({}),
                json!({ "path": ".", "recursive": true, "showHidden": true, "showIgnored": true }),
            ],
        ),
        (
            "search_files",
            vec![
                json!({ "pattern": "a" }),
                json!({
                    "pattern": "a", "glob": "*.md", "path": "b", "ignoreCase": true,
                    "showHidden": true, "showIgnored": true, "offset": 1,
                }),
            ],
        ),
        ("write_file", vec![json!({ "path": "a", "content": "" })]),
        (
            "edit_file",
            vec![
                json!({ "path": "a", "oldText": "b", "newText": "" }),
                json!({ "path": "a", "oldText": "b", "newText": "c", "replaceAll": true }),
            ],
        ),
        (
            "create_workspace",
            vec![
                json!({ "name": "a" }),
                json!({ "path": "a/b", "allowExisting": true, "createReadme": true, "readmeTitle": "A" }),
            ],
        ),
        (
            "run_command",
            vec![
                json!({ "command": "true" }),
                json!({ "command": "true", "cwd": ".", "timeoutSeconds": 5 }),
            ],
        ),
        ("notify", vec![json!({ "body": "b" }), json!({ "title": "t", "body": "b" })]),
        ("complete_run", vec![json!({ "outcome": "report", "summary": "s" })]),
        ("tool_search", vec![json!({ "query": "a" })]),
        (
            "memory_write",
            vec![
                json!({ "path": "a", "content": "" }),
                json!({ "title": "a", "content": "b", "append": true }),
            ],
        ),
        (
            "memory_read",
            vec![json!({ "path": "a" }), json!({ "path": "a", "offset": 1, "limit": 4 })],
        ),
        ("memory_search", vec![json!({ "query": "a" }), json!({ "query": "a", "limit": 50 })]),
        (
            "routine_create",
            vec![
                json!({ "name": "a", "schedule": { "kind": "at", "at": "20m" }, "reminder": "b" }),
                json!({
                    "name": "a", "schedule": { "kind": "cron", "expr": "@daily", "tz": "Asia/Tokyo" },
                    "message": "b", "use_tools": true, "tools": ["http"], "notify": "always",
                }),
                json!({
                    "name": "a", "schedule": { "kind": "event", "source": "job", "filters": { "jobId": "c" } },
                    "call": { "tool": "http", "arguments": { "url": "x" }, "notifyWhen": "changed" },
                }),
            ],
        ),
        ("routine_list", vec![json!({}), json!({ "search": "a", "limit": 100, "cursor": "c" })]),
        (
            "routine_update",
            vec![
                json!({ "id": "a", "revision": 1, "enabled": false }),
                json!({ "id": "a", "revision": 0, "schedule": { "kind": "every", "every": "1h" } }),
            ],
        ),
        ("routine_delete", vec![json!({ "id": "a" })]),
        ("routine_fire", vec![json!({ "id": "a" })]),
        ("routine_history", vec![json!({ "id": "a" }), json!({ "id": "a", "limit": 50 })]),
    ])
}

#[test]
fn catalogue_is_complete_and_in_order() {
    let tools = all();
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    let expected = [
        "echo",
        "time",
        "json",
        "http",
        "read_file",
        "list_dir",
        "search_files",
        "write_file",
        "edit_file",
        "create_workspace",
        "run_command",
        "notify",
        "complete_run",
        "tool_search",
        "memory_write",
        "memory_read",
        "memory_search",
        "routine_create",
        "routine_list",
        "routine_update",
        "routine_delete",
        "routine_fire",
        "routine_history",
    ];
    assert_eq!(names, expected);
}

#[test]
fn beginning_of_every_tool_name_is_reserved() {
    // Tools that other crates or settings add.
    let mut beginnings = BTreeSet::from(["delegate", "skill", "web"].map(str::to_owned));
    for tool in all() {
        let name = &tool.spec().name;
        let beginning = name.split_once('_').map_or(name.as_str(), |(beginning, _)| beginning);
        beginnings.insert(beginning.to_owned());
    }
    assert_eq!(beginnings.into_iter().collect::<Vec<_>>(), RESERVED_EXTENSION_NAMES);
}

#[test]
fn every_tool_has_a_unique_label_and_description() {
    let mut labels = BTreeSet::new();
    for tool in all() {
        let name = &tool.spec().name;
        let label = tool.spec().label.clone().unwrap_or_default();
        let begins = label.chars().next().is_some_and(char::is_uppercase);
        assert!(begins && (4..=32).contains(&label.len()), "{name}: {label:?}");
        assert!(!label.contains('_') && !label.ends_with(['.', '?']), "{name}: {label:?}");
        assert!(labels.insert(label.clone()), "{name}: another one says {label:?}");
    }
}

#[test]
fn every_schema_is_strict_and_accepts_valid_arguments() {
    for tool in all() {
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
async fn every_tool_refuses_unknown_arguments() {
    for tool in all() {
        for mut arguments in valid_arguments()[tool.spec().name.as_str()].clone() {
            arguments["approved"] = true.into();
            let output = call(&*tool, arguments).await;
            assert!(output.is_error() && output.effect.is_none(), "{}", tool.spec().name);
            assert!(output.text().contains("approved"), "{}: {}", tool.spec().name, output.text());
        }
    }
}

#[tokio::test]
async fn long_field_is_the_last_of_an_output() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(dir.path().join("file"), "eight by").expect("a file");
    let tools = all();
    let cases = [
        ("read_file", json!({ "path": "file", "limit": 4 }), "\"content\":\"eigh\"}"),
        ("list_dir", json!({}), "\"size\":8}]}"),
        ("search_files", json!({ "pattern": "by" }), "\"content\":\"file:1: eight by\"}"),
    ];
    for (name, arguments, end) in cases {
        let tool = tools.iter().find(|tool| tool.spec().name == name).expect("a tool");
        let text = call_in(&**tool, dir.path(), arguments).await.text();
        assert!(text.ends_with(end), "{text}");
    }
}

/// Name, approval, domain, untrusted output, idempotence, and rate limits.
type Judged = (&'static str, ApprovalRule, ToolDomain, bool, bool, (u32, u32));

const JUDGED: &[Judged] = {
    use ApprovalRule::{Never, UnlessGranted};
    use ToolDomain::{Container, InProcess};
    &[
        ("echo", Never, InProcess, false, true, (60, 1_000)),
        ("time", Never, InProcess, false, true, (60, 1_000)),
        ("json", Never, InProcess, false, true, (60, 1_000)),
        ("http", Never, InProcess, true, false, (30, 500)),
        ("read_file", Never, InProcess, true, true, (60, 1_000)),
        ("list_dir", Never, InProcess, true, true, (60, 1_000)),
        ("search_files", Never, InProcess, true, true, (60, 1_000)),
        ("write_file", UnlessGranted, InProcess, false, true, (20, 200)),
        ("edit_file", UnlessGranted, InProcess, false, false, (30, 300)),
        ("create_workspace", UnlessGranted, InProcess, false, true, (60, 1_000)),
        ("run_command", UnlessGranted, Container, true, false, (30, 300)),
        ("notify", Never, InProcess, false, false, (20, 200)),
        ("complete_run", Never, InProcess, false, true, (u32::MAX, u32::MAX)),
        ("tool_search", Never, InProcess, false, true, (60, 1_000)),
        ("memory_write", Never, InProcess, false, true, (20, 200)),
        ("memory_read", Never, InProcess, true, true, (60, 1_000)),
        ("memory_search", Never, InProcess, true, true, (60, 1_000)),
        ("routine_create", UnlessGranted, InProcess, false, false, (5, 30)),
        ("routine_list", Never, InProcess, true, true, (60, 1_000)),
        ("routine_update", UnlessGranted, InProcess, false, true, (60, 1_000)),
        ("routine_delete", UnlessGranted, InProcess, false, true, (60, 1_000)),
        ("routine_fire", UnlessGranted, InProcess, false, false, (10, 60)),
        ("routine_history", Never, InProcess, true, true, (60, 1_000)),
    ]
};

#[test]
fn every_tool_has_the_expected_policy_spec() {
    let tools = all();
    let rules: Vec<_> = tools
        .iter()
        .map(|tool| {
            let spec = tool.spec();
            let rate = (spec.rate.per_minute, spec.rate.per_hour);
            let name = spec.name.as_str();
            (name, spec.approval, spec.domain, spec.untrusted_output, spec.is_repeatable(), rate)
        })
        .collect();
    assert_eq!(rules, JUDGED);
    assert!(tools.iter().all(|tool| !tool.spec().description.is_empty()));
    for tool in &tools {
        let spec = tool.spec();
        assert_eq!(spec.attended_only, spec.name.starts_with("routine_"), "{}", spec.name);
    }
}

#[tokio::test]
async fn file_and_command_outputs_have_success_and_fault() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let missing = json!({ "path": "none" });
    let cases = [
        ("read_file", missing.clone(), Fault::Execution),
        ("read_file", json!({ "path": "../x" }), Fault::NotAuthorised),
        ("read_file", json!({ "path": "a\0b" }), Fault::InvalidParameters),
        ("read_file", json!({ "path": 1 }), Fault::InvalidParameters),
        ("list_dir", missing, Fault::Execution),
        ("list_dir", json!({ "path": "/" }), Fault::NotAuthorised),
        ("write_file", json!({ "path": "../x", "content": "" }), Fault::NotAuthorised),
        ("write_file", json!({ "path": ".", "content": "" }), Fault::Execution),
        ("search_files", json!({}), Fault::InvalidParameters),
        ("search_files", json!({ "glob": "*", "path": "/" }), Fault::NotAuthorised),
        ("edit_file", json!({ "path": "none", "oldText": "a", "newText": "b" }), Fault::Execution),
        (
            "edit_file",
            json!({ "path": "/x", "oldText": "a", "newText": "b" }),
            Fault::NotAuthorised,
        ),
        ("create_workspace", json!({ "name": "a", "path": "a" }), Fault::InvalidParameters),
        ("create_workspace", json!({ "path": "/a" }), Fault::NotAuthorised),
        ("run_command", json!({ "command": "exit 3" }), Fault::Execution),
        ("run_command", json!({ "command": "true", "cwd": "none" }), Fault::Execution),
        ("memory_write", json!({ "path": "a.txt", "content": "" }), Fault::InvalidParameters),
        ("memory_read", json!({ "path": "../x" }), Fault::NotAuthorised),
        ("memory_search", json!({ "query": "?" }), Fault::InvalidParameters),
    ];
    let tools = all();
    for (name, arguments, fault) in cases {
        let tool = tools.iter().find(|tool| tool.spec().name == name).expect("a tool");
        let output = call_in(&**tool, dir.path(), arguments.clone()).await;
        assert_eq!(output.fault, Some(fault), "{name} {arguments}: {output:?}");
        assert_eq!(output.value["success"], false, "{name} {arguments}");
        assert!(
            output.value["error"].as_str().is_some_and(|error| error.ends_with('.')),
            "{output:?}"
        );
        assert!(output.words.is_some(), "a person reads words");
    }
}
