//! `rouse agents …`: coding agents that work on tasks (Claude Code, Codex, Gemini CLI, Goose, …).
//!
//! Owns the proposal for a known agent; the consent page and its acceptance are those of `rouse mcp add`. Pitfall: an
//! agent of the terminal's `PATH` that the engine does not find; the page has the absolute path.

use clap::Subcommand;
use rouse_core::extension::package::ExtensionSource;
use rouse_core::extension::{
    AGENT_PRESETS, AgentPreset, ExtensionName, ServerDefinition, ServerProtocol, ServerTransport,
};
use rouse_gateway::wire::ExtensionsListResult;
use rouse_host::find_program;
use serde_json::json;

use super::mcp::{DefinitionArgs, InstallOffer, ProgramArgs, offer_install, runtime_program};
use crate::render::extension::print_agent_table;
use crate::render::facts::{fact, fact_lines};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

const EXAMPLES: &str = "\
Examples:
  rouse agents add claude-code
  rouse agents add claude-code --no-settings --env CLAUDE_CODE_OAUTH_TOKEN={{secret:claude}}
  rouse agents add night-coder --preset codex --host api.openai.com
  rouse agents add mine --folder ~/.mine:write --host api.example.org -- my-agent --acp
  rouse cron add --name 'Fix lint' --cron '0 2 * * *' --agent claude-code --message 'Fix all lint errors.'
";

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// Installed coding agents
    #[default]
    #[command(alias = "ls")]
    List,
    /// Known coding agents, with what each needs and does without asking
    Known,
    /// Install a coding agent
    #[command(before_help = EXAMPLES)]
    Add(Box<Args>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name: 1 to 20 lowercase letters, digits and `-`; the name of a known agent is enough
    name: ExtensionName,
    /// Known agent whose proposal is used [default: the one of this name]
    #[arg(long, value_name = "AGENT")]
    preset: Option<String>,
    /// Session mode [default: the mode of the proposal]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Leave out the agent's settings folder, and with it its sign-in
    #[arg(long)]
    no_settings: bool,
    /// Leave out the hosts of the agent's maker
    #[arg(long)]
    no_hosts: bool,
    /// Install the npm package, even if the program is there
    #[arg(long)]
    npm: bool,
    /// Hash of the page that you have read [default: print the page and ask]
    #[arg(long, value_name = "HASH")]
    accept: Option<String>,
    #[command(flatten)]
    program: ProgramArgs,
}

pub(super) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List => list(engine).await,
        Command::Known => known(engine),
        Command::Add(args) => add(*args, engine).await,
    }
}

async fn list(engine: &EngineConnection) -> Result<(), CliError> {
    engine
        .show("extensions.list", json!({}), |_, found: ExtensionsListResult| {
            print_agent_table(&found.extensions);
        })
        .await
}

fn known(engine: &EngineConnection) -> Result<(), CliError> {
    if engine.json {
        let presets: Vec<_> = AGENT_PRESETS.iter().map(AgentPreset::view).collect();
        anstream::println!("{}", serde_json::to_string_pretty(&presets)?);
        return Ok(());
    }
    for preset in &AGENT_PRESETS {
        let source = preset.package.map_or_else(
            || format!("the program `{}`, which you install", preset.program),
            |(package, version)| {
                format!("the program `{}`, or the npm package {package}@{version}", preset.program)
            },
        );
        anstream::println!("{} ({})", preset.name, preset.label);
        let facts = [
            fact("Needs", source),
            fact("Sign-in", preset.sign_in),
            fact("Unasked", preset.unasked),
        ];
        for line in fact_lines(&facts) {
            anstream::println!("  {line}");
        }
    }
    Ok(())
}

async fn add(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let name = args.name.clone();
    let accept = args.accept.clone();
    let (server, source) = requested_agent(args)?;
    let params = json!({ "name": name, "server": server, "source": source });
    let offer = InstallOffer { name: &name, params, accept, verb: "add", secrets: &[] };
    offer_install(engine, offer).await
}

