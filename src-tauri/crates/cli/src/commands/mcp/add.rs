//! `rouse mcp add`: the page of the server, the installation, then the page of its tools.
//!
//! Nothing is started before the page is accepted: by `y` at a terminal, or by the hash of the page. Pitfall: a program
//! of another `PATH`; a bare name is looked up here, because the engine of a desktop session may have another `PATH`.

use rouse_core::extension::import::ImportedSecret;
use rouse_core::extension::{ConsentPage, ExtensionName};
use rouse_core::text::escape_line;
use rouse_core::text::quote_word;
use serde_json::{Value, json};

use super::definition::DefinitionArgs;
use super::import::offer_secrets;
use super::install_progress::call_install;
use super::package::{PackageArgs, RequestedServer};
use crate::commands::extensions::{ToolChoices, ask_line, decide_tools, is_interactive};
use crate::render::consent::server_lines;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::is_confirmed;

/// Field paths of the gateway and their names on the command line.
const FIELD_NAMES: [(&str, &str); 21] = [
    ("server.transport.command", "COMMAND"),
    ("server.transport.arguments", "the arguments"),
    ("server.transport.environment", "--env"),
    ("server.transport.folders", "--folder"),
    ("server.transport.folder", "cwd"),
    ("server.transport.hosts", "--host"),
    ("server.transport.url", "--url"),
    ("server.transport.headers", "--header"),
    ("server.transport.oauth.clientId", "--client-id"),
    ("server.transport.oauth.clientSecret", "--client-secret"),
    ("server.transport.oauth.scopes", "--scope"),
    ("server.transport.oauth.redirectHost", "--redirect-host"),
    ("server.transport.oauth.redirectPort", "--redirect-port"),
    ("server.startTimeoutSeconds", "--start-timeout"),
    ("server.callTimeoutSeconds", "--call-timeout"),
    ("server.mode", "--mode"),
    ("server", "the definition"),
    ("source.config", "--config"),
    ("source", "the package"),
    ("accept", "--accept"),
    ("name", "NAME"),
];

pub(super) const EXAMPLES: &str = "\
Examples:
  rouse mcp add files --folder ~/Notes -- mcp-server-filesystem ~/Notes
  rouse mcp add github --env TOKEN={{secret:github}} --host api.github.com -- github-mcp-server stdio
  rouse mcp add docs --url https://mcp.example.org/v1 --header 'Authorization: Bearer {{secret:docs}}'
  rouse mcp add cal --from mcp.json
  rouse mcp add fs --npm @modelcontextprotocol/server-filesystem@2025.11.25 --folder ~/Notes -- ~/Notes
  rouse mcp add clock --pypi mcp-server-time==2025.9.25
  rouse mcp add mail --entry io.example/mail@1.2.3
";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name: 1 to 20 lowercase letters, digits and `-`
    name: ExtensionName,
    /// Hash of the page that you have read [default: print the page and ask]
    #[arg(long, value_name = "HASH")]
    accept: Option<String>,
    #[command(flatten)]
    package: PackageArgs,
    #[command(flatten)]
    definition: DefinitionArgs,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let Args { name, accept, package, definition } = args;
    package.require_files_here(engine)?;
    let entry = package.fetch_entry(engine).await?;
    let document = entry.as_ref().map(|entry| entry.document.as_str());
    let RequestedServer { server, source, notes, secrets } =
        package.into_draft(&name, definition, document)?;
    if entry.is_some_and(|entry| entry.is_deprecated) {
        anstream::eprintln!("The registry marks this entry as deprecated.");
    }
    for note in notes {
        anstream::eprintln!("{note}");
    }
    let params = json!({ "name": name, "server": server, "source": source });
    let offer = InstallOffer { name: &name, params, accept, verb: "add", secrets: &secrets };
    offer_install(engine, offer).await
}

/// An installation or update that a person may accept.
pub(in crate::commands) struct InstallOffer<'o> {
    pub(in crate::commands) name: &'o ExtensionName,
    /// The parameters of the page.
    pub(in crate::commands) params: Value,
    /// The hash of a page that was read before.
    pub(in crate::commands) accept: Option<String>,
    /// The word of the command line.
    pub(in crate::commands) verb: &'o str,
    /// The secrets to store before the server starts.
    pub(in crate::commands) secrets: &'o [ImportedSecret],
}

