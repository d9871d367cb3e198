//! `rouse secrets …`: secrets that requests name and no model sees.
//!
//! A value is typed without echo or piped, never an argument: other programs and the shell's history could read it.
//! Never prints a value.

use clap::Subcommand;
use rouse_core::extension::ExtensionName;
use rouse_gateway::wire::{SecretRemoved, SecretStorage, SecretView, SecretsListResult};
use serde_json::json;

use crate::render::table::{new_table, print_rows};
use crate::render::text::escape;
use crate::render::time::local_time;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::ids;
use crate::resolve::keyboard::read_secret;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// List names, hosts and MCP servers of the stored secrets
    #[default]
    List,
    /// Store a secret: `rouse secrets set github --host api.github.com`, then type or pipe its value.
    ///
    /// A request to one of the hosts uses the secret as {{secret:github}} in its URL, a header or its body. Requests
    /// need https, unless the host starts with http://: `--host http://127.0.0.1:45543`.
    Set {
        /// Name: 1 to 64 lowercase letters, digits, _ and -
        name: String,
        /// Host that may receive the secret: `api.example.com`, `api.example.com:8443`; repeatable [default: the
        /// present hosts]
        #[arg(long = "host", value_name = "HOST")]
        hosts: Vec<String>,
        /// MCP server that may receive the secret; repeatable [default: the present servers]
        #[arg(long = "server", value_name = "NAME")]
        servers: Vec<ExtensionName>,
    },
    /// Remove a secret
    Rm {
        /// Name
        name: String,
    },
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List => engine.show("secrets.list", json!({}), print_list).await,
        Command::Set { name, hosts, servers } => {
            if hosts.is_empty() && servers.is_empty() {
                check_known(&name, engine).await?;
            }
            let value = read_secret(&format!("value of {}", escape(&name)))?;
            if value.trim().is_empty() {
                return Err(CliError::input("No value was given: type the value or pipe it."));
            }
            let mut params = json!({ "name": name, "value": value });
            if !hosts.is_empty() {
                params["hosts"] = json!(hosts);
            }
            if !servers.is_empty() {
                params["servers"] = json!(servers);
            }
            engine
                .show("secrets.set", params, |_, secret: SecretView| {
                    anstream::println!(
                        "Stored {}, only for {}.",
                        secret.name,
                        bindings(&secret).join(", ")
                    );
                    if let (SecretStorage::File, Some(problem)) = (secret.stored_in, secret.problem)
                    {
                        anstream::println!(
                            "The value is in a file that only you can read, because {}.",
                            escape(&problem)
                        );
                    }
                    if let Some(warning) = secret.warning {
                        anstream::println!("{}", escape(&warning));
                    }
                })
                .await
                .map_err(with_flag_names)
        }
        Command::Rm { name } => {
            let removed = engine
                .show("secrets.remove", json!({ "name": name }), |_, removed: SecretRemoved| {
                    anstream::println!("Removed {}.", escape(&name));
                    if let Some(remains) = removed.manual_cleanup {
                        anstream::println!("{}", escape(&remains));
                    }
                })
                .await;
            match removed {
                Err(error) if error.is_not_found() => Err(unknown_secret(engine, &name).await?),
                removed => removed,
            }
        }
    }
}

/// Refuses a new secret without a host or server before its value is typed.
async fn check_known(name: &str, engine: &EngineConnection) -> Result<(), CliError> {
    let list: SecretsListResult = engine.fetch("secrets.list", json!({})).await?;
    if list.secrets.iter().any(|secret| secret.name == name) {
        return Ok(());
    }
    Err(CliError::input(
        "--host: a secret is bound to at least one host, or to an MCP server by --server",
    ))
}

/// The hosts, then the MCP servers. The signing key of a webhook has neither.
fn bindings(secret: &SecretView) -> Vec<String> {
    if secret.hosts.is_empty() && secret.servers.is_empty() {
        return vec!["signatures of a webhook".to_owned()];
    }
    let servers = secret.servers.iter().map(|server| format!("the server {server}"));
    secret.hosts.iter().cloned().chain(servers).collect()
}

fn with_flag_names(error: CliError) -> CliError {
    error.with_field_names(&[
        ("name", "NAME"),
        ("hosts", "--host"),
        ("servers", "--server"),
        ("value", "the value"),
    ])
}

async fn unknown_secret(engine: &EngineConnection, name: &str) -> Result<CliError, CliError> {
    let list: SecretsListResult = engine.fetch("secrets.list", json!({})).await?;
    let names = list.secrets.iter().map(|secret| secret.name.as_str());
    Ok(ids::unknown_name("secret called", name, names, "rouse secrets list"))
}

fn print_list(engine: &EngineConnection, list: SecretsListResult) {
    if list.secrets.is_empty() {
        anstream::println!("No secrets. Store one: rouse secrets set NAME --host HOST");
        return;
    }
    let mut rows = new_table(&["NAME", "BOUND TO", "SET", "STORED IN", "PROBLEM"]);
    for secret in list.secrets {
        let storage = match secret.stored_in {
            SecretStorage::Keyring => "keyring",
            SecretStorage::File => "file",
        };
        let set = local_time(engine, secret.set_at_ms);
        let problem = secret.problem.as_deref().map(escape).unwrap_or_default();
        let bound_to = bindings(&secret).join(", ");
        rows.add_row([secret.name, bound_to, set, storage.to_owned(), problem]);
    }
    print_rows(&rows);
    if let Some(warning) = list.warning {
        anstream::println!("{}", escape(&warning));
    }
}
