//! The system's keyring: Secret Service on Linux, Keychain on macOS, Credential Manager on Windows.
//!
//! Every call runs on its own thread with a timeout, because a locked keyring prompts and may block for ever. At most
//! a few threads wait, and none holds up the end of the process. Each call opens a new connection, because secrets
//! change about once a month. A keyring that reports its lock without a prompt (`lock_state`) never prompts in the
//! background.

use std::sync::Arc;
use std::time::Duration;

use keyring_core::api::CredentialStore;
use keyring_core::{Entry, Error};
use rouse_core::tool::BoxFuture;
use tokio::sync::{Semaphore, oneshot};

/// The service name of Rouse's entries.
pub(super) const SERVICE: &str = "Rouse";

/// How long a person has to unlock the keyring.
const UNLOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// The maximum number of waiting threads.
pub(super) const MAX_WAITING_THREADS: usize = 4;

/// A store for values by name. Its calls block.
pub(super) trait Keyring: Send + Sync {
    /// Whether reading these entries needs an unlock, as far as the keyring reports that without a prompt.
    fn is_locked<'a>(&'a self, accounts: &'a [String]) -> BoxFuture<'a, bool>;
    /// The value; none if the entry is missing.
    fn get(&self, account: &str) -> Result<Option<String>, KeyringError>;
    /// Stores a value, replacing an earlier value.
    fn set(&self, account: &str, value: &str) -> Result<(), KeyringError>;
    /// Removes a value; false if the keyring shows no such entry, as a locked keyring may.
    fn remove(&self, account: &str) -> Result<bool, KeyringError>;
}

/// Why a keyring cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum KeyringError {
    /// The keyring is locked.
    #[error("the system's keyring is locked: unlock it")]
    Locked,
    /// There is no keyring, or it refuses.
    #[error("the system's keyring cannot be used: {0}")]
    Unusable(String),
    /// The keyring prompts or hangs.
    #[error("the system's keyring did not answer in {} seconds; it may be locked: unlock it", UNLOCK_TIMEOUT.as_secs())]
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
        Box::pin(super::lock_state::is_locked(accounts))
    }

    // Other keyrings report a lock only by a prompt.
    #[cfg(not(target_os = "linux"))]
    fn is_locked<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }

    fn get(&self, account: &str) -> Result<Option<String>, KeyringError> {
        match Self::entry(account).and_then(|entry| entry.get_password()) {
            Ok(value) => Ok(Some(value)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(keyring_error(&error)),
        }
    }

    fn set(&self, account: &str, value: &str) -> Result<(), KeyringError> {
        Self::entry(account)
            .and_then(|entry| entry.set_password(value))
            .map_err(|error| keyring_error(&error))
    }

    fn remove(&self, account: &str) -> Result<bool, KeyringError> {
        match Self::entry(account).and_then(|entry| entry.delete_credential()) {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(error) => Err(keyring_error(&error)),
        }
    }
}

/// Describes an error. Errors that carry the value are never formatted.
fn keyring_error(error: &Error) -> KeyringError {
    if matches!(error, Error::NoStorageAccess(_)) {
        return KeyringError::Locked;
    }
    KeyringError::Unusable(match error {
        Error::BadEncoding(_) | Error::BadDataFormat(..) => "its entry is not readable".to_owned(),
        Error::Ambiguous(_) => "it holds several entries of that name".to_owned(),
        // On Linux the text comes from the D-Bus library.
        Error::PlatformFailure(cause) if cfg!(target_os = "linux") => {
            tracing::debug!(%cause, "the keyring failed");
            "no keyring service answers in this session".to_owned()
        }
        other => other.to_string(),
    })
}

/// Runs `work` with `keyring` on its own thread, within the limit of waiting threads.
pub(super) async fn call_keyring<T: Send + 'static>(
    (keyring, permits): (&Arc<dyn Keyring>, &Arc<Semaphore>),
    work: impl FnOnce(&dyn Keyring) -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, KeyringError> {
    let Ok(permit) = Arc::clone(permits).try_acquire_owned() else {
        return Err(KeyringError::Silent);
    };
    let (result_tx, result) = oneshot::channel();
    let keyring = Arc::clone(keyring);
    let thread = std::thread::Builder::new().name("keyring".to_owned());
    thread
        .spawn(move || {
            // The receiver is gone after the timeout.
            let _ = result_tx.send(work(keyring.as_ref()));
            drop(permit);
        })
        .map_err(|error| KeyringError::Unusable(error.to_string()))?;
    match tokio::time::timeout(UNLOCK_TIMEOUT, result).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(KeyringError::Unusable("the call failed".to_owned())),
        Err(_) => Err(KeyringError::Silent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dismissed_prompt_counts_as_locked() {
        let dismissed = Error::NoStorageAccess("SS error: prompt dismissed".into());
        assert_eq!(
            keyring_error(&dismissed).to_string(),
            "the system's keyring is locked: unlock it"
        );
    }

    #[test]
    fn unreadable_entry_is_not_quoted() {
        let error = keyring_error(&Error::BadEncoding(b"hunter2hunter2".to_vec()));
        assert!(!format!("{error} {error:?}").contains("hunter2"));
        assert!(!format!("{error:?}").contains("104"), "as numbers neither");
    }
}