/// Shows the page unless its hash is given, and installs after the consent.
pub(in crate::commands) async fn offer_install(
    engine: &EngineConnection,
    offer: InstallOffer<'_>,
) -> Result<(), CliError> {
    let InstallOffer { name, params, accept, verb, secrets } = offer;
    let hash = match accept {
        Some(hash) => hash,
        None => {
            let page = fetch_page(engine, &params).await?;
            print_page(engine, &page)?;
            if !is_interactive(engine) {
                let arguments = std::env::args().skip(1);
                let command = accepting_command(arguments, verb, &[&page.hash]);
                return Err(CliError::Refused(format!(
                    "Nothing was installed. To accept exactly this page: {command}"
                )));
            }
            if !confirm_page(&page).await? {
                anstream::eprintln!("Nothing was installed.");
                return Ok(());
            }
            page.hash
        }
    };
    if is_interactive(engine) {
        offer_secrets(engine, name, secrets).await?;
    }
    install(engine, name, params, &hash).await
}

/// The page of a server. Starts nothing.
pub(super) async fn fetch_page(
    engine: &EngineConnection,
    params: &Value,
) -> Result<ConsentPage, CliError> {
    let page = engine.fetch("extensions.preview", params.clone()).await;
    page.map_err(|error| error.with_field_names(&FIELD_NAMES))
}

pub(super) fn print_page(engine: &EngineConnection, page: &ConsentPage) -> Result<(), CliError> {
    if engine.json {
        anstream::println!("{}", serde_json::to_string_pretty(page)?);
    } else {
        for line in server_lines(page) {
            anstream::println!("{line}");
        }
    }
    Ok(())
}

/// Asks at the terminal.
pub(super) async fn confirm_page(page: &ConsentPage) -> Result<bool, CliError> {
    let verb = if page.replaces.is_some() { "Update" } else { "Install" };
    let line = ask_line(&format!("\n{verb} {}? [y/N] ", page.extension)).await?;
    Ok(is_confirmed(&line))
}

/// Installs the server of the accepted page, starts it, and lets the person decide about its tools.
pub(super) async fn install(
    engine: &EngineConnection,
    name: &ExtensionName,
    mut params: Value,
    hash: &str,
) -> Result<(), CliError> {
    params["accept"] = json!(hash);
    let is_agent = params["server"]["protocol"] == "acp";
    let installed = call_install(engine, name, params).await;
    let installed = installed.map_err(|error| error.with_field_names(&FIELD_NAMES))?;
    if is_agent {
        return finish_agent(engine, name, &installed);
    }
    decide_tools(engine, installed, ToolChoices::new()).await
}

/// Says how an installed coding agent gets a task.
fn finish_agent(
    engine: &EngineConnection,
    name: &ExtensionName,
    installed: &Value,
) -> Result<(), CliError> {
    if let Some(error) = installed["error"].as_str() {
        return Err(
            anyhow::anyhow!("{name} is installed, but did not start. {}", escape(error)).into()
        );
    }
    if engine.json {
        anstream::println!("{}", serde_json::to_string_pretty(installed)?);
    } else {
        anstream::println!(
            "{name} is installed. Try it: rouse tools try delegate '{{\"agent\":\"{name}\",\"task\":\"Say hello.\"}}'\nUse it in a job: rouse cron add … --agent {name} --message TASK"
        );
    }
    Ok(())
}

/// The command line of `arguments` with the accepted hashes after `verb`.
pub(in crate::commands) fn accepting_command(
    arguments: impl Iterator<Item = String>,
    verb: &str,
    hashes: &[&str],
) -> String {
    let mut words = vec!["rouse".to_owned()];
    let mut is_added = false;
    for argument in arguments {
        let is_verb = argument == verb && !is_added;
        words.push(quote_word(&argument));
        if is_verb {
            for hash in hashes {
                words.extend(["--accept".to_owned(), (*hash).to_owned()]);
            }
            is_added = true;
        }
    }
    escape_line(&words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepting_command_repeats_the_arguments() {
        let arguments = ["--json", "mcp", "add", "cal", "--env", "A=b c", "--", "npx", "add"];
        let command = accepting_command(arguments.map(str::to_owned).into_iter(), "add", &["0123"]);
        assert_eq!(command, "rouse --json mcp add --accept 0123 cal --env 'A=b c' -- npx add");
    }
}
