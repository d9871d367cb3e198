//! `rouse` as a client of the suites' servers.

use std::collections::BTreeSet;
use std::process::Command;

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

/// The scenarios of both revisions with a sign-in.
const SIGN_IN_SCENARIOS: &[&str] = &[
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/pre-registration",
    "auth/scope-from-scopes-supported",
    "auth/scope-from-www-authenticate",
    "auth/scope-omitted-when-undefined",
    "auth/scope-retry-limit",
    "auth/scope-step-up",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-none",
    "auth/token-endpoint-auth-post",
];

/// The scenarios of 2026-07-28 with a sign-in.
const PER_REQUEST_SIGN_IN_SCENARIOS: &[&str] = &[
    "auth/authorization-server-migration",
    "auth/iss-normalized",
    "auth/iss-not-advertised",
    "auth/iss-supported",
    "auth/iss-supported-missing",
    "auth/iss-unexpected",
    "auth/iss-wrong-issuer",
    "auth/metadata-issuer-mismatch",
    "auth/offline-access-not-supported",
    "auth/offline-access-scope",
    "auth/resource-mismatch",
];

/// Scenarios that need a person, one for each revision.
const QUESTIONS: ExpectedFailures = ExpectedFailures {
    reason: "Without a person, Rouse cancels the question of a server.",
    scenarios: &["elicitation-sep1034-client-defaults", "sep-2322-client-request-state"],
};

const CLIENT_DOCUMENT: ExpectedFailures = ExpectedFailures {
    reason: "Rouse publishes no client id metadata document; it registers itself at each sign-in server.",
    scenarios: &["auth/basic-cimd"],
};

/// Sign-ins of extensions of the protocol, which are not required and not run: a person signs in at each server, with a
/// bearer token.
const EXTENSION_SIGN_INS: &[&str] = &[
    "auth/client-credentials-basic",
    "auth/client-credentials-jwt",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/enterprise-managed-authorization",
    "auth/wif-jwt-bearer",
];

/// The time limit of a scenario in milliseconds, for a busy machine.
const TIMEOUT_MS: &str = "120000";

/// The only warning of a run that reconnected some hundred milliseconds late, as on a busy machine.
const LATE_WARNING: [&str; 2] = ["0 failed, 1 warnings", "Client reconnected slightly late"];

#[test]
fn client_passes_the_scenarios_of_2025_11_25() {
    pass(ConformanceSuite::Handshake, HANDSHAKE_SCENARIOS);
}

#[test]
fn client_passes_the_scenarios_of_2026_07_28() {
    pass(ConformanceSuite::PerRequest, PER_REQUEST_SCENARIOS);
}

#[test]
fn client_passes_the_sign_ins_of_2025_11_25() {
    pass(ConformanceSuite::Handshake, SIGN_IN_SCENARIOS);
}

#[test]
fn client_passes_the_sign_ins_of_2026_07_28() {
    pass(ConformanceSuite::PerRequest, SIGN_IN_SCENARIOS);
    pass(ConformanceSuite::PerRequest, PER_REQUEST_SIGN_IN_SCENARIOS);
}

#[test]
fn scenarios_without_support_fail() {
    let (handshake, per_request) = (ConformanceSuite::Handshake, ConformanceSuite::PerRequest);
    fail(handshake, &QUESTIONS, &QUESTIONS.scenarios[..1]);
    fail(per_request, &QUESTIONS, &QUESTIONS.scenarios[1..]);
    fail(handshake, &CLIENT_DOCUMENT, CLIENT_DOCUMENT.scenarios);
    fail(per_request, &CLIENT_DOCUMENT, CLIENT_DOCUMENT.scenarios);
}

#[test]
fn every_required_client_scenario_is_listed_here() {
    let here: BTreeSet<&str> = [
        HANDSHAKE_SCENARIOS,
        PER_REQUEST_SCENARIOS,
        SIGN_IN_SCENARIOS,
        PER_REQUEST_SIGN_IN_SCENARIOS,
        QUESTIONS.scenarios,
        CLIENT_DOCUMENT.scenarios,
    ]
    .concat()
    .into_iter()
    .collect();
    let (mut required, mut extensions) = (BTreeSet::new(), BTreeSet::new());
    for suite in [ConformanceSuite::Handshake, ConformanceSuite::PerRequest] {
        // Only the newer suite knows which scenarios a revision requires.
        let mut list = ConformanceSuite::PerRequest.command();
        list.args(["list", "--requirements", suite.revision()]);
        let output = list.output().expect("Node.js starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, client) = text.split_once("Client scenarios").expect("a list");
        let (scored, reported) = client.split_once("Run and reported").expect("a list");
        let names = scored.lines().filter_map(|line| line.strip_prefix("  - "));
        required.extend(names.map(str::to_owned));
        let names = reported.lines().filter_map(|line| line.trim().strip_prefix("- auth/"));
        let names = names.filter_map(|name| name.strip_suffix(" [client]"));
        extensions.extend(names.map(|name| format!("auth/{name}")));
    }
    assert_eq!(required.iter().map(String::as_str).collect::<BTreeSet<_>>(), here);
    let extensions: Vec<&str> = extensions.iter().map(String::as_str).collect();
    assert_eq!(extensions, EXTENSION_SIGN_INS);
}

/// Runs `rouse` against the server of each scenario, which must pass.
fn pass(suite: ConformanceSuite, scenarios: &[&str]) {
    let is_only_late = |output: &String| LATE_WARNING.iter().all(|text| output.contains(text));
    let failures: Vec<String> = scenarios
        .iter()
        .filter_map(|scenario| run(visit(suite, scenario)).err())
        .filter(|output| !is_only_late(output))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs `rouse` against the server of each scenario, which must fail as `expected`.
fn fail(suite: ConformanceSuite, expected: &ExpectedFailures, scenarios: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("expected.yml");
    write_expected_failures(&file, "client", &[expected]);
    for scenario in scenarios {
        let mut command = visit(suite, scenario);
        command.arg("--expected-failures").arg(&file);
        if let Err(output) = run(command) {
            panic!("{output}");
        }
    }
}

/// The command that runs `rouse` against the server of a scenario. Without expected failures, the command also fails if
/// `rouse` fails.
fn visit(suite: ConformanceSuite, scenario: &str) -> Command {
    let rouse = built_program("ROUSE_BIN", "rouse", "rouse-cli");
    let mut command = suite.command();
    command.args(["client", "--scenario", scenario, "--timeout", TIMEOUT_MS]);
    command.arg("--command").arg(format!("{} mcp-conformance", rouse.display()));
    if suite == ConformanceSuite::PerRequest {
        command.args(["--spec-version", suite.revision()]);
    }
    command
}
