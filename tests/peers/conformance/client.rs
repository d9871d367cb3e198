//! `rouse` as a client of the suites' servers.

use std::collections::BTreeSet;

use rouse_tests::built_program;

use super::suite::{ConformanceSuite, ExpectedFailures, run, write_expected_failures};

/// The scenarios of 2025-11-25.
const HANDSHAKE_SCENARIOS: &[&str] = &["initialize", "tools_call", "sse-retry"];

/// The scenarios of 2026-07-28.
const PER_REQUEST_SCENARIOS: &[&str] = &[
    "tools_call",
    "request-metadata",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
];

/// Scenarios that need a person.
const QUESTIONS: ExpectedFailures = ExpectedFailures {
    reason: "Without a person, Rouse cancels the question of a server.",
    scenarios: &["elicitation-sep1034-client-defaults", "sep-2322-client-request-state"],
};

/// Scenarios with a sign-in, not yet run.
const SIGN_IN_SCENARIOS: &[&str] = &[
    "auth/authorization-server-migration",
    "auth/basic-cimd",
    "auth/iss-normalized",
    "auth/iss-not-advertised",
    "auth/iss-supported",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-default",
    "auth/metadata-issuer-mismatch",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/offline-access-not-supported",
    "auth/offline-access-scope",
    "auth/pre-registration",
    "auth/resource-mismatch",
    "auth/scope-from-scopes-supported",
    "auth/scope-from-www-authenticate",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/scope-step-up",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-none",
    "auth/token-endpoint-auth-post",
];

/// The time limit of a scenario in milliseconds, for a busy machine.
const TIMEOUT_MS: &str = "120000";

/// The only warning of a run that reconnected some hundred milliseconds late, as on a busy machine.
const LATE_WARNING: [&str; 2] = ["0 failed, 1 warnings", "Client reconnected slightly late"];

#[test]
fn client_passes_the_scenarios_of_2025_11_25() {
    visit(ConformanceSuite::Handshake, HANDSHAKE_SCENARIOS);
    visit(ConformanceSuite::Handshake, &QUESTIONS.scenarios[..1]);
}

#[test]
fn client_passes_the_scenarios_of_2026_07_28() {
    visit(ConformanceSuite::PerRequest, PER_REQUEST_SCENARIOS);
    visit(ConformanceSuite::PerRequest, &QUESTIONS.scenarios[1..]);
}

#[test]
fn every_required_client_scenario_is_listed_here() {
    let here: BTreeSet<&str> =
        [HANDSHAKE_SCENARIOS, PER_REQUEST_SCENARIOS, QUESTIONS.scenarios, SIGN_IN_SCENARIOS]
            .concat()
            .into_iter()
            .collect();
    let mut required = BTreeSet::new();
    for suite in [ConformanceSuite::Handshake, ConformanceSuite::PerRequest] {
        // Only the newer suite knows which scenarios a revision requires.
        let mut list = ConformanceSuite::PerRequest.command();
        list.args(["list", "--requirements", suite.revision()]);
        let output = list.output().expect("Node.js starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, client) = text.split_once("Client scenarios").expect("a list");
        let (scored, _) = client.split_once("Run and reported").expect("a list");
        let names = scored.lines().filter_map(|line| line.strip_prefix("  - "));
        required.extend(names.map(str::to_owned));
    }
    assert_eq!(required.iter().map(String::as_str).collect::<BTreeSet<_>>(), here);
}

/// Runs `rouse` against the server of each scenario.
fn visit(suite: ConformanceSuite, scenarios: &[&str]) {
    let rouse = built_program("ROUSE_BIN", "rouse", "rouse-cli");
    let folder = tempfile::tempdir().expect("a folder");
    let expected = folder.path().join("expected.yml");
    write_expected_failures(&expected, "client", &[&QUESTIONS]);
    let failures: Vec<String> = scenarios
        .iter()
        .copied()
        .filter_map(|scenario| {
            let mut command = suite.command();
            command.args(["client", "--scenario", scenario, "--timeout", TIMEOUT_MS]);
            command.arg("--command").arg(format!("{} mcp-conformance", rouse.display()));
            command.arg("--expected-failures").arg(&expected);
            if suite == ConformanceSuite::PerRequest {
                command.args(["--spec-version", suite.revision()]);
            }
            let is_only_late =
                |output: &String| LATE_WARNING.iter().all(|text| output.contains(text));
            run(command).err().filter(|output| !is_only_late(output))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
