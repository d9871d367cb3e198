use std::fs;
use std::sync::Arc;

use serde_json::json;

use super::components;
use super::fixture::{GuestFixture, StoppedGuestClock};
use crate::{ComponentBytes, ENGINE_VERSION, ToolCheck, ToolChecker, ToolFolder, ToolTestFailure};

/// Checks a folder with this component and manifest. The manifest gets its head here.
async fn check(component: &ComponentBytes, rest: &str) -> ToolCheck {
    let fixture = GuestFixture::new();
    let folder = fixture.folder.path().join("tool");
    fs::create_dir(&folder).expect("a folder");
    let head = "name = \"parrot\"\ndescription = \"Echoes.\"\nlanguage = \"rust\"\n";
    fs::write(folder.join("tool.toml"), format!("{head}{rest}")).expect("a file");
    fs::write(folder.join("tool.wasm"), component.bytes()).expect("a file");
    let clock = Arc::new(StoppedGuestClock(fixture.now));
    let no_scripts = ComponentBytes::from(Vec::new());
    let checker = ToolChecker::new(Arc::new(fixture.runtime), no_scripts, clock);
    checker.check(&ToolFolder::read(&folder).expect("files")).await
}

const OBJECT: &str = "parameters.type = \"object\"\n";

const HTTP: &str = r#"
    permissions = { hosts = ["api.example.com"], secrets = ["key"] }
    parameters = { type = "object" }
"#;

#[tokio::test]
async fn tool_with_passing_tests_is_passed() {
    let tests = r#"
        [[tests]]
        name = "numbers"
        arguments = { a = [1, 2.0] }
        expected = { a = [1, 2] }
        [[tests]]
        name = "nothing"
        expected_json = "{}"
    "#;
    let check = check(&components::echo(), &format!("{OBJECT}{tests}")).await;
    assert!(check.is_passed(), "{check:?}");
    assert_eq!((check.hash.len(), check.engine_version), (64, ENGINE_VERSION));
    assert_eq!(check.tests.len(), 2);
}

#[tokio::test]
async fn failing_test_is_a_fact() {
    let tests = r#"
        [[tests]]
        name = "passes"
        expected = {}
        [[tests]]
        name = "fails"
        arguments = { a = 1 }
        expected = { a = 2 }
    "#;
    let check = check(&components::echo(), &format!("{OBJECT}{tests}")).await;
    assert!(!check.is_passed());
    assert_eq!(check.tests[0].failure, None);
    let failure = ToolTestFailure::OtherResult {
        actual: json!({ "a": 1 }).to_string(),
        expected: json!({ "a": 2 }).to_string(),
    };
    assert_eq!(check.tests[1].failure, Some(failure));
}

#[tokio::test]
async fn canned_answer_replaces_the_network() {
    let tests = r#"
        [[tests]]
        name = "covered"
        arguments = {}
        expected = { seen = true }
        [[tests.http]]
        url = "https://api.example.com/?k={{secret:key}}"
        body = { seen = true }
    "#;
    let component = components::getting_from("https://api.example.com/?k={{secret:key}}");
    let covered = check(&component, &format!("{HTTP}{tests}")).await;
    assert!(covered.is_passed(), "{covered:?}");
    assert_eq!(covered.tests[0].http_exchanges, 1);

    let other = tests.replace("/?k=", "/other?k=");
    let uncovered = check(&component, &format!("{HTTP}{other}")).await;
    let failure = ToolTestFailure::UncoveredRequest {
        method: "GET".to_owned(),
        url: "https://api.example.com/?k={{secret:key}}".to_owned(),
    };
    assert_eq!(uncovered.tests[0].failure, Some(failure));
}

#[tokio::test]
async fn import_beyond_the_permissions_is_a_problem() {
    let tests = "[[tests]]\nname = \"a\"\nexpected_error = \"x\"\n";
    let check = check(&components::getting_from("x"), &format!("{OBJECT}{tests}")).await;
    assert!(!check.is_passed() && check.tests.is_empty());
    let [problem] = check.problems.as_slice() else { panic!("{:?}", check.problems) };
    assert!(problem.contains("imports rouse:tool/http@0.1.0"), "{problem}");
}

#[tokio::test]
async fn component_problems_are_facts() {
    let tests = format!("{OBJECT}[[tests]]\nname = \"a\"\nexpected = 1\n");
    let other_world = check(&components::encode("(component)"), &tests).await;
    assert!(other_world.problems[0].contains("does not export `run"), "{other_world:?}");
    let invalid = check(&b"(component)".to_vec().into(), &tests).await;
    assert!(invalid.problems[0].contains("not valid"), "{invalid:?}");
    let many = check(&components::with_modules(500), &tests).await;
    assert!(!many.is_passed());
}

#[tokio::test]
async fn manifest_problems_come_before_the_component() {
    let check = check(&Vec::new().into(), "parameters.type = \"object\"\nversio = \"1\"\n").await;
    assert!(!check.is_passed() && check.manifest.is_none() && check.problems.is_empty());
    let fields: Vec<&str> =
        check.manifest_problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["versio", "tests"]);
}
