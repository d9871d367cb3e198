//! The stored secrets: their storage, and the secret book of the engine.
//!
//! Owns the list in `secrets.json`, the values in the system's keyring, and the loading into the book. A value enters
//! by `set` and leaves only into the book; no gateway method returns values. Without a keyring the value stays in the
//! private file, and every listing warns about that. Never loses data: an unreadable file is not overwritten, and a
//! silent keyring leaves the list unchanged.
//!
//! An unavailable value is looked up again on use, so unlocking the keyring is enough. Pitfall: prompting for an
//! unlock while the person is away, or a lookup per call of a looping model.

mod file;
mod keyring;
#[cfg(target_os = "linux")]
mod lock_state;
mod data_key;
mod signing_key;
mod start;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rouse_agent::{Secret, SecretBook, SecretSource, SecretValue};
use rouse_core::tool::BoxFuture;
use rouse_core::{Clock, UnixMs};
use rouse_gateway::wire::{
    SecretRemoved, SecretSetParams, SecretStorage, SecretView, SecretsListResult,
};
use rouse_gateway::{ErrorCode, RpcError, Secrets, SignatureError, SignedMessage};
use tokio::sync::{Mutex, Semaphore};

pub(crate) use data_key::DataKeyEntries;
use file::{SecretEntry, SecretsFile, describe_file_count};
use keyring::{Keyring, KeyringError, MAX_WAITING_THREADS, SERVICE, call_keyring};
use signing_key::{Binding, invalid_secret, signing_key_params, verify_message};
pub(crate) use start::{load_at_start, open_vault};

/// The maximum number of secrets.
const MAX_SECRETS: usize = 200;

/// How long a lookup stays valid: shorter than unlocking a keyring takes.
const LOOKUP_VALID_FOR: Duration = Duration::from_secs(2);

/// Why a value is unavailable before the keyring has answered.
const NOT_FETCHED: &str = "the system's keyring has not answered yet; it may be locked: unlock it";

/// Keys that are redacted but never sent: provider keys and the gateway token.
type OwnKeys = Arc<dyn Fn() -> Vec<Secret> + Send + Sync>;

/// The storage of secrets.
pub(crate) struct SecretVault {
    path: PathBuf,
    /// None if the person switched the keyring off.
    keyring: Option<Arc<dyn Keyring>>,
    own: OwnKeys,
    clock: Arc<dyn Clock>,
    book: Arc<SecretBook>,
    /// The permits of threads that wait for the keyring.
    permits: Arc<Semaphore>,
    state: Mutex<SecretState>,
}

/// Whether a person is present to unlock the keyring.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Present,
    Away,
}

struct SecretState {
    /// The list, or why it cannot be read.
    file: Result<SecretsFile, String>,
    values: BTreeMap<String, SecretValue>,
    /// Why a value is unavailable.
    problems: BTreeMap<String, String>,
    /// The last lookup of unavailable values, by the monotonic clock.
    last_lookup: Option<Duration>,
    /// The unique change times of this process's secrets.
    set_at: BTreeSet<i64>,
}

