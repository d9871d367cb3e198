//! The stored secrets: where they are kept, and the book that the engine works with.
//!
//! Owns the list in `secrets.json`, the values in the system's keyring, and the way back from there into the book. A value
//! goes in through `set` and out into the book alone; no method of the gateway answers with one. Where there is no keyring
//! the value stays in the file, which only the person can read, and everybody who looks is told so. It refuses to lose
//! anything: a file that cannot be read is not written over, a keyring that does not answer leaves the list as it is.
//!
//! A value that is not at hand is looked for once more when it is needed, so that unlocking the keyring is enough. One could
//! get it wrong by unlocking the keyring for that: it asks its person, who is not there; or by a look for each call of a
//! model that calls in circles.

mod file;
mod keyring;
#[cfg(target_os = "linux")]
mod locked;
mod start;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{Secret, SecretBook, SecretError, SecretSource, SecretValue};
use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, UnixMs};
use rouse_gateway::wire::{
    SecretKeeper, SecretRemoved, SecretSetParams, SecretView, SecretsListResult,
};
use rouse_gateway::{ErrorCode, RpcError, Secrets};
use tokio::sync::{Mutex, Semaphore};

use file::{Line, SecretsFile};
use keyring::{Keyring, KeyringError, MOST_WAITING, SERVICE, ask};
pub(crate) use start::{load_at_start, shelf};

/// Most secrets of one data directory.
const MOST: usize = 200;

/// How long a look for what is not at hand stands: less than anybody needs to unlock a keyring and come back.
const LOOK_STANDS_FOR: Duration = Duration::from_secs(2);

/// Why a value is not at hand before the keyring has said anything.
const NOT_FETCHED: &str = "the system's keyring has not answered yet; it may be locked: unlock it";

/// Keys that are recognised in texts and never sent: those of providers, and the gateway's token.
type OwnKeys = Arc<dyn Fn() -> Vec<Secret> + Send + Sync>;

/// Where secrets are kept.
pub(crate) struct SecretShelf {
    path: PathBuf,
    /// None where the person wants none.
    keyring: Option<Arc<dyn Keyring>>,
    own: OwnKeys,
    clock: Arc<dyn Clock>,
    book: Arc<SecretBook>,
    /// Those of the threads that may wait for the keyring.
    places: Arc<Semaphore>,
    state: Mutex<State>,
}

/// Whether somebody is there who can be asked to unlock the keyring.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    There,
    Away,
}

struct State {
    /// The list, or why it cannot be read.
    file: Result<SecretsFile, String>,
    values: BTreeMap<String, SecretValue>,
    /// Why a value is not at hand.
    problems: BTreeMap<String, String>,
    /// When the values that are not at hand were looked for last, by the monotonic clock.
    looked_at: Option<Duration>,
    /// When the secrets were set that this process has set: each at an instant of its own.
    set_at: BTreeSet<i64>,
}

impl SecretShelf {
    /// Opens the list; `book` knows the names in it, and no value before `load`.
    fn open(
        path: PathBuf,
        keyring: Option<Arc<dyn Keyring>>,
        own: OwnKeys,
        clock: Arc<dyn Clock>,
        book: Arc<SecretBook>,
    ) -> Self {
        let file = SecretsFile::read(&path);
        if let Err(reason) = &file {
            tracing::error!("{reason}");
        }
        let state = State {
            file,
            values: BTreeMap::new(),
            problems: BTreeMap::new(),
            looked_at: None,
            set_at: BTreeSet::new(),
        };
        let places = Arc::new(Semaphore::new(MOST_WAITING));
        let mut shelf = Self { path, keyring, own, clock, book, places, state: Mutex::new(state) };
        fill(&shelf.book, (shelf.own)(), shelf.state.get_mut());
        shelf
    }

    /// Fetches the values that are not at hand, and puts all of them into the book.
    pub(crate) async fn load(&self) {
        let mut state = self.state.lock().await;
        self.look(&mut state, Presence::There).await;
    }

