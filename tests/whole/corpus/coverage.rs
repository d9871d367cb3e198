//! That the two tables leave nothing out: every tool there is, and every way by which text from outside comes in.
//!
//! The engine's own catalogue and the agent's own list of ways are what counts. What a channel is said to come in through
//! is looked at in every case: the model says between which marks it has found its order. One could get it wrong by a
//! list in the test that nobody holds against the engine.

use std::collections::BTreeSet;

use rouse_agent::Outside;
use rouse_core::cause::SOURCES;
use rouse_store::HOOK;
use serde_json::{Value, json};

use super::channels::{CHANNELS, Channel};
use super::harms::harms;
use super::world::{Person, World};

/// The marks of a line by the report of a job; its id follows.
const REPORT: &str = "cron:";

/// Between which marks an order stands that came by this channel; none where it is no text from outside: the person's own
/// words, or the name that they gave a job.
const fn through(channel: Channel) -> Option<&'static str> {
    Some(match channel {
        Channel::Page
        | Channel::PageKind
        | Channel::PageError
        | Channel::PageAddress
        | Channel::RefusedRedirect
        | Channel::ChatPage => "http",
        Channel::ReadPage => "web_fetch",
        Channel::SearchResult => "web_search",
        Channel::File => "read_file",
        Channel::FileName => "list_dir",
        Channel::FoundLine => "search_files",
        Channel::CommandOutput => "run_command",
        Channel::Webhook | Channel::WebhookField => "webhook",
        Channel::Event => "job",
        Channel::EventLine => "cron",
        Channel::EventWake => "wake",
        Channel::HeartbeatLine | Channel::ChatLine => HOOK,
        Channel::MemoryFile => "memory_read",
        Channel::MemorySearch => "memory_search",
        Channel::ChatRoutines => "routine_list",
        Channel::ChatHistory => "routine_history",
        Channel::HeartbeatSummary => REPORT,
        Channel::HeartbeatList => "HEARTBEAT.md",
        Channel::SessionSummary => "a summary of earlier runs",
        Channel::Skill | Channel::SkillFile | Channel::SkillAbout => "skill_read",
        Channel::SkillFileName => "names of files",
        Channel::ContextFile
        | Channel::Session
        | Channel::HeartbeatSession
        | Channel::NoOfAPerson
        | Channel::JobName => return None,
    })
}

/// Whether these are the marks of that channel.
pub(super) fn is_through(channel: Channel, marks: &[String]) -> bool {
    match (through(channel), marks) {
        (None, _) => true,
        (Some(REPORT), [mark]) => mark.starts_with(REPORT),
        (Some(through), [mark]) => mark == through,
        (Some(_), _) => false,
    }
}

/// The marks by which a way in is known. A new way does not compile until it stands here.
fn marks(way: Outside<'static>) -> Vec<&'static str> {
    match way {
        Outside::Cause(_) => SOURCES.to_vec(),
        // A line that the person has not written comes from a script, or from the report of a job.
        Outside::Line(_) => vec![HOOK, REPORT],
        Outside::List | Outside::SkillFiles | Outside::Summary => vec![way.through()],
        // The model that is told it has no tool and nobody to tell; what it passes on is the summary.
        Outside::Record => Vec::new(),
    }
}

/// What has no case: a tool that is never called, one whose output never gives an order, a way that is never taken.
fn left_out(catalog: &[Value], called: &BTreeSet<String>, ways: &[&str]) -> Vec<String> {
    let taken: BTreeSet<&str> = CHANNELS.iter().copied().filter_map(through).collect();
    let mut left: Vec<String> = Vec::new();
    for tool in catalog {
        let name = tool["name"].as_str().expect("a name");
        if !called.contains(name) && !taken.contains(name) {
            left.push(format!("{name} is never called"));
        }
        if tool["readsOutside"] == true && !taken.contains(name) {
            left.push(format!("what {name} answers never gives an order"));
        }
    }
    let ways = ways.iter().filter(|way| !taken.contains(**way));
    left.extend(ways.map(|way| format!("no order comes by way of {way}")));
    left
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_and_every_way_in_has_a_case() {
    let world = World::build(Person::Careful).await;
    let catalog = world.call("tools.catalog", json!({})).await;
    let mut catalog = catalog["tools"].as_array().expect("tools").clone();
    assert!(catalog.len() > 15, "{catalog:?}");
    let harms = harms(&world.aim(), 0);
    let calls = harms.iter().flat_map(|harm| &harm.calls);
    let called: BTreeSet<String> = calls.map(|(tool, _)| tool.clone()).collect();
    let all = [
        Outside::Cause(""),
        Outside::Line(""),
        Outside::List,
        Outside::SkillFiles,
        Outside::Summary,
        Outside::Record,
    ];
    let ways: Vec<&str> = all.into_iter().flat_map(marks).collect();
    assert_eq!(left_out(&catalog, &called, &ways), Vec::<String>::new());

    // A tool and a way that nobody has thought of are seen.
    catalog.push(json!({ "name": "send_fax", "readsOutside": false }));
    catalog.push(json!({ "name": "read_fax", "readsOutside": true }));
    let left = left_out(&catalog, &called, &["fax"]);
    let expected = [
        "send_fax is never called",
        "read_fax is never called",
        "what read_fax answers never gives an order",
        "no order comes by way of fax",
    ];
    assert_eq!(left, expected);
    world.host.stop().await;
}
