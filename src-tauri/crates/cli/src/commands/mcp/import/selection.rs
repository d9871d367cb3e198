//! The servers to import, and their plan: a table, notes and refusals.
//!
//! Owns the meaning of `--only`. A server that is disabled in the file is imported only by name. A server whose program
//! is missing on this computer has a note. Pitfall: text of the file on a terminal; every foreign text is escaped.

use rouse_core::extension::ServerTransport;
use rouse_core::extension::import::{ImportedServer, ImportedServers};
use rouse_core::text::escape_line;
use rouse_gateway::command_text;
use rouse_host::find_program;
use serde_json::{Value, json};

use crate::render::table::{new_table, print_rows};
use crate::resolve::error::CliError;

/// The servers of these names, or all enabled servers.
pub(super) fn select_servers(
    imported: &ImportedServers,
    only: &[String],
) -> Result<Vec<ImportedServer>, CliError> {
    if only.is_empty() {
        return Ok(imported.servers.iter().filter(|server| server.is_enabled).cloned().collect());
    }
    let mut selected: Vec<ImportedServer> = Vec::new();
    for name in only {
        let is_named = |server: &&ImportedServer| is_called(server, name);
        let Some(server) = imported.servers.iter().find(is_named) else {
            return Err(unknown_server(imported, name));
        };
        if selected.iter().all(|earlier| earlier.name != server.name) {
            selected.push(server.clone());
        }
    }
    Ok(selected)
}

fn is_called(server: &ImportedServer, name: &str) -> bool {
    server.name.as_str() == name || server.original_name == name
}

fn unknown_server(imported: &ImportedServers, name: &str) -> CliError {
    let shown = escape_line(name);
    if let Some(skipped) = imported.skipped.iter().find(|server| server.original_name == name) {
        return CliError::input(format!("--only: {shown} cannot be imported. {}", skipped.reason));
    }
    let names: Vec<&str> = imported.servers.iter().map(|server| server.name.as_str()).collect();
    let names = names.join(", ");
    CliError::input(format!("--only: no server is called {shown}. Servers: {names}"))
}

/// Adds the reason to the notes of each server whose program is missing in the `PATH` of this terminal.
pub(super) fn note_missing_programs(servers: &mut [ImportedServer]) {
    for server in servers {
        if let Some(reason) = missing_program(server) {
            server.notes.push(escape_line(&reason));
        }
    }
}

/// Why the program of a server cannot be started, as sentences; none for a program that is there.
fn missing_program(server: &ImportedServer) -> Option<String> {
    let ServerTransport::Stdio { command, .. } = &server.definition.transport else { return None };
    find_program(command, std::env::var("PATH").ok().as_deref()).err()
}

/// The word about the import of a server.
fn import_word(server: &ImportedServer, is_selected: bool) -> &'static str {
    if !is_selected {
        "no"
    } else if missing_program(server).is_some() {
        "no program"
    } else {
        "yes"
    }
}

/// Prints all servers of the file, and what to know about the selected ones.
pub(super) fn print_plan(imported: &ImportedServers, selected: &[ImportedServer], only: &[String]) {
    let mut table = new_table(&["NAME", "IMPORT", "SERVER"]);
    for server in &imported.servers {
        let is_selected = selected.iter().any(|chosen| chosen.name == server.name);
        table.add_row([
            server.name.to_string(),
            import_word(server, is_selected).to_owned(),
            escape_line(&command_text(&server.definition.transport)),
        ]);
    }
    print_rows(&table);
    for line in plan_notes(imported, selected, only) {
        anstream::println!("{line}");
    }
}

/// The notes of the selected servers. Without `only`, also the disabled servers and the refusals.
fn plan_notes(
    imported: &ImportedServers,
    selected: &[ImportedServer],
    only: &[String],
) -> Vec<String> {
    let mut lines = Vec::new();
    for ImportedServer { name, notes, .. } in selected {
        lines.push(String::new());
        lines.push(format!("{name}:"));
        lines.extend(notes.iter().map(|note| format!("  {note}")));
        if notes.is_empty() {
            lines.push("  No notes.".to_owned());
        }
    }
    if !only.is_empty() {
        return lines;
    }
    let disabled = imported.servers.iter().filter(|server| !server.is_enabled);
    let left_out = disabled.map(|server| {
        let name = &server.name;
        format!("{name} is disabled in the file and is left out. To import it: --only {name}")
    });
    let skipped = imported.skipped.iter().map(|server| {
        format!("{} cannot be imported. {}", escape_line(&server.original_name), server.reason)
    });
    let mut others = left_out.chain(skipped).peekable();
    if others.peek().is_some() {
        lines.push(String::new());
    }
    lines.extend(others);
    lines
}