impl SecretVault {
    /// Opens the list. `book` has the names at once, and the values after `load`.
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
        let state = SecretState {
            file,
            values: BTreeMap::new(),
            problems: BTreeMap::new(),
            last_lookup: None,
            set_at: BTreeSet::new(),
        };
        let permits = Arc::new(Semaphore::new(MAX_WAITING_THREADS));
        let mut vault = Self { path, keyring, own, clock, book, permits, state: Mutex::new(state) };
        fill_secret_book(&vault.book, (vault.own)(), vault.state.get_mut());
        vault
    }

    /// Looks up unavailable values and fills the book.
    pub(crate) async fn load(&self) {
        let mut state = self.state.lock().await;
        self.look_up(&mut state, Presence::Present).await;
    }

    /// Looks up unavailable values without a prompt. A caller that waited for another lookup uses its result.
    async fn load_without_prompt(&self) {
        let mut state = self.state.lock().await;
        let now = self.clock.monotonic();
        let is_valid = |last_lookup| now.saturating_sub(last_lookup) < LOOKUP_VALID_FOR;
        if !state.last_lookup.is_some_and(is_valid) {
            self.look_up(&mut state, Presence::Away).await;
        }
    }

    async fn look_up(&self, state: &mut SecretState, presence: Presence) {
        self.fetch(state, presence).await;
        state.last_lookup = Some(self.clock.monotonic());
        self.fill_book(state);
    }

    async fn fetch(&self, state: &mut SecretState, presence: Presence) {
        let Ok(file) = &state.file else { return };
        let mut wanted = Vec::new();
        for (name, entry) in &file.secrets {
            match &entry.value {
                _ if state.values.contains_key(name) => {}
                Some(value) => {
                    store_fetched(&mut state.values, &mut state.problems, name, Ok(Some(value)))
                }
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
        let fetched = self.read_values(keyring, accounts, presence).await;
        for (number, name) in names.iter().enumerate() {
            let value = match &fetched {
                Ok(values) => values[number].as_ref().map(Option::as_deref),
                Err(error) => Err(error),
            };
            let value = value.map_err(ToString::to_string);
            store_fetched(&mut state.values, &mut state.problems, name, value);
        }
    }

    /// Reads these entries. A locked keyring is not unlocked while the person is away.
    async fn read_values(
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
        call_keyring((keyring, &self.permits), get).await
    }

    fn fill_book(&self, state: &SecretState) {
        fill_secret_book(&self.book, (self.own)(), state);
    }

    /// A change time that no present or removed secret has, because the clock may have been set back.
    fn unique_set_time(&self, state: &mut SecretState) -> i64 {
        let entries = state.file.iter().flat_map(|file| file.secrets.values());
        state.set_at.extend(entries.map(|entry| entry.set_at_ms));
        let mut at = self.clock.now().0;
        while !state.set_at.insert(at) {
            at += 1;
        }
        at
    }

    async fn store_secret(&self, params: SecretSetParams) -> Result<SecretView, RpcError> {
        self.store_checked(params, Binding::Receivers).await
    }

    async fn store_checked(
        &self,
        params: SecretSetParams,
        binding: Binding,
    ) -> Result<SecretView, RpcError> {
        let mut state = self.state.lock().await;
        let mut file = state.file.clone().map_err(list_error)?;
        let before = file.secrets.get(&params.name);
        let present_hosts = || before.map(|entry| entry.hosts.clone());
        let present_servers = || before.map(|entry| entry.servers.clone());
        let hosts = params.hosts.clone().or_else(present_hosts).unwrap_or_default();
        let servers = params.servers.clone().or_else(present_servers).unwrap_or_default();
        let value = SecretValue::new(&params.value).map_err(invalid_secret)?;
        let binding = before.map_or(binding, |entry| binding.or_present(entry));
        let secret = binding.bind(&params.name, &value, &hosts, &servers)?;
        if before.is_none() && file.secrets.len() >= MAX_SECRETS {
            let message = format!("There are {MAX_SECRETS} secrets already. Remove one first.");
            return Err(RpcError::new(ErrorCode::Conflict, message));
        }
        let set_at_ms = self.unique_set_time(&mut state);
        // From here the keyring may hold the new value despite a failure, so the old change time must not remain.
        if let Some(entry) = file.secrets.get_mut(&params.name) {
            entry.set_at_ms = set_at_ms;
            file.write(&self.path).map_err(|error| write_error(&self.path, &error))?;
        }
        let warning = value.warning();
        let account = file.account(&params.name);
        let in_keyring = self.store_in_keyring(account, value.expose().to_owned()).await;
        let file_value = match &in_keyring {
            Ok(()) => None,
            Err(_) => Some(value.expose().to_owned()),
        };
        let entry = SecretEntry { hosts: secret.hosts(), servers, set_at_ms, value: file_value };
        let (hosts, servers) = (entry.hosts.clone(), entry.servers.clone());
        file.secrets.insert(params.name.clone(), entry);
        file.write(&self.path).map_err(|error| write_error(&self.path, &error))?;
        state.file = Ok(file);
        state.values.insert(params.name.clone(), value);
        state.problems.remove(&params.name);
        self.fill_book(&state);
        Ok(SecretView {
            name: params.name,
            hosts,
            servers,
            set_at_ms,
            stored_in: if in_keyring.is_ok() {
                SecretStorage::Keyring
            } else {
                SecretStorage::File
            },
            problem: in_keyring.err(),
            warning,
        })
    }

    /// Stores the value in the keyring, or returns why that failed.
    async fn store_in_keyring(&self, account: String, value: String) -> Result<(), String> {
        let Some(keyring) = &self.keyring else {
            return Err("the system's keyring is switched off (ROUSE_KEYRING=0)".to_owned());
        };
        let set = move |keyring: &dyn Keyring| keyring.set(&account, &value);
        let stored = call_keyring((keyring, &self.permits), set).await;
        stored.map_err(|error: KeyringError| error.to_string())
    }

    async fn remove_secret(&self, name: &str) -> Result<SecretRemoved, RpcError> {
        let mut state = self.state.lock().await;
        let mut file = state.file.clone().map_err(list_error)?;
        let Some(entry) = file.secrets.remove(name) else {
            let message = format!("There is no secret called {name}.");
            return Err(RpcError::new(ErrorCode::NotFound, message));
        };
        // Removes the value before the name, so no orphan entry remains.
        let remains = match entry.value {
            Some(_) => None,
            None => self.remove_from_keyring(file.account(name)).await?,
        };
        file.write(&self.path).map_err(|error| write_error(&self.path, &error))?;
        state.file = Ok(file);
        state.set_at.insert(entry.set_at_ms);
        state.values.remove(name);
        state.problems.remove(name);
        self.fill_book(&state);
        Ok(SecretRemoved { changed: true, manual_cleanup: remains })
    }

    /// Removes a value from the keyring. Returns a warning if the value may remain.
    async fn remove_from_keyring(&self, account: String) -> Result<Option<String>, RpcError> {
        let Some(keyring) = &self.keyring else {
            return Ok(Some(format!(
                "The value is still in the system's keyring, which is switched off (ROUSE_KEYRING=0). Delete the entry {account} of {SERVICE} there."
            )));
        };
        let entry = account.clone();
        let remove = move |keyring: &dyn Keyring| keyring.remove(&entry);
        let removed = call_keyring((keyring, &self.permits), remove).await;
        let was_there = removed.map_err(|error| {
            let message = format!("The secret was not removed: {error}.");
            RpcError::new(ErrorCode::Conflict, message)
        })?;
        Ok((!was_there).then(|| format!(
            "The system's keyring has no value of this secret. If the keyring was locked, the value is still there: unlock the keyring and delete the entry {account} of {SERVICE}."
        )))
    }

    /// The value of the signing key `name`, none if not stored. Reads an unavailable value again.
    async fn signing_key(&self, name: &str) -> Result<Option<SecretValue>, String> {
        if self.book.unavailable_reason(name).is_some() {
            self.load_without_prompt().await;
        }
        let state = self.state.lock().await;
        let file = state.file.as_ref().map_err(Clone::clone)?;
        match state.values.get(name) {
            Some(value) => Ok(Some(value.clone())),
            None if file.secrets.contains_key(name) => {
                let problem = state.problems.get(name).map_or(NOT_FETCHED, String::as_str);
                Err(format!("{problem}."))
            }
            None => Ok(None),
        }
    }

    async fn list_secrets(&self) -> Result<SecretsListResult, RpcError> {
        // A locked keyring may be open by now.
        self.load().await;
        let state = self.state.lock().await;
        let file = state.file.as_ref().map_err(|reason| list_error(reason.clone()))?;
        let secrets: Vec<SecretView> = file
            .secrets
            .iter()
            .map(|(name, entry)| SecretView {
                name: name.clone(),
                hosts: entry.hosts.clone(),
                servers: entry.servers.clone(),
                set_at_ms: entry.set_at_ms,
                stored_in: if entry.value.is_some() {
                    SecretStorage::File
                } else {
                    SecretStorage::Keyring
                },
                problem: state.problems.get(name).cloned(),
                warning: state.values.get(name).and_then(SecretValue::warning),
            })
            .collect();
        let in_file = secrets.iter().filter(|view| view.stored_in == SecretStorage::File).count();
        let warning = describe_file_count(in_file, secrets.len()).map(|which| {
            format!(
                "{which} kept in {}, which only you can read, and not in the system's keyring.",
                self.path.display()
            )
        });
        Ok(SecretsListResult { secrets, warning })
    }
}

/// Fills the book with the listed secrets and Rouse's `own` keys.
fn fill_secret_book(book: &SecretBook, mut secrets: Vec<Secret>, state: &SecretState) {
    if let Ok(file) = &state.file {
        for (name, value) in &state.values {
            let Some(entry) = file.secrets.get(name) else { continue };
            match Binding::of(entry).bind(name, value, &entry.hosts, &entry.servers) {
                Ok(secret) => secrets.push(secret.set(UnixMs(entry.set_at_ms))),
                Err(error) => {
                    tracing::error!(name, %error, "an entry of the secret list is invalid")
                }
            }
        }
    }
    book.replace_with_unavailable(secrets, unavailable_secrets(state));
}

/// The unavailable secrets with their reasons.
fn unavailable_secrets(state: &SecretState) -> BTreeMap<String, String> {
    let names = state.file.iter().flat_map(|file| file.secrets.keys());
    let unavailable = names.filter(|name| !state.values.contains_key(*name));
    let reason = |name: &String| {
        let reason = state.problems.get(name).map_or(NOT_FETCHED, String::as_str);
        (name.clone(), reason.to_owned())
    };
    unavailable.map(reason).collect()
}

/// Stores a fetched value, or the reason why it is unavailable.
fn store_fetched(
    values: &mut BTreeMap<String, SecretValue>,
    problems: &mut BTreeMap<String, String>,
    name: &str,
    fetched: Result<Option<impl AsRef<str>>, String>,
) {
    let value = match fetched {
        Ok(Some(text)) => SecretValue::new(text.as_ref()).map_err(|error| error.to_string()),
        Ok(None) => Err(
            "the system's keyring has no such entry; unlock the keyring, or set the secret again"
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
            // A value is looked up on every use, but its problem is logged once.
            if problems.get(name) != Some(&reason) {
                tracing::warn!(name, reason, "a secret is unavailable");
                problems.insert(name.to_owned(), reason);
            }
        }
    }
}

fn list_error(reason: String) -> RpcError {
    RpcError::new(ErrorCode::Conflict, reason)
}

fn write_error(path: &std::path::Path, error: &std::io::Error) -> RpcError {
    tracing::error!(%error, "the secrets could not be written");
    let message = format!("{} cannot be written: {error}. Nothing was changed.", path.display());
    RpcError::new(ErrorCode::Storage, message)
}

impl SecretSource for SecretVault {
    fn reload(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.load_without_prompt())
    }
}

