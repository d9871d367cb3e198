//! Installed extensions: the table, one extension, and accepted tools.

use rouse_core::extension::{Extension, ServerState, SignInState, SignInStatus, ToolChange};
use rouse_core::text::escape_line;
use rouse_gateway::wire::{ExtensionDetail, ExtensionView};

use super::consent::{access_label, definition_facts};
use super::facts::{fact, fact_lines};
use super::package::installed_facts;
use super::table::{new_table, print_rows};
use super::text::{counted, escape, shorten};
use super::time::local_time;
use crate::resolve::engine::EngineConnection;

/// Maximum characters of a command line in the table.
const MAX_COMMAND: usize = 60;

pub(crate) fn print_extension_table(extensions: &[ExtensionView]) {
    if extensions.is_empty() {
        anstream::println!("No MCP servers. Add one: rouse mcp add NAME -- COMMAND");
        return;
    }
    let mut table = new_table(&["NAME", "STATE", "ENABLED", "TOOLS", "VERSION", "SERVER"]);
    for extension in extensions {
        table.add_row([
            extension.name.to_string(),
            extension.label.clone(),
            if extension.is_enabled { "yes" } else { "no" }.to_owned(),
            tools_text(extension),
            extension.reported_version.as_deref().map(|text| shorten(text, 24)).unwrap_or_default(),
            shorten(&extension.transport, MAX_COMMAND),
        ]);
    }
    print_rows(&table);
    for line in extensions.iter().flat_map(notices) {
        anstream::println!("{line}");
    }
}

pub(crate) fn print_agent_table(extensions: &[ExtensionView]) {
    let agents: Vec<&ExtensionView> =
        extensions.iter().filter(|extension| extension.is_coding_agent).collect();
    if agents.is_empty() {
        anstream::println!(
            "No coding agents. See the known ones: rouse agents known. Add one: rouse agents add NAME"
        );
        return;
    }
    let mut table = new_table(&["NAME", "ENABLED", "VERSION", "COMMAND"]);
    for agent in agents {
        table.add_row([
            agent.name.to_string(),
            if agent.is_enabled { "yes" } else { "no" }.to_owned(),
            agent.reported_version.as_deref().map(|text| shorten(text, 40)).unwrap_or_default(),
            shorten(&agent.transport, MAX_COMMAND),
        ]);
    }
    print_rows(&table);
}

/// The reason of the state, and the held tools unless the reason names them.
fn notices(extension: &ExtensionView) -> Vec<String> {
    let ExtensionView { name, state, reason, held, .. } = extension;
    let reason = reason.iter().map(|reason| format!("{name}: {}", escape(reason)));
    let is_news = *held > 0 && *state != ServerState::Quarantined;
    let waiting = is_news.then(|| {
        let tools = counted(*held, "held tool");
        format!("{name}: {tools}. Read and accept: rouse extensions accept {name}")
    });
    reason.chain(waiting).collect()
}