/// The plan for programs, without values of secrets.
pub(super) fn plan_json(imported: &ImportedServers, selected: &[ImportedServer]) -> Value {
    let servers = imported.servers.iter().map(|server| {
        let secrets = server.secrets.iter();
        let secrets = secrets.map(|secret| json!({ "name": secret.name, "field": secret.field }));
        // The selected one has the permissions of the flags and all notes.
        let chosen = selected.iter().find(|chosen| chosen.name == server.name);
        json!({
            "name": server.name,
            "originalName": server.original_name,
            "isEnabled": server.is_enabled,
            "isSelected": chosen.is_some(),
            "server": chosen.unwrap_or(server).definition,
            "secrets": secrets.collect::<Vec<Value>>(),
            "notes": chosen.unwrap_or(server).notes,
        })
    });
    let skipped = imported.skipped.iter();
    let skipped = skipped
        .map(|server| json!({ "originalName": server.original_name, "reason": server.reason }));
    json!({
        "source": imported.source,
        "servers": servers.collect::<Vec<Value>>(),
        "skipped": skipped.collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use rouse_core::extension::import::servers_from_document;

    use super::*;

    fn imported() -> ImportedServers {
        let servers = json!({
            "Mail": { "command": "/bin/mail", "env": { "API_KEY": "hunter2hunter2" } },
            "plain": { "command": "/bin/plain" },
            "off": { "command": "/bin/off", "disabled": true },
            "old\n": { "type": "sse", "url": "https://a.example" },
        });
        servers_from_document(&json!({ "mcpServers": servers }), None).expect("servers")
    }

    fn names(only: &[&str]) -> Result<Vec<String>, String> {
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        let selected = select_servers(&imported(), &only);
        let selected = selected.map_err(|error| error.lines().join(" "))?;
        Ok(selected.iter().map(|server| server.name.to_string()).collect())
    }

    #[test]
    fn disabled_server_is_selected_only_by_name() {
        assert_eq!(names(&[]).expect("servers"), ["mail", "plain"]);
        assert_eq!(names(&["off", "Mail", "mail"]).expect("servers"), ["off", "mail"]);
    }

    #[test]
    fn missing_program_has_a_word_and_a_note() {
        let here = std::env::current_exe().expect("this test");
        let servers = json!({
            "gone": { "command": "no-such-program-of-rouse" },
            "away": { "url": "https://mcp.example.org" },
            "here": { "command": "replaced" },
        });
        let document = json!({ "mcpServers": servers });
        let mut servers = servers_from_document(&document, None).expect("servers").servers;
        for server in &mut servers {
            if let ServerTransport::Stdio { command, .. } = &mut server.definition.transport
                && command == "replaced"
            {
                here.to_str().expect("UTF-8").clone_into(command);
            }
        }
        note_missing_programs(&mut servers);
        let words = |name: &str| {
            let server = servers.iter().find(|server| server.name.as_str() == name);
            let server = server.expect("the server");
            (import_word(server, true), import_word(server, false), server.notes.len())
        };
        assert_eq!(words("gone"), ("no program", "no", 1));
        assert_eq!(words("away"), ("yes", "no", 0));
        assert_eq!(words("here"), ("yes", "no", 0));
        let gone = servers.iter().find(|server| server.name.as_str() == "gone").expect("gone");
        assert!(gone.notes[0].starts_with("There is no program no-such-program-of-rouse"));
        assert!(!gone.notes[0].contains('\n'));
    }

    #[test]
    fn unknown_and_skipped_names_are_refused() {
        let error = names(&["mial"]).expect_err("unknown");
        assert_eq!(error, "--only: no server is called mial. Servers: mail, plain, off");
        let error = names(&["old\n"]).expect_err("skipped");
        let begin = "--only: old⟨U+000A⟩ cannot be imported. The server uses the old transport";
        assert!(error.starts_with(begin), "{error}");
    }

    #[test]
    fn plan_shows_notes_and_no_secret() {
        let imported = imported();
        let selected = select_servers(&imported, &[]).expect("servers");
        let lines = plan_notes(&imported, &selected, &[]);
        for line in [
            "mail:",
            "  The file calls the server Mail.",
            "  API_KEY holds what looks like a key, which is left out. Store the value: rouse secrets set mail_api_key --server mail",
            "plain:",
            "  No notes.",
            "off is disabled in the file and is left out. To import it: --only off",
        ] {
            assert!(lines.iter().any(|shown| shown == line), "{line}: {lines:#?}");
        }
        let last = lines.last().expect("a line");
        assert!(last.starts_with("old⟨U+000A⟩ cannot be imported."), "{last}");
        let plan = plan_json(&imported, &selected);
        assert_eq!(plan["servers"][0]["secrets"][0]["name"], "mail_api_key");
        assert_eq!(plan["servers"][2]["isSelected"], false);
        assert!(!format!("{lines:?} {plan}").contains("hunter2"), "{plan}");
    }

    #[test]
    fn plan_of_named_servers_omits_the_others() {
        let only = ["plain".to_owned()];
        let imported = imported();
        let selected = select_servers(&imported, &only).expect("servers");
        assert_eq!(plan_notes(&imported, &selected, &only), ["", "plain:", "  No notes."]);
    }
}
