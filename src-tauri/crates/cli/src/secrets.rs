//! `rouse secrets …`: keys that a request names and no model sees.
//!
//! A value is read from a pipe, or from the keyboard without showing it. It never stands on a command line, where every
//! program of the computer could read it and the shell would remember it, and nothing prints it again.

use std::io::{IsTerminal as _, Read as _, stdin};

use clap::Subcommand;
use rouse_core::Clock as _;
use rouse_core::words::capitalised;
use rouse_gateway::wire::{SecretKeeper, SecretRemoved, SecretView, SecretsListResult};
use serde_json::json;

use crate::exit::Failure;
use crate::ids;
use crate::output::{instant, plain, print, table};
use crate::session::Session;

/// More than any value takes.
const MOST_READ: u64 = 16 << 10;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// Names and hosts of the stored secrets; never a value.
    #[default]
    List,
    /// Store a secret: `rouse secrets set github --host api.github.com`, and type or pipe its value.
    ///
    /// A request to one of its hosts names it as {{secret:github}}, in its address, a header or its body. It goes over
    /// https only, unless the host is written with http:// before it: `--host http://127.0.0.1:45543`.
    Set {
        /// 1 to 64 small letters, digits, _ and -.
        name: String,
        /// A host that it may be sent to, such as api.example.com or api.example.com:8443; several are allowed. A secret
        /// that is stored already keeps its hosts when none is named.
        #[arg(long = "host", value_name = "HOST")]
        hosts: Vec<String>,
    },
    /// Forget a secret.
    Rm {
        /// Its name.
        name: String,
    },
}

pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Failure> {
    match command {
        Command::List => session.show("secrets.list", json!({}), print_list).await,
        Command::Set { name, hosts } => {
            let mut params = json!({ "name": name, "value": read_value(&format!("value of {}", plain(&name)))? });
            if !hosts.is_empty() {
                params["hosts"] = json!(hosts);
            }
            session
                .show("secrets.set", params, |_, secret: SecretView| {
                    anstream::println!(
                        "Stored {}, for {} alone.",
                        secret.name,
                        secret.hosts.join(", ")
                    );
                    if let (SecretKeeper::File, Some(problem)) = (secret.kept_in, secret.problem) {
                        anstream::println!(
                            "Its value is in a file that only you can read, because {}.",
                            plain(&problem)
                        );
                    }
                    if let Some(warning) = secret.warning {
                        anstream::println!("{}", plain(&warning));
                    }
                    Ok(())
                })
                .await
                .map_err(called)
        }
        Command::Rm { name } => {
            let removed = session
                .show("secrets.remove", json!({ "name": name }), |_, removed: SecretRemoved| {
                    anstream::println!("Removed {}.", plain(&name));
                    if let Some(remains) = removed.remains {
                        anstream::println!("{}", plain(&remains));
                    }
                    Ok(())
                })
                .await;
            match removed {
                Err(failure) if failure.is_not_found() => Err(none_called(session, &name).await?),
                removed => removed,
            }
        }
    }
}

/// What the fields are on the command line.
fn called(failure: Failure) -> Failure {
    failure.calling(&[("name", "NAME"), ("hosts", "--host"), ("value", "the value")])
}

/// Reads `what` from the keyboard without showing it, or from a pipe.
pub(crate) fn read_value(what: &str) -> Result<String, Failure> {
    if stdin().is_terminal() {
        return Ok(rpassword::prompt_password(format!("{}: ", capitalised(what)))?);
    }
    let mut value = String::new();
    stdin().take(MOST_READ).read_to_string(&mut value)?;
    Ok(value)
}

async fn none_called(session: &Session, name: &str) -> Result<Failure, Failure> {
    let list: SecretsListResult =
        serde_json::from_value(session.call("secrets.list", json!({})).await?)?;
    let names = list.secrets.iter().map(|secret| secret.name.as_str());
    Ok(ids::unknown("secret called", name, names, "rouse secrets list"))
}

fn print_list(session: &Session, list: SecretsListResult) -> Result<(), Failure> {
    if list.secrets.is_empty() {
        anstream::println!("No secrets. Store one: rouse secrets set NAME --host HOST");
        return Ok(());
    }
    let mut rows = table(&["NAME", "HOSTS", "SET", "KEPT IN", ""]);
    for secret in list.secrets {
        let kept = match secret.kept_in {
            SecretKeeper::Keyring => "keyring",
            SecretKeeper::File => "file",
        };
        let set = instant(secret.set_at_ms, session.clock.now().0, session.clock.zone());
        let problem = secret.problem.as_deref().map(plain).unwrap_or_default();
        rows.add_row([secret.name, secret.hosts.join(", "), set, kept.to_owned(), problem]);
    }
    print(&rows);
    if let Some(warning) = list.warning {
        anstream::println!("{}", plain(&warning));
    }
    Ok(())
}

/// What a person should know about where the secrets are kept, and whether all of them are at hand.
pub(crate) async fn troubles(session: &Session) -> Result<Vec<String>, Failure> {
    let list: SecretsListResult =
        serde_json::from_value(session.call("secrets.list", json!({})).await?)?;
    let missing =
        list.secrets.iter().filter(|secret| secret.kept_in == SecretKeeper::Keyring).filter_map(
            |secret| {
                let problem = plain(secret.problem.as_ref()?);
                Some(format!("The secret {} is not at hand, because {problem}", secret.name))
            },
        );
    Ok(missing.chain(list.warning.as_deref().map(plain)).collect())
}