/// The definition and the package of the flags.
fn requested_agent(args: Args) -> Result<(ServerDefinition, Option<ExtensionSource>), CliError> {
    let Args { name, preset, mode, no_settings, no_hosts, npm, program, .. } = args;
    let definition = DefinitionArgs::from(program);
    let preset_name = preset.as_deref().unwrap_or(name.as_str());
    let found = AgentPreset::named(preset_name);
    if let (Some(unknown), None) = (&preset, found) {
        return Err(CliError::input(format!("--preset: {}", unknown_agent(unknown))));
    }
    let (server, source) = match found.filter(|_| !definition.has_command()) {
        Some(preset) => {
            let (server, source) = proposal(preset, npm)?;
            let server = narrowed(server, preset, no_settings, no_hosts);
            (definition.added_to(server)?, source)
        }
        None if definition.has_command() => (definition.into_definition(&name)?.server, None),
        None => return Err(CliError::input(unknown_agent(name.as_str()))),
    };
    let mode = mode.or_else(|| found.and_then(|preset| preset.mode.map(str::to_owned)));
    Ok((ServerDefinition { protocol: ServerProtocol::Acp, mode, ..server }, source))
}

fn unknown_agent(name: &str) -> String {
    let names: Vec<&str> = AGENT_PRESETS.iter().map(|preset| preset.name).collect();
    format!(
        "{name} is no known coding agent. Known: {}. For another agent, write its command after --",
        names.join(", ")
    )
}

/// The program of `PATH`, or else the package.
fn proposal(
    preset: &AgentPreset,
    is_npm_wanted: bool,
) -> Result<(ServerDefinition, Option<ExtensionSource>), CliError> {
    let mut server = preset.definition();
    let ServerTransport::Stdio { command, .. } = &mut server.transport else {
        return Ok((server, None));
    };
    // silent-ok: without the program, the package is installed.
    let found = find_program(preset.program, std::env::var("PATH").ok().as_deref()).ok();
    match (found.filter(|_| !is_npm_wanted), preset.source()) {
        (Some(path), _) => {
            *command = path;
            Ok((server, None))
        }
        (None, Some(source)) => {
            *command = runtime_program("node");
            Ok((server, Some(source)))
        }
        (None, None) => Err(CliError::input(format!(
            "{} is not installed: there is no program `{}`. Install it, then run this command again.",
            preset.label, preset.program
        ))),
    }
}

/// The proposal without the parts that the person leaves out.
fn narrowed(
    mut server: ServerDefinition,
    preset: &AgentPreset,
    is_without_settings: bool,
    is_without_hosts: bool,
) -> ServerDefinition {
    if let ServerTransport::Stdio { environment, folders, hosts, .. } = &mut server.transport {
        if is_without_settings {
            folders.clear();
            for (name, _) in preset.settings_variables {
                environment.remove(*name);
            }
        }
        if is_without_hosts {
            hosts.clear();
        }
    }
    server
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn requested(words: &[&str]) -> Result<Value, String> {
        #[derive(clap::Parser)]
        struct AddCommandLine {
            #[command(flatten)]
            args: Args,
        }
        let words = ["add"].into_iter().chain(words.iter().copied());
        let parsed = <AddCommandLine as clap::Parser>::try_parse_from(words);
        let args = parsed.map_err(|error| error.to_string())?.args;
        let (server, source) = requested_agent(args).map_err(|error| error.lines().join(" "))?;
        Ok(json!({ "server": server, "source": source }))
    }

    #[test]
    fn known_agent_gets_its_settings_and_hosts() {
        let found = requested(&["claude-code", "--npm", "--env", "A=b"]).expect("a definition");
        assert_eq!(found["server"]["protocol"], "acp");
        assert_eq!(found["server"]["mode"], "default");
        assert_eq!(found["server"]["transport"]["folders"], json!(["~/.claude:write"]));
        assert_eq!(found["server"]["transport"]["environment"]["A"], "b");
        assert_eq!(found["source"]["package"], "@agentclientprotocol/claude-agent-acp");
    }

    #[test]
    fn narrowed_agent_has_neither_settings_nor_hosts() {
        let words = ["mine", "--preset", "codex", "--npm", "--no-settings", "--no-hosts"];
        let found = requested(&words).expect("a definition");
        let transport = &found["server"]["transport"];
        assert_eq!((&transport["folders"], &transport["hosts"]), (&json!([]), &json!([])));
        assert_eq!(transport["environment"], json!({}));
    }

    #[test]
    fn unknown_agent_needs_a_command() {
        let error = requested(&["mine"]).expect_err("unknown");
        assert!(error.contains("Known: claude-code, codex"), "{error}");
        let error = requested(&["mine", "--preset", "x"]).expect_err("unknown");
        assert!(error.starts_with("--preset: x is no known"), "{error}");
        let found = requested(&["mine", "--mode", "ask", "--", "/bin/agent", "--acp"]);
        let found = found.expect("a definition");
        assert_eq!(found["server"]["transport"]["arguments"], json!(["--acp"]));
        assert_eq!(found["server"]["mode"], "ask");
    }
}