    /// The same for somebody who needs a value while nobody may be there. Who has waited here for the look of somebody else
    /// has its answer.
    async fn load_again(&self) {
        let mut state = self.state.lock().await;
        let now = self.clock.monotonic();
        let stands = |looked_at| now.saturating_sub(looked_at) < LOOK_STANDS_FOR;
        if !state.looked_at.is_some_and(stands) {
            self.look(&mut state, Presence::Away).await;
        }
    }

    async fn look(&self, state: &mut State, presence: Presence) {
        self.fetch(state, presence).await;
        state.looked_at = Some(self.clock.monotonic());
        self.fill_book(state);
    }

    async fn fetch(&self, state: &mut State, presence: Presence) {
        let Ok(file) = &state.file else { return };
        let mut wanted = Vec::new();
        for (name, line) in &file.secrets {
            match &line.value {
                _ if state.values.contains_key(name) => {}
                Some(value) => take(&mut state.values, &mut state.problems, name, Ok(Some(value))),
                None => wanted.push((name.clone(), file.account(name))),
            }
        }
        let Some(keyring) = self.keyring.as_ref().filter(|_| !wanted.is_empty()) else {
            for (name, _) in wanted {
                let reason =
                    "it is in the system's keyring, which is switched off (ROUSE_KEYRING=0)";
                state.problems.insert(name, reason.to_owned());
            }
            return;
        };
        let (names, accounts): (Vec<String>, Vec<String>) = wanted.into_iter().unzip();
        let fetched = self.fetched(keyring, accounts, presence).await;
        for (number, name) in names.iter().enumerate() {
            let value = match &fetched {
                Ok(values) => values[number].as_ref().map(Option::as_deref),
                Err(error) => Err(error),
            };
            let value = value.map_err(ToString::to_string);
            take(&mut state.values, &mut state.problems, name, value);
        }
    }

    /// What the keyring has under these names. One that is locked is not unlocked while nobody is there for it.
    async fn fetched(
        &self,
        keyring: &Arc<dyn Keyring>,
        accounts: Vec<String>,
        presence: Presence,
    ) -> Result<Vec<Result<Option<String>, KeyringError>>, KeyringError> {
        if presence == Presence::Away && keyring.is_locked(&accounts).await {
            return Err(KeyringError::Locked);
        }
        let get = move |keyring: &dyn Keyring| {
            Ok(accounts.iter().map(|account| keyring.get(account)).collect())
        };
        ask((keyring, &self.places), get).await
    }

    fn fill_book(&self, state: &State) {
        fill(&self.book, (self.own)(), state);
    }

    /// An instant at which no secret that is here, or was removed from here, was set: the clock may have been set back.
    fn set_now(&self, state: &mut State) -> i64 {
        let listed = state.file.iter().flat_map(|file| file.secrets.values());
        state.set_at.extend(listed.map(|line| line.set_at_ms));
        let mut at = self.clock.now().0;
        while !state.set_at.insert(at) {
            at += 1;
        }
        at
    }

    async fn keep(&self, params: SecretSetParams) -> Result<SecretView, RpcError> {
        let mut state = self.state.lock().await;
        let mut file = state.file.clone().map_err(damaged)?;
        let before = file.secrets.get(&params.name);
        let hosts = match (params.hosts.clone(), before) {
            (Some(hosts), _) => hosts,
            (None, Some(line)) => line.hosts.clone(),
            (None, None) => Vec::new(),
        };
        let value = SecretValue::new(&params.value).map_err(wrong)?;
        let secret = Secret::new(&params.name, value.clone(), &hosts).map_err(wrong)?;
        if before.is_none() && file.secrets.len() >= MOST {
            let message = format!("There are {MOST} secrets already. Remove one first.");
            return Err(RpcError::new(ErrorCode::Conflict, message));
        }
        let set_at_ms = self.set_now(&mut state);
        // From here on the keyring may have another value, whatever fails: nothing may take it for the one of before.
        if let Some(line) = file.secrets.get_mut(&params.name) {
            line.set_at_ms = set_at_ms;
            file.write(&self.path).map_err(|error| not_written(&self.path, &error))?;
        }
        let warning = value.warning();
        let account = file.account(&params.name);
        let in_keyring = self.keep_in_keyring(account, value.expose().to_owned()).await;
        let kept = match &in_keyring {
            Ok(()) => None,
            Err(_) => Some(value.expose().to_owned()),
        };
        let line = Line { hosts: secret.hosts(), set_at_ms, value: kept };
        file.secrets.insert(params.name.clone(), line);
        file.write(&self.path).map_err(|error| not_written(&self.path, &error))?;
        state.file = Ok(file);
        state.values.insert(params.name.clone(), value);
        state.problems.remove(&params.name);
        self.fill_book(&state);
        Ok(SecretView {
            name: params.name,
            hosts: secret.hosts(),
            set_at_ms,
            kept_in: if in_keyring.is_ok() { SecretKeeper::Keyring } else { SecretKeeper::File },
            problem: in_keyring.err(),
            warning,
        })
    }

