//! `rouse mcp import`: MCP servers from the settings of other programs.
//!
//! Each server takes the way of `rouse mcp add`: page, consent, installation, page of its tools. Nothing is started
//! before a page is accepted. Never prints the value of a secret. Pitfall: one failing server that keeps the others from
//! being installed; failures are collected.

mod document;
mod selection;
mod stored_secrets;

use std::path::PathBuf;

use rouse_core::extension::import::ImportedServer;
use rouse_core::extension::{ExtensionName, ServerDefinition, ServerTransport};
use rouse_core::job::FolderGrant;
use serde_json::json;

use self::document::read_servers;
pub(super) use self::document::{parse_yaml, read_server};
use self::selection::{note_missing_programs, plan_json, print_plan, select_servers};
pub(super) use self::stored_secrets::offer_secrets;
use super::add::{accepting_command, confirm_page, fetch_page, install, print_page};
use super::definition::absolute_program;
use crate::commands::extensions::is_interactive;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

pub(super) const EXAMPLES: &str = "\
Examples:
  rouse mcp import ~/.claude.json --dry-run
  rouse mcp import ~/.codex/config.toml --only context7,docs
  rouse mcp import .vscode/mcp.json --only github --host api.github.com
";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Settings of Claude, Cursor, VS Code (JSON), Codex (TOML) or Goose (YAML); `-` for standard input
    file: PathBuf,
    /// Names of servers: github,docs [default: all enabled servers]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Only print the servers and their notes
    #[arg(long)]
    dry_run: bool,
    /// Hash of a page that you have read; repeatable [default: print each page and ask]
    #[arg(long, value_name = "HASH")]
    accept: Vec<String>,
    /// Folder that the server may use, with one server: ~/Notes:write; repeatable [default: its private folder]
    #[arg(long = "folder", value_name = "PATH[:write]")]
    folders: Vec<FolderGrant>,
    /// Host that the server may reach, with one server; repeatable [default: no network]
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Run the server with your own rights, outside the sandbox, with one server
    #[arg(long)]
    own_rights: bool,
}

/// What became of the page of a server.
enum PageOutcome {
    Installed,
    Declined,
    /// Nobody could answer; the hash of the page.
    Unanswered(String),
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let imported = read_servers(&args.file)?;
    let mut selected = select_servers(&imported, &args.only)?;
    args.apply_permissions(&mut selected)?;
    note_missing_programs(&mut selected);
    if !engine.json {
        print_plan(&imported, &selected, &args.only);
    } else if args.dry_run {
        let plan = plan_json(&imported, &selected);
        anstream::println!("{}", serde_json::to_string_pretty(&plan)?);
    }
    if args.dry_run {
        if !engine.json {
            anstream::println!("\nDry run: nothing was installed.");
        }
        return Ok(());
    }
    if selected.is_empty() {
        return Err(CliError::input("No server of the file can be imported."));
    }
    let mut failures = Vec::new();
    let mut unanswered = Vec::new();
    for server in &selected {
        match import_server(engine, server, &args.accept).await {
            Ok(PageOutcome::Installed) => {}
            Ok(PageOutcome::Declined) => anstream::eprintln!("{} was not installed.", server.name),
            Ok(PageOutcome::Unanswered(hash)) => unanswered.push(hash),
            Err(error) if error.is_unreachable() || selected.len() == 1 => return Err(error),
            Err(error) => failures.push(format!("{}: {}", server.name, error.lines().join(" "))),
        }
    }
    if !unanswered.is_empty() {
        let hashes: Vec<&str> = unanswered.iter().map(String::as_str).collect();
        let command = accepting_command(std::env::args().skip(1), "import", &hashes);
        failures.push(format!(
            "Not installed: {} of {} servers. To accept exactly these pages: {command}",
            unanswered.len(),
            selected.len()
        ));
    }
    if failures.is_empty() { Ok(()) } else { Err(CliError::Refused(failures.join("\n"))) }
}

impl Args {
    /// Adds the permissions to the only selected server.
    fn apply_permissions(&self, selected: &mut [ImportedServer]) -> Result<(), CliError> {
        if self.folders.is_empty() && self.hosts.is_empty() && !self.own_rights {
            return Ok(());
        }
        let [server] = selected else {
            return Err(CliError::input(
                "--folder, --host and --own-rights are for one server. Name the server with --only",
            ));
        };
        let ServerTransport::Stdio { folders, hosts, is_unconfined, .. } =
            &mut server.definition.transport
        else {
            return Err(CliError::input(
                "--folder, --host and --own-rights are for a server that Rouse starts",
            ));
        };
        folders.extend(self.folders.iter().cloned());
        hosts.extend(self.hosts.iter().cloned());
        *is_unconfined = self.own_rights;
        Ok(())
    }
}

/// Shows the page of a server unless its hash is accepted, offers its secrets, and installs.
async fn import_server(
    engine: &EngineConnection,
    server: &ImportedServer,
    accepted: &[String],
) -> Result<PageOutcome, CliError> {
    let name: &ExtensionName = &server.name;
    let definition = with_absolute_program(server.definition.clone());
    let params = json!({ "name": name, "server": definition });
    let page = fetch_page(engine, &params).await?;
    let is_interactive = is_interactive(engine);
    if !accepted.iter().any(|hash| page.is_named_by(hash)) {
        if !engine.json {
            anstream::println!();
        }
        print_page(engine, &page)?;
        if !is_interactive {
            return Ok(PageOutcome::Unanswered(page.hash));
        }
        if !confirm_page(&page).await? {
            return Ok(PageOutcome::Declined);
        }
    }
    if is_interactive {
        offer_secrets(engine, name, &server.secrets).await?;
    }
    install(engine, name, params, &page.hash).await?;
    Ok(PageOutcome::Installed)
}

/// The definition with the program as found in the `PATH` of this terminal.
fn with_absolute_program(mut definition: ServerDefinition) -> ServerDefinition {
    if let ServerTransport::Stdio { command, .. } = &mut definition.transport {
        *command = absolute_program(command);
    }
    definition
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rouse_core::extension::import::{ImportedServers, servers_from_document};
    use serde_json::Value;

    use super::*;

    fn imported(servers: &Value) -> ImportedServers {
        servers_from_document(&json!({ "mcpServers": servers }), None).expect("servers")
    }

    fn args(hosts: &[&str], own_rights: bool) -> Args {
        Args {
            file: Path::new("mcp.json").to_path_buf(),
            only: Vec::new(),
            dry_run: false,
            accept: Vec::new(),
            folders: Vec::new(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            own_rights,
        }
    }

    #[test]
    fn permissions_are_for_one_started_server() {
        let one = json!({ "a": { "command": "/bin/a" } });
        let mut selected = imported(&one).servers;
        args(&["api.example.org"], true).apply_permissions(&mut selected).expect("applied");
        let transport = json!(selected[0].definition)["transport"].clone();
        assert_eq!(transport["hosts"], json!(["api.example.org"]));
        assert_eq!(transport["isUnconfined"], true);

        let remote = json!({ "a": { "url": "https://a.example" } });
        let two = json!({ "a": { "command": "/bin/a" }, "b": { "command": "/bin/b" } });
        for (servers, words) in [(remote, "that Rouse starts"), (two, "Name the server")] {
            let mut selected = imported(&servers).servers;
            let error = args(&["a.example"], false).apply_permissions(&mut selected);
            let error = error.expect_err("refused").lines().join(" ");
            assert!(error.contains(words), "{error}");
            assert!(args(&[], false).apply_permissions(&mut selected).is_ok());
        }
    }
}
