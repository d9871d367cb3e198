//! One command's connection to the engine and its way of answering.

use std::time::Duration;

use rouse_core::Clock as _;
use rouse_gateway::{Client, ClientError};
use rouse_host::{Home, SystemClock};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::exit::{Failure, chain};

/// How long an answer may take to begin. The engine answers within milliseconds, and following is no call.
pub(crate) const ANSWERED_WITHIN: Duration = Duration::from_secs(5);
/// The same for a file of jobs, each of which is saved before the answer.
const FILE_ANSWERED_WITHIN: Duration = Duration::from_secs(300);
/// The same where a person may have to unlock the keyring first.
const KEYRING_ANSWERED_WITHIN: Duration = Duration::from_secs(60);
/// The same where a model answers twice; a local server loads it first.
const MODEL_ANSWERED_WITHIN: Duration = Duration::from_secs(400);

/// The engine of this user's data directory.
pub(crate) struct Session {
    /// Where the data lives.
    pub(crate) home: Home,
    /// For relative times and the local zone.
    pub(crate) clock: SystemClock,
    /// Whether the answer is printed as JSON.
    pub(crate) json: bool,
    client: Result<Client, ClientError>,
}

impl Session {
    /// Looks for the engine; that there is none is reported when it is first needed.
    pub(crate) fn find(json: bool) -> Result<Self, Failure> {
        let home = Home::find(&|name| std::env::var(name).ok()).map_err(anyhow::Error::from)?;
        let client =
            Client::find(home.root()).map(|client| client.answered_within(ANSWERED_WITHIN));
        Ok(Self { home, clock: SystemClock::default(), json, client })
    }

    /// The client.
    pub(crate) fn client(&self) -> Result<&Client, Failure> {
        self.client.as_ref().map_err(|error| match error {
            ClientError::NotRunning => no_way(&self.home)
                .map_or_else(|| ClientError::NotRunning.into(), Failure::Unreachable),
            other => anyhow::anyhow!(chain(other)).into(),
        })
    }

    /// The instant that a person wrote as `what`, by this computer's clocks.
    pub(crate) fn instant(&self, what: &str, text: &str) -> Result<i64, Failure> {
        let at = rouse_core::when::instant(text, self.clock.now(), self.clock.zone());
        at.map(|at| at.0).map_err(|error| Failure::input(format!("{what}: {error}")))
    }

    /// The begin of a span that ends now, as a person wrote it for `flag`.
    pub(crate) fn past_instant(&self, flag: &str, text: &str) -> Result<i64, Failure> {
        let at = rouse_core::when::past_instant(text, self.clock.now(), self.clock.zone());
        at.map(|at| at.0).map_err(|error| Failure::input(format!("{flag}: {error}")))
    }

    /// Calls a method.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, Failure> {
        let client = self.client()?;
        let patience = match method {
            "cron.import" | "backup.create" => FILE_ANSWERED_WITHIN,
            "models.test" => MODEL_ANSWERED_WITHIN,
            _ if method.starts_with("secrets.") || method.starts_with("models.") => {
                KEYRING_ANSWERED_WITHIN
            }
            _ => ANSWERED_WITHIN,
        };
        Ok(client.clone().answered_within(patience).call(method, params).await?)
    }

    /// Calls a method and prints its answer: as JSON when asked, else with `print`.
    pub(crate) async fn show<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
        print: impl FnOnce(&Self, T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.tell(self.call(method, params).await?, print)
    }

    /// Prints an answer: as JSON when asked, else with `print`.
    pub(crate) fn tell<T: DeserializeOwned>(
        &self,
        answer: Value,
        print: impl FnOnce(&Self, T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.json {
            anstream::println!("{}", serde_json::to_string_pretty(&answer)?);
            return Ok(());
        }
        print(self, serde_json::from_value(answer)?)
    }
}

/// What to say when an engine owns `home` and the files that lead to it are not there; none when nobody owns it.
pub(crate) fn no_way(home: &Home) -> Option<String> {
    if !home.is_owned() {
        return None;
    }
    let root = home.root();
    let paths = [Client::endpoint_path(root), Client::token_path(root)];
    let missing: Vec<_> = paths.iter().filter(|path| !path.exists()).collect();
    let missing = missing.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    let gone = gone(&missing);
    Some(format!(
        "A Rouse owns {} and cannot be reached: {gone}. When it is just starting or stopping, try again in a moment. \
         Else its jobs fire all the same: end that Rouse and start it again, and commands find it.",
        root.display()
    ))
}

/// Why nobody is reached, where these files are missing.
fn gone(missing: &[String]) -> String {
    match missing {
        [] => "what listens at its address is not it".to_owned(),
        [one] => format!("{one} is not there"),
        several => format!("{} are not there", several.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::gone;

    #[test]
    fn one_file_is_missing_and_two_are() {
        let files = ["gateway.json", "gateway.token"].map(str::to_owned);
        assert_eq!(gone(&files[..1]), "gateway.json is not there");
        assert_eq!(gone(&files), "gateway.json and gateway.token are not there");
    }
}
