//! The connection of a command to the engine.

use std::time::Duration;

use rouse_core::Clock as _;
use rouse_core::settings::SshAddress;
use rouse_core::text::quote_word;
use rouse_core::time::{parse_instant, parse_past_instant};
use rouse_gateway::{Client, ClientError};
use rouse_host::{Home, SystemClock};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::computer::find_computer;
use super::error::{CliError, join_sources};

/// Time limit of a call. The engine answers within milliseconds; event streams have no limit.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Import saves each job before the answer.
const FILE_TIMEOUT: Duration = Duration::from_secs(300);
/// The engine waits for a change of a pairing, or asks the service of the channel. Either takes at most 30 s.
const CHANNEL_TIMEOUT: Duration = Duration::from_secs(60);
/// The user may have to unlock the keyring.
const KEYRING_TIMEOUT: Duration = Duration::from_secs(60);
/// The start of a server takes at most 300 s, and an update stops the old server first.
const SERVER_START_TIMEOUT: Duration = Duration::from_secs(330);
/// The installation of a package takes at most 300 s, and the start of its server follows.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(640);
/// The first check compiles the engine of scripts, and all tests take at most 130 s.
const CHECK_TIMEOUT: Duration = Duration::from_secs(300);
/// An archive of a skill has up to 50 MB.
const SKILL_TIMEOUT: Duration = Duration::from_secs(60);
/// A download has two requests to a registry, of at most 30 s each.
const REGISTRY_TIMEOUT: Duration = Duration::from_secs(90);
/// A test is two model calls, and a local server loads the model first.
const MODEL_TIMEOUT: Duration = Duration::from_secs(400);

/// The engine of this user's data directory.
pub(crate) struct EngineConnection {
    /// The data directory.
    pub(crate) home: Home,
    /// Clock and local zone.
    pub(crate) clock: SystemClock,
    /// Whether answers are printed as JSON.
    pub(crate) json: bool,
    /// The other computer on which the engine runs.
    computer: Option<SshAddress>,
    client: Result<Client, ClientError>,
}

impl EngineConnection {
    /// Looks for a running engine, of this computer or of the one that `on` names. A missing engine is an error only at
    /// the first call.
    pub(crate) fn find(json: bool, on: Option<&str>) -> Result<Self, CliError> {
        let home = Home::find(&|name| std::env::var(name).ok()).map_err(anyhow::Error::from)?;
        let clock = SystemClock::default();
        let (computer, client) = match on {
            Some(on) => {
                let (address, computer) = find_computer(on, &home, &clock)?;
                (Some(address), Ok(Client::over_ssh(computer)))
            }
            None => (None, Client::find(home.root())),
        };
        let client = client.map(|client| client.with_response_timeout(CALL_TIMEOUT));
        Ok(Self { home, clock, json, computer, client })
    }

    /// Whether the engine runs on another computer.
    pub(crate) const fn is_elsewhere(&self) -> bool {
        self.computer.is_some()
    }

    /// Refuses `what`, which needs files or a desktop of the engine's computer, for an engine elsewhere.
    pub(crate) fn require_this_computer(&self, what: &str) -> Result<(), CliError> {
        let Some(computer) = &self.computer else { return Ok(()) };
        Err(CliError::Refused(format!(
            "{what} works only on the computer of the engine, without --on and ROUSE_ON. Run it there: ssh -t {computer} {}",
            command_there(std::env::args().skip(1))
        )))
    }

    pub(crate) fn client(&self) -> Result<&Client, CliError> {
        self.client.as_ref().map_err(|error| match error {
            ClientError::NotRunning => endpoint_problem(&self.home)
                .map_or_else(|| ClientError::NotRunning.into(), CliError::Unreachable),
            other => anyhow::anyhow!(join_sources(other)).into(),
        })
    }

    /// Parses the instant given for `flag`.
    pub(crate) fn parse_instant(&self, flag: &str, text: &str) -> Result<i64, CliError> {
        let instant = parse_instant(text, self.clock.now(), self.clock.zone());
        instant.map(|at| at.0).map_err(|error| CliError::input(format!("{flag}: {error}")))
    }

    /// Parses the start of a past span given for `flag`.
    pub(crate) fn parse_past_instant(&self, flag: &str, text: &str) -> Result<i64, CliError> {
        let instant = parse_past_instant(text, self.clock.now(), self.clock.zone());
        instant.map(|at| at.0).map_err(|error| CliError::input(format!("{flag}: {error}")))
    }