fn tools_text(extension: &ExtensionView) -> String {
    let counts = [(extension.accepted, "on"), (extension.held, "held"), (extension.off, "off")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    match counts.as_slice() {
        [] if extension.is_coding_agent => "coding agent".to_owned(),
        [] => "none".to_owned(),
        counts => counts.join(", "),
    }
}

pub(crate) fn print_extension(engine: &EngineConnection, detail: &ExtensionDetail) {
    let ExtensionDetail { name, extension, status, .. } = detail;
    let enabled = if extension.is_enabled { "yes" } else { "no" };
    let mut facts = vec![
        fact("Name", name.as_str()),
        fact("State", status.state.label()),
        fact("Enabled", enabled),
    ];
    if let Some(reason) = &status.reason {
        facts.push(fact("Reason", escape_line(reason)));
    }
    if let Some(version) = &extension.reported_version {
        facts.push(fact("Version", escape_line(version)));
    }
    if let Some(started) = status.started_at_ms.filter(|_| status.state == ServerState::Ready) {
        facts.push(fact("Started", local_time(engine, started.0)));
    }
    if let Some(sign_in) = &detail.sign_in {
        facts.push(fact("Sign-in", sign_in_text(engine, sign_in)));
    }
    facts.push(fact("Accepted", local_time(engine, extension.accepted_at_ms.0)));
    facts.extend(extension.package.iter().flat_map(installed_facts));
    facts.extend(definition_facts(&extension.server));
    for line in fact_lines(&facts) {
        anstream::println!("{line}");
    }
    print_tool_table(detail);
    if !extension.held.is_empty() {
        anstream::println!("\nRead and accept the held tools: rouse extensions accept {name}");
    }
}

fn sign_in_text(engine: &EngineConnection, sign_in: &SignInStatus) -> String {
    let text = match (sign_in.state, sign_in.refreshed_at_ms) {
        (SignInState::SignedIn, Some(refreshed)) => {
            format!("signed in, last refreshed {}", local_time(engine, refreshed.0))
        }
        (SignInState::SignedIn, None) => "signed in".to_owned(),
        (SignInState::SignedOut, _) => "signed out".to_owned(),
        (SignInState::Pending, _) => "waits for the browser".to_owned(),
        (SignInState::NeedsSignIn, _) => "needs sign-in".to_owned(),
    };
    match &sign_in.reason {
        Some(reason) => format!("{text}\n{}", escape_line(reason)),
        None => text,
    }
}

fn print_tool_table(detail: &ExtensionDetail) {
    let ExtensionDetail { extension, tools, .. } = detail;
    if tools.is_empty() {
        anstream::println!("\nNo tools.");
        return;
    }
    let mut table = new_table(&["TOOL", "NAME IN JOBS", "ACCESS", "CHANGE"]);
    for tool in tools {
        let pin = extension.tools.iter().find(|pin| pin.definition.name == tool.raw_name);
        let access = pin.map_or("not accepted", |pin| access_label(pin.access));
        let change = change_text(extension, &tool.raw_name);
        table.add_row([
            &*escape_line(&tool.raw_name),
            &*escape_line(&tool.tool_name),
            access,
            change,
        ]);
    }
    anstream::println!();
    print_rows(&table);
}

/// How the tool differs from the accepted one, as of the last listing.
fn change_text(extension: &Extension, raw_name: &str) -> &'static str {
    match extension.held.iter().find(|held| held.offered.name == raw_name).map(|held| held.change) {
        Some(ToolChange::New) => "new",
        Some(ToolChange::Changed) => "changed",
        None if extension.gone.iter().any(|gone| gone == raw_name) => "gone",
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rouse_core::UnixMs;
    use rouse_core::extension::{ServerDefinition, ServerTransport};

    use super::*;

    #[test]
    fn held_tools_of_a_quarantined_server_are_named_once() {
        let lines = |state, reason: Option<&str>, held| {
            notices(&ExtensionView {
                is_coding_agent: false,
                name: "cal".parse().expect("a name"),
                transport: String::new(),
                is_enabled: true,
                state,
                label: String::new(),
                reason: reason.map(str::to_owned),
                accepted: 0,
                held,
                off: 0,
                reported_version: None,
            })
        };
        let one = "cal: 1 held tool. Read and accept: rouse extensions accept cal";
        assert_eq!(lines(ServerState::Ready, None, 1), [one]);
        let two = "cal: 2 held tools. Read and accept: rouse extensions accept cal";
        assert_eq!(lines(ServerState::Broken, Some("Ended."), 2), ["cal: Ended.", two]);
        assert_eq!(lines(ServerState::Quarantined, Some("All wait."), 2), ["cal: All wait."]);
    }

    #[test]
    fn gone_tool_is_marked() {
        let server = ServerDefinition::new(ServerTransport::Http {
            url: "https://mcp.example.org/".to_owned(),
            headers: BTreeMap::new(),
            oauth: None,
        });
        let gone = vec!["add".to_owned()];
        let extension = Extension { gone, ..Extension::installed(server, UnixMs(0)) };
        assert_eq!(change_text(&extension, "add"), "gone");
        assert_eq!(change_text(&extension, "echo"), "");
    }
}
