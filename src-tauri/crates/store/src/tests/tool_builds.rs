//! Versions of built tools.

use rouse_core::extension::{
    ExtensionName, ToolBuild, ToolBuildState, ToolLanguage, ToolSourceFile, ToolTestResult,
};

use super::*;

fn name(text: &str) -> ExtensionName {
    text.parse().unwrap()
}

fn test_result(passed: bool) -> ToolTestResult {
    let message = (!passed).then(|| "Expected 1, got 2.".to_owned());
    ToolTestResult { name: "rain".to_owned(), passed, message, log: Vec::new() }
}

/// A version that passed.
fn build(tool: &str, hash: &str) -> ToolBuild {
    ToolBuild {
        name: name(tool),
        hash: hash.to_owned(),
        language: ToolLanguage::JavaScript,
        engine: "wasmtime".to_owned(),
        engine_version: "48.0.8".to_owned(),
        tests: vec![test_result(true)],
        errors: Vec::new(),
        files: vec![
            ToolSourceFile { path: "tool.js".to_owned(), text: Some("1;".to_owned()), bytes: 2 },
            ToolSourceFile { path: "icon.png".to_owned(), text: None, bytes: 900 },
        ],
        manifest: json!({ "name": tool, "tests": [{ "name": "rain" }] }),
        run_id: Some(RunId::new("run-1")),
        is_tainted: false,
        checked_at: NOW,
        state: ToolBuildState::Passed,
    }
}

/// The same version with a failed test.
fn failed(build: &ToolBuild) -> ToolBuild {
    ToolBuild {
        tests: vec![test_result(false)],
        errors: vec!["No export `run`.".to_owned()],
        state: ToolBuildState::Failed,
        ..build.clone()
    }
}

impl Fixture {
    async fn record_build(&self, build: &ToolBuild) -> ToolBuildState {
        self.store.record_tool_build(build, NOW).await.unwrap()
    }

    async fn set_state(&self, tool: &str, hash: &str, state: ToolBuildState) -> bool {
        self.store.set_tool_build_state(&name(tool), hash, state, NOW).await.unwrap()
    }

    async fn build(&self, tool: &str, hash: &str) -> Option<ToolBuild> {
        self.store.tool_build(&name(tool), hash).await.unwrap()
    }

    async fn build_state(&self, tool: &str, hash: &str) -> Option<ToolBuildState> {
        self.build(tool, hash).await.map(|build| build.state)
    }

    /// The hashes of the versions of a name.
    async fn hashes(&self, tool: &str) -> Vec<String> {
        let builds = self.store.tool_versions(&name(tool)).await.unwrap();
        assert!(builds.iter().all(|build| build.files.is_empty()));
        builds.into_iter().map(|build| build.hash).collect()
    }

    /// The hashes of the newest and the accepted versions.
    async fn newest(&self) -> Vec<String> {
        let builds = self.store.newest_tool_builds().await.unwrap();
        assert!(builds.iter().all(|build| build.files.is_empty()));
        builds.into_iter().map(|build| build.hash).collect()
    }
}

#[tokio::test]
async fn recorded_build_is_read_back_completely() {
    let fixture = Fixture::new().await;
    let script = build("weather", "a");
    let component = ToolBuild {
        language: ToolLanguage::Rust,
        run_id: None,
        is_tainted: true,
        manifest: Value::Null,
        ..failed(&build("weather", "b"))
    };
    for build in [&script, &component] {
        assert_eq!(fixture.record_build(build).await, build.state);
        let event = (EventKind::Config, json!({ "toolBuilds": "weather" }));
        assert_eq!(fixture.take_events(), [event]);
    }
    assert_eq!(fixture.build("weather", "a").await, Some(script));
    assert_eq!(fixture.build("weather", "b").await, Some(component));
    assert_eq!(fixture.build("weather", "c").await, None);
    assert_eq!(fixture.build("other", "a").await, None);
}

#[tokio::test]
async fn further_check_replaces_facts_but_not_the_origin() {
    let fixture = Fixture::new().await;
    let first = ToolBuild { is_tainted: true, ..failed(&build("weather", "a")) };
    fixture.record_build(&first).await;
    let again = ToolBuild {
        engine: "other".to_owned(),
        engine_version: "49".to_owned(),
        run_id: None,
        checked_at: NOW.plus_ms(9),
        ..build("weather", "a")
    };
    assert_eq!(fixture.record_build(&again).await, ToolBuildState::Passed);
    let run_id = Some(RunId::new("run-1"));
    let expected = ToolBuild { run_id, is_tainted: true, ..again };
    assert_eq!(fixture.build("weather", "a").await, Some(expected));
    assert_eq!(fixture.hashes("weather").await, ["a"]);
}

#[tokio::test]
async fn check_in_tainted_run_taints_the_version() {
    let fixture = Fixture::new().await;
    fixture.record_build(&build("weather", "a")).await;
    let again = ToolBuild { is_tainted: true, ..build("weather", "a") };
    fixture.record_build(&again).await;
    assert!(fixture.build("weather", "a").await.unwrap().is_tainted);
}

#[tokio::test]
async fn failed_check_keeps_the_accepted_state() {
    let fixture = Fixture::new().await;
    let passed = build("weather", "a");
    fixture.record_build(&passed).await;
    fixture.set_state("weather", "a", ToolBuildState::Accepted).await;
    for check in [failed(&passed), passed] {
        assert_eq!(fixture.record_build(&check).await, ToolBuildState::Accepted);
        let stored = fixture.build("weather", "a").await.unwrap();
        assert_eq!(stored, ToolBuild { state: ToolBuildState::Accepted, ..check });
    }
}