    /// Calls a method.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, CliError> {
        let client = self.client()?.clone().with_response_timeout(call_timeout(method));
        Ok(client.call(method, params).await?)
    }

    /// Calls a method and reads the answer as `T`.
    pub(crate) async fn fetch<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
    ) -> Result<T, CliError> {
        Ok(serde_json::from_value(self.call(method, params).await?)?)
    }

    /// Calls a method and prints the answer: as JSON with `--json`, else with `print`.
    pub(crate) async fn show<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
        print: impl FnOnce(&Self, T),
    ) -> Result<(), CliError> {
        self.print_answer(self.call(method, params).await?, print)
    }

    /// Prints an answer: as JSON with `--json`, else with `print`.
    pub(crate) fn print_answer<T: DeserializeOwned>(
        &self,
        answer: Value,
        print: impl FnOnce(&Self, T),
    ) -> Result<(), CliError> {
        if self.json {
            anstream::println!("{}", serde_json::to_string_pretty(&answer)?);
            return Ok(());
        }
        print(self, serde_json::from_value(answer)?);
        Ok(())
    }
}

/// Time limit of a call of `method`.
fn call_timeout(method: &str) -> Duration {
    match method {
        "cron.import" | "backup.create" => FILE_TIMEOUT,
        "models.test" => MODEL_TIMEOUT,
        "channels.pair" | "channels.pairing" | "channels.confirmPairing" | "channels.check" => {
            CHANNEL_TIMEOUT
        }
        "extensions.install" => INSTALL_TIMEOUT,
        "tools.check" => CHECK_TIMEOUT,
        "skills.preview" | "skills.install" => SKILL_TIMEOUT,
        "skills.search" | "skills.download" => REGISTRY_TIMEOUT,
        _ if method.starts_with("extensions.") => SERVER_START_TIMEOUT,
        _ if method.starts_with("secrets.") || method.starts_with("models.") => KEYRING_TIMEOUT,
        _ => CALL_TIMEOUT,
    }
}

/// The command of these arguments for the computer of `--on`, quoted for the shells of both computers.
fn command_there(args: impl IntoIterator<Item = String>) -> String {
    let mut args = args.into_iter();
    let mut words = vec!["rouse".to_owned()];
    while let Some(arg) = args.next() {
        if arg == "--on" {
            args.next();
        } else if !arg.starts_with("--on=") {
            words.push(quote_word(&quote_word(&arg)));
        }
    }
    words.join(" ")
}

/// The problem when an engine owns `home` and its endpoint files are missing; none without an owner.
pub(crate) fn endpoint_problem(home: &Home) -> Option<String> {
    if !home.is_owned() {
        return None;
    }
    let root = home.root();
    let paths = [Client::endpoint_path(root), Client::token_path(root)];
    let missing: Vec<String> =
        paths.iter().filter(|path| !path.exists()).map(|path| path.display().to_string()).collect();
    Some(format!(
        "Rouse runs with {} but cannot be reached: {}. If Rouse is starting or stopping, try again in a moment. \
         Otherwise restart Rouse; jobs fire meanwhile.",
        root.display(),
        endpoint_reason(&missing)
    ))
}

fn endpoint_reason(missing: &[String]) -> String {
    match missing {
        [] => "another program listens at its address".to_owned(),
        [file] => format!("{file} is missing"),
        files => format!("{} are missing", files.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use rouse_host::PAIRING_WAIT;

    use super::*;

    #[test]
    fn pairing_call_outlasts_the_wait_of_the_engine() {
        assert!(call_timeout("channels.pairing") > PAIRING_WAIT);
        assert_eq!(call_timeout("channels.list"), CALL_TIMEOUT);
    }

    #[test]
    fn command_there_has_no_computer() {
        let there = |line: &str| command_there(line.split(' ').map(str::to_owned));
        assert_eq!(there("--on anna@box doctor"), "rouse doctor");
        assert_eq!(there("--on=box --json logs"), "rouse --json logs");
        let spaced = command_there(["mcp", "login", "my docs"].map(str::to_owned));
        assert_eq!(spaced, r"rouse mcp login ''\''my docs'\'''");
    }

    #[test]
    fn endpoint_reason_names_missing_files() {
        let files = ["gateway.json", "gateway.token"].map(str::to_owned);
        assert_eq!(endpoint_reason(&files[..1]), "gateway.json is missing");
        assert_eq!(endpoint_reason(&files), "gateway.json and gateway.token are missing");
    }
}
