//! The system's keyring: Secret Service on Linux, Keychain on macOS, Credential Manager on Windows.
//!
//! Every call is made on a thread of its own and waited for with a bound: a keyring that is locked asks its person first,
//! and that may take for ever. A thread that still waits then holds up nothing, not even the end of the process, and no
//! more than a few wait at once. A connection is made for each call and closed after it, because secrets are changed once a
//! month. Where a keyring says that it is locked without asking anybody (`locked`), nobody is asked who has not come for it.

use std::sync::Arc;
use std::time::Duration;

use keyring_core::api::CredentialStore;
use keyring_core::{Entry, Error};
use rouse_core::tool::BoxFuture;
use tokio::sync::{Semaphore, oneshot};

/// The name under which a keyring shows what belongs to Rouse.
pub(super) const SERVICE: &str = "Rouse";

/// How long a person has to unlock the keyring.
const PATIENCE: Duration = Duration::from_secs(20);

/// Most threads that wait for the keyring at once.
pub(super) const MOST_WAITING: usize = 4;

/// A place for values by name. Its calls block.
pub(super) trait Keyring: Send + Sync {
    /// Whether it would have to be unlocked before it shows all of these names, as far as it says so without asking its
    /// person.
    fn is_locked<'a>(&'a self, accounts: &'a [String]) -> BoxFuture<'a, bool>;
    /// The value; none when there is no such name.
    fn get(&self, account: &str) -> Result<Option<String>, KeyringError>;
    /// Keeps a value, in the place of an earlier one.
    fn set(&self, account: &str, value: &str) -> Result<(), KeyringError>;
    /// Forgets a value; false when it shows none of that name, which a locked keyring does as well.
    fn remove(&self, account: &str) -> Result<bool, KeyringError>;
}

/// Why a keyring cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeyringError {
    /// Somebody has to unlock it.
    #[error("the system's keyring is locked: unlock it")]
    Locked,
    /// There is none, or it refuses.
    #[error("the system's keyring cannot be used: {0}")]
    Unusable(String),
    /// It asks somebody, or hangs.
    #[error("the system's keyring did not answer in {} seconds; it may be locked: unlock it", PATIENCE.as_secs())]
    Silent,
}

/// The keyring of the system.
pub(super) struct SystemKeyring;

impl SystemKeyring {
    fn entry(account: &str) -> Result<Entry, Error> {
        store()?.build(SERVICE, account, None)
    }
}

#[cfg(target_os = "linux")]
fn store() -> Result<Arc<CredentialStore>, Error> {
    Ok(zbus_secret_service_keyring_store::Store::new()?)
}

#[cfg(target_os = "macos")]
fn store() -> Result<Arc<CredentialStore>, Error> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(windows)]
fn store() -> Result<Arc<CredentialStore>, Error> {
    Ok(windows_native_keyring_store::Store::new()?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
fn store() -> Result<Arc<CredentialStore>, Error> {
    Err(Error::NoDefaultStore)
}

impl Keyring for SystemKeyring {
    #[cfg(target_os = "linux")]
    fn is_locked<'a>(&'a self, accounts: &'a [String]) -> BoxFuture<'a, bool> {
        Box::pin(super::locked::is_locked(accounts))
    }

    // The others do not say so before they ask.
    #[cfg(not(target_os = "linux"))]
    fn is_locked<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }

    fn get(&self, account: &str) -> Result<Option<String>, KeyringError> {
        match Self::entry(account).and_then(|entry| entry.get_password()) {
            Ok(value) => Ok(Some(value)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(unusable(&error)),
        }
    }

    fn set(&self, account: &str, value: &str) -> Result<(), KeyringError> {
        Self::entry(account)
            .and_then(|entry| entry.set_password(value))
            .map_err(|error| unusable(&error))
    }

    fn remove(&self, account: &str) -> Result<bool, KeyringError> {
        match Self::entry(account).and_then(|entry| entry.delete_credential()) {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(error) => Err(unusable(&error)),
        }
    }
}

/// In words. Those errors that carry what was read are not asked for theirs.
fn unusable(error: &Error) -> KeyringError {
    if matches!(error, Error::NoStorageAccess(_)) {
        return KeyringError::Locked;
    }
    KeyringError::Unusable(match error {
        Error::BadEncoding(_) | Error::BadDataFormat(..) => "its entry is not readable".to_owned(),
        Error::Ambiguous(_) => "it holds several entries of that name".to_owned(),
        // There its words are those of a library for the bus.
        Error::PlatformFailure(cause) if cfg!(target_os = "linux") => {
            tracing::debug!(%cause, "the keyring failed");
            "no keyring service answers in this session".to_owned()
        }
        other => other.to_string(),
    })
}

/// Does `work` with `keyring` on a thread of its own, which has a place among those that may wait.
pub(super) async fn ask<T: Send + 'static>(
    (keyring, places): (&Arc<dyn Keyring>, &Arc<Semaphore>),
    work: impl FnOnce(&dyn Keyring) -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, KeyringError> {
    let Ok(place) = Arc::clone(places).try_acquire_owned() else {
        return Err(KeyringError::Silent);
    };
    let (done, answer) = oneshot::channel();
    let keyring = Arc::clone(keyring);
    let thread = std::thread::Builder::new().name("keyring".to_owned());
    thread
        .spawn(move || {
            // Nobody listens any more when it took too long.
            let _ = done.send(work(keyring.as_ref()));
            drop(place);
        })
        .map_err(|error| KeyringError::Unusable(error.to_string()))?;
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(KeyringError::Unusable("asking it failed".to_owned())),
        Err(_) => Err(KeyringError::Silent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyring_that_lets_nobody_in_is_locked() {
        let dismissed = Error::NoStorageAccess("SS error: prompt dismissed".into());
        assert_eq!(unusable(&dismissed).to_string(), "the system's keyring is locked: unlock it");
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_not_told() {
        let error = unusable(&Error::BadEncoding(b"hunter2hunter2".to_vec()));
        assert!(!format!("{error} {error:?}").contains("hunter2"));
        assert!(!format!("{error:?}").contains("104"), "as numbers neither");
    }
}