    /// Keeps the value in the keyring, or says why it is not there.
    async fn keep_in_keyring(&self, account: String, value: String) -> Result<(), String> {
        let Some(keyring) = &self.keyring else {
            return Err("the system's keyring is switched off (ROUSE_KEYRING=0)".to_owned());
        };
        let set = move |keyring: &dyn Keyring| keyring.set(&account, &value);
        let kept = ask((keyring, &self.places), set).await;
        kept.map_err(|error: KeyringError| error.to_string())
    }

    async fn forget(&self, name: &str) -> Result<SecretRemoved, RpcError> {
        let mut state = self.state.lock().await;
        let mut file = state.file.clone().map_err(damaged)?;
        let Some(line) = file.secrets.remove(name) else {
            let message = format!("There is no secret called {name}.");
            return Err(RpcError::new(ErrorCode::NotFound, message));
        };
        // First the value and then the name, so that nothing is left behind that nobody knows of.
        let remains = match line.value {
            Some(_) => None,
            None => self.forget_in_keyring(file.account(name)).await?,
        };
        file.write(&self.path).map_err(|error| not_written(&self.path, &error))?;
        state.file = Ok(file);
        state.set_at.insert(line.set_at_ms);
        state.values.remove(name);
        state.problems.remove(name);
        self.fill_book(&state);
        Ok(SecretRemoved { changed: true, remains })
    }

    /// Forgets a value in the keyring; what a person should know when it may still be there.
    async fn forget_in_keyring(&self, account: String) -> Result<Option<String>, RpcError> {
        let Some(keyring) = &self.keyring else {
            return Ok(Some(format!(
                "Its value is still in the system's keyring, which Rouse does not use (ROUSE_KEYRING=0): delete the entry {account} of {SERVICE} there."
            )));
        };
        let asked = account.clone();
        let remove = move |keyring: &dyn Keyring| keyring.remove(&asked);
        let removed = ask((keyring, &self.places), remove).await;
        let was_there = removed.map_err(|error| {
            let message = format!("The secret was not removed: {error}.");
            RpcError::new(ErrorCode::Conflict, message)
        })?;
        Ok((!was_there).then(|| format!(
            "The system's keyring showed no value of it. If the keyring was locked, the value is still there: unlock it and delete the entry {account} of {SERVICE}."
        )))
    }

    async fn listed(&self) -> Result<SecretsListResult, RpcError> {
        // A keyring that was locked may be open by now.
        self.load().await;
        let state = self.state.lock().await;
        let file = state.file.as_ref().map_err(|reason| damaged(reason.clone()))?;
        let secrets: Vec<SecretView> = file
            .secrets
            .iter()
            .map(|(name, line)| SecretView {
                name: name.clone(),
                hosts: line.hosts.clone(),
                set_at_ms: line.set_at_ms,
                kept_in: if line.value.is_some() {
                    SecretKeeper::File
                } else {
                    SecretKeeper::Keyring
                },
                problem: state.problems.get(name).cloned(),
                warning: state.values.get(name).and_then(SecretValue::warning),
            })
            .collect();
        let in_file = secrets.iter().filter(|view| view.kept_in == SecretKeeper::File).count();
        let warning = in_file_in_words(in_file, secrets.len()).map(|which| {
            format!(
                "{which} kept in {}, which only you can read, and not in the system's keyring.",
                self.path.display()
            )
        });
        Ok(SecretsListResult { secrets, warning })
    }
}