impl Secrets for SecretVault {
    fn list(&self) -> BoxFuture<'_, Result<SecretsListResult, RpcError>> {
        Box::pin(self.list_secrets())
    }

    fn set(&self, params: SecretSetParams) -> BoxFuture<'_, Result<SecretView, RpcError>> {
        Box::pin(self.store_secret(params))
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<SecretRemoved, RpcError>> {
        Box::pin(self.remove_secret(name))
    }

    fn set_signing_key<'a>(
        &'a self,
        name: &'a str,
        key: String,
    ) -> BoxFuture<'a, Result<SecretView, RpcError>> {
        Box::pin(self.store_checked(signing_key_params(name, key), Binding::Signatures))
    }

    fn check_signature<'a>(
        &'a self,
        name: &'a str,
        message: SignedMessage,
    ) -> BoxFuture<'a, Result<(), SignatureError>> {
        Box::pin(async move {
            let stored = self.signing_key(name).await.map_err(SignatureError::KeyUnavailable)?;
            verify_message(stored.as_ref(), &message)
        })
    }
}

impl DataKeyEntries for SecretVault {
    fn read<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        Box::pin(async move {
            let Some(keyring) = &self.keyring else {
                return Err("the system's keyring is switched off (ROUSE_KEYRING=0)".to_owned());
            };
            let accounts = vec![account.to_owned()];
            let read = self.read_values(keyring, accounts, Presence::Away).await;
            let mut values = read.map_err(|error| error.to_string())?;
            let value = values.pop().expect("BUG: one entry has one value");
            value.map_err(|error| error.to_string())
        })
    }

    fn write<'a>(&'a self, account: &'a str, value: String) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.store_in_keyring(account.to_owned(), value))
    }
}