#[tokio::test]
async fn builds_are_listed_by_last_check() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.newest().await, [""; 0]);
    // The clock was set back before the third check.
    for (tool, hash, at) in [("weather", "a", 9), ("mail", "b", 10), ("weather", "c", 1)] {
        let checked_at = NOW.plus_ms(at);
        fixture.record_build(&ToolBuild { checked_at, ..build(tool, hash) }).await;
    }
    assert_eq!(fixture.newest().await, ["c", "b"]);
    assert_eq!(fixture.hashes("weather").await, ["c", "a"]);
    fixture.set_state("weather", "a", ToolBuildState::Accepted).await;
    assert_eq!(fixture.newest().await, ["c", "b", "a"]);
    fixture.record_build(&build("weather", "a")).await;
    assert_eq!(fixture.newest().await, ["a", "b"]);
    assert_eq!(fixture.hashes("weather").await, ["a", "c"]);
}

#[tokio::test]
async fn accepting_a_version_replaces_the_earlier_one() {
    let fixture = Fixture::new().await;
    for (tool, hash) in [("weather", "a"), ("weather", "b"), ("weather", "c"), ("mail", "a")] {
        fixture.record_build(&build(tool, hash)).await;
    }
    fixture.set_state("mail", "a", ToolBuildState::Accepted).await;
    fixture.take_events();
    for hash in ["a", "a", "b"] {
        assert!(fixture.set_state("weather", hash, ToolBuildState::Accepted).await);
        assert_eq!(fixture.build_state("weather", hash).await, Some(ToolBuildState::Accepted));
        let event = (EventKind::Config, json!({ "toolBuilds": "weather" }));
        assert_eq!(fixture.take_events(), [event]);
    }
    assert_eq!(fixture.build_state("weather", "a").await, Some(ToolBuildState::Replaced));
    assert_eq!(fixture.build_state("weather", "c").await, Some(ToolBuildState::Passed));
    assert_eq!(fixture.build_state("mail", "a").await, Some(ToolBuildState::Accepted));
}

#[tokio::test]
async fn accepting_a_missing_version_changes_nothing() {
    let fixture = Fixture::new().await;
    fixture.record_build(&build("weather", "a")).await;
    fixture.set_state("weather", "a", ToolBuildState::Accepted).await;
    fixture.take_events();
    assert!(!fixture.set_state("weather", "b", ToolBuildState::Accepted).await);
    assert_eq!(fixture.build_state("weather", "a").await, Some(ToolBuildState::Accepted));
    assert_eq!(fixture.take_events(), []);
}

#[tokio::test]
async fn two_accepted_versions_are_impossible() {
    let fixture = Fixture::new().await;
    let accepted = |hash| ToolBuild { state: ToolBuildState::Accepted, ..build("weather", hash) };
    fixture.record_build(&accepted("a")).await;
    let second = fixture.store.record_tool_build(&accepted("b"), NOW).await;
    assert!(matches!(second, Err(crate::StoreError::Write { .. })), "{second:?}");
    assert_eq!(fixture.newest().await, ["a"]);
}

#[tokio::test]
async fn old_versions_are_pruned_except_the_accepted() {
    let fixture = Fixture::new().await;
    fixture.record_build(&build("mail", "m")).await;
    for number in 0..3 {
        fixture.record_build(&build("weather", &format!("old-{number}"))).await;
    }
    fixture.set_state("weather", "old-0", ToolBuildState::Accepted).await;
    for number in 0..25 {
        fixture.record_build(&build("weather", &format!("new-{number}"))).await;
    }
    let mut expected: Vec<String> = (6..25).rev().map(|number| format!("new-{number}")).collect();
    expected.push("old-0".to_owned());
    assert_eq!(fixture.hashes("weather").await, expected);
    assert_eq!(fixture.hashes("mail").await, ["m"]);
}

#[tokio::test]
async fn removed_tool_has_no_versions() {
    let fixture = Fixture::new().await;
    for (tool, hash) in [("weather", "a"), ("weather", "b"), ("mail", "a")] {
        fixture.record_build(&build(tool, hash)).await;
    }
    fixture.set_state("weather", "a", ToolBuildState::Accepted).await;
    fixture.take_events();
    let remove =
        async |kept| fixture.store.remove_tool_builds(&name("weather"), kept, NOW).await.unwrap();
    assert!(remove(Some("a")).await);
    assert_eq!(fixture.hashes("weather").await, ["a"]);
    fixture.take_events();
    assert!(remove(None).await);
    assert_eq!(fixture.take_events(), [(EventKind::Config, json!({ "toolBuilds": "weather" }))]);
    assert!(!remove(None).await);
    assert_eq!(fixture.take_events(), []);
    assert_eq!(fixture.hashes("weather").await, [""; 0]);
    assert_eq!(fixture.newest().await, ["a"]);
}

#[tokio::test]
async fn build_survives_its_pruned_run() {
    let fixture = Fixture::new().await;
    let run_id = Some(fixture.running("a").await);
    fixture.record_build(&ToolBuild { run_id: run_id.clone(), ..build("weather", "a") }).await;
    let mut tx = fixture.store.begin("prune", crate::sql::Durability::Full, NOW).await.unwrap();
    tx.execute(sqlx::query("DELETE FROM runs")).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(fixture.build("weather", "a").await.unwrap().run_id, run_id);
}