/// Has the book hold the secrets of the list beside Rouse's `own` keys.
fn fill(book: &SecretBook, mut secrets: Vec<Secret>, state: &State) {
    if let Ok(file) = &state.file {
        for (name, value) in &state.values {
            let Some(line) = file.secrets.get(name) else { continue };
            match Secret::new(name, value.clone(), &line.hosts) {
                Ok(secret) => secrets.push(secret.set(UnixMs(line.set_at_ms))),
                Err(error) => tracing::error!(name, %error, "a secret in the list is none"),
            }
        }
    }
    book.hold(secrets, absent_of(state));
}

/// The secrets of the list that are not at hand, with why.
fn absent_of(state: &State) -> BTreeMap<String, String> {
    let listed = state.file.iter().flat_map(|file| file.secrets.keys());
    let absent = listed.filter(|name| !state.values.contains_key(*name));
    let why = |name: &String| {
        let why = state.problems.get(name).map_or(NOT_FETCHED, String::as_str);
        (name.clone(), why.to_owned())
    };
    absent.map(why).collect()
}

/// Which secrets are in the file; none where none is.
fn in_file_in_words(count: usize, of: usize) -> Option<String> {
    match (count, of) {
        (0, _) => None,
        (1, 1) => Some("The only secret is".to_owned()),
        (1, of) => Some(format!("1 of {of} secrets is")),
        (count, of) if count == of => Some(format!("All {of} secrets are")),
        (count, of) => Some(format!("{count} of {of} secrets are")),
    }
}

/// Puts a fetched value where it belongs, or the reason why there is none.
fn take(
    values: &mut BTreeMap<String, SecretValue>,
    problems: &mut BTreeMap<String, String>,
    name: &str,
    fetched: Result<Option<impl AsRef<str>>, String>,
) {
    let value = match fetched {
        Ok(Some(text)) => SecretValue::new(text.as_ref()).map_err(|error| error.to_string()),
        Ok(None) => Err(
            "the system's keyring does not show it; unlock the keyring, or set the secret again"
                .to_owned(),
        ),
        Err(reason) => Err(reason),
    };
    match value {
        Ok(value) => {
            values.insert(name.to_owned(), value);
            problems.remove(name);
        }
        Err(reason) => {
            // It is looked for as often as it is needed, and told once.
            if problems.get(name) != Some(&reason) {
                tracing::warn!(name, reason, "a secret is not at hand");
                problems.insert(name.to_owned(), reason);
            }
        }
    }
}

fn wrong(error: SecretError) -> RpcError {
    let field = match error {
        SecretError::Name(_) => "name",
        SecretError::Short | SecretError::Long | SecretError::Control => "value",
        SecretError::NoHost | SecretError::Host(_) => "hosts",
    };
    RpcError::field(field, &error.to_string())
}

fn damaged(reason: String) -> RpcError {
    RpcError::new(ErrorCode::Conflict, reason)
}

fn not_written(path: &std::path::Path, error: &std::io::Error) -> RpcError {
    tracing::error!(%error, "the secrets could not be written");
    let message = format!("{} cannot be written: {error}. Nothing was changed.", path.display());
    RpcError::new(ErrorCode::Storage, message)
}

impl SecretSource for SecretShelf {
    fn look_again(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.load_again())
    }
}

impl Secrets for SecretShelf {
    fn list(&self) -> BoxFuture<'_, Result<SecretsListResult, RpcError>> {
        Box::pin(self.listed())
    }

    fn set(&self, params: SecretSetParams) -> BoxFuture<'_, Result<SecretView, RpcError>> {
        Box::pin(self.keep(params))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<SecretRemoved, RpcError>> {
        Box::pin(self.forget(name))
    }
}
