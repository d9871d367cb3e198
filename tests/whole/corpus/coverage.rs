//! The two tables cover every tool and every source of untrusted input.
//!
//! The engine's tool catalogue and `UntrustedSource` are the reference. Each case also checks the marks around the
//! injection that the model read. Pitfall: a list in the test that nothing compares with the engine.

use std::collections::BTreeSet;

use rouse_agent::UntrustedSource;
use rouse_core::cause::SOURCES;
use rouse_store::SOURCE_HOOK;
use serde_json::{Value, json};

use super::attacked_engine::{AttackedEngine, Person};
use super::attacks::attacks;
use super::injections::{INJECTIONS, Injection};

/// The mark prefix of a job report; the job id follows.
const REPORT: &str = "cron:";

/// The source in the marks around this injection. None for trusted input: the person's own text or job name.
const fn source_of(injection: Injection) -> Option<&'static str> {
    Some(match injection {
        Injection::Page
        | Injection::PageContentType
        | Injection::PageError
        | Injection::PageAddress
        | Injection::RefusedRedirect
        | Injection::ChatPage => "http",
        Injection::ReadPage => "web_fetch",
        Injection::SearchResult => "web_search",
        Injection::File => "read_file",
        Injection::FileName => "list_dir",
        Injection::SearchedFile => "search_files",
        Injection::CommandOutput => "run_command",
        Injection::Webhook | Injection::WebhookField => "webhook",
        Injection::JobEvent => "job",
        Injection::CronEvent => "cron",
        Injection::WakeEvent => "wake",
        Injection::HeartbeatEvent | Injection::ChatEvent => SOURCE_HOOK,
        Injection::MemoryFile => "memory_read",
        Injection::MemorySearch => "memory_search",
        Injection::ChatRoutines => "routine_list",
        Injection::ChatHistory => "routine_history",
        Injection::HeartbeatSummary => REPORT,
        Injection::HeartbeatFile => "HEARTBEAT.md",
        Injection::SessionSummary => "a summary of earlier runs",
        Injection::Skill | Injection::SkillFile | Injection::SkillDescription => "skill_read",
        Injection::SkillFileName => "names of files",
        Injection::ContextFile
        | Injection::Session
        | Injection::HeartbeatSession
        | Injection::DenialReason
        | Injection::JobName => return None,
    })
}

/// Whether the marks are those of this injection.
pub(super) fn has_expected_marks(injection: Injection, marks: &[String]) -> bool {
    match (source_of(injection), marks) {
        (None, _) => true,
        (Some(REPORT), [mark]) => mark.starts_with(REPORT),
        (Some(source), [mark]) => mark == source,
        (Some(_), _) => false,
    }
}

/// The marks of a source. A new source does not compile until it has an arm here.
fn marks_of_source(source: UntrustedSource<'static>) -> Vec<&'static str> {
    match source {
        UntrustedSource::Cause(_) => SOURCES.to_vec(),
        // A system event of another author comes from a script or a job report.
        UntrustedSource::SystemEvent(_) => vec![SOURCE_HOOK, REPORT],
        UntrustedSource::HeartbeatFile | UntrustedSource::SkillFiles | UntrustedSource::Summary => {
            vec![source.label()]
        }
        // The compaction model has no tools. Its output is covered by the summary.
        UntrustedSource::Transcript => Vec::new(),
    }
}

/// Tools without a call, tools without an injection in their output, and sources without an injection.
fn uncovered(catalog: &[Value], called: &BTreeSet<String>, sources: &[&str]) -> Vec<String> {
    let covered: BTreeSet<&str> = INJECTIONS.iter().copied().filter_map(source_of).collect();
    let mut missing: Vec<String> = Vec::new();
    for tool in catalog {
        let name = tool["name"].as_str().expect("a name");
        if !called.contains(name) && !covered.contains(name) {
            missing.push(format!("{name} is never called"));
        }
        if tool["readsUntrusted"] == true && !covered.contains(name) {
            missing.push(format!("the output of {name} carries no injection"));
        }
    }
    let sources = sources.iter().filter(|source| !covered.contains(**source));
    missing.extend(sources.map(|source| format!("no injection comes through {source}")));
    missing
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_and_untrusted_source_has_a_case() {
    let engine = AttackedEngine::build(Person::Careful).await;
    let catalog = engine.call("tools.catalog", json!({})).await;
    let mut catalog = catalog["tools"].as_array().expect("tools").clone();
    assert!(catalog.len() > 15, "{catalog:?}");
    let attacks = attacks(&engine.attack_target(), 0);
    let calls = attacks.iter().flat_map(|attack| &attack.calls);
    let called: BTreeSet<String> = calls.map(|(tool, _)| tool.clone()).collect();
    let all = [
        UntrustedSource::Cause(""),
        UntrustedSource::SystemEvent(""),
        UntrustedSource::HeartbeatFile,
        UntrustedSource::SkillFiles,
        UntrustedSource::Summary,
        UntrustedSource::Transcript,
    ];
    let sources: Vec<&str> = all.into_iter().flat_map(marks_of_source).collect();
    assert_eq!(uncovered(&catalog, &called, &sources), Vec::<String>::new());

    // A new tool and a new source are reported.
    catalog.push(json!({ "name": "send_fax", "readsUntrusted": false }));
    catalog.push(json!({ "name": "read_fax", "readsUntrusted": true }));
    let missing = uncovered(&catalog, &called, &["fax"]);
    let expected = [
        "send_fax is never called",
        "read_fax is never called",
        "the output of read_fax carries no injection",
        "no injection comes through fax",
    ];
    assert_eq!(missing, expected);
    engine.host.stop().await;
}
