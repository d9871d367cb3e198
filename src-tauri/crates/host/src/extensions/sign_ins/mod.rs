//! The storage of sign-ins at MCP servers.
//!
//! Owns `sign-ins.json`, sealed with a data key in the system's keyring: a keyring of some systems holds less than a
//! token. Without a keyring the file is plain and private to the user, like that of the secrets. Never prompts for a
//! refresh; a new data key is made when a person signs in. Pitfall: a locked keyring that looks empty; sign-ins that do
//! not open are replaced only by a new sign-in.

mod sealing;
mod file;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use rouse_core::extension::{ExtensionName, SignInRecord, SignInStore, SignInStoreError};
use rouse_core::tool::BoxFuture;
use tokio::sync::Mutex;
use uuid::Uuid;

use self::file::{SignInFile, SignInRecords};
use self::sealing::DataKey;
use crate::secrets::DataKeyEntries;

/// The sign-ins in their file.
pub(crate) struct SignInVault {
    path: PathBuf,
    keys: Arc<dyn DataKeyEntries>,
    /// The sign-ins; none before the first use, and while they do not open.
    state: Mutex<Option<OpenSignIns>>,
}

struct OpenSignIns {
    keyring_id: String,
    /// The data key; none if there is no keyring.
    key: Option<DataKey>,
    records: SignInRecords,
}

/// Why the sign-ins do not open.
enum SignInOpenError {
    /// The keyring has no data key, or another one.
    NoKey,
    /// The file or the keyring is not available: cause and remedy.
    Unavailable(String),
}

impl SignInVault {
    /// The sign-ins in the file at `path`. Reads nothing yet.
    pub(crate) fn new(path: PathBuf, keys: Arc<dyn DataKeyEntries>) -> Self {
        Self { path, keys, state: Mutex::new(None) }
    }

    async fn open(&self, state: &mut Option<OpenSignIns>) -> Result<(), SignInOpenError> {
        if state.is_none() {
            *state = Some(self.read().await?);
        }
        Ok(())
    }

    async fn read(&self) -> Result<OpenSignIns, SignInOpenError> {
        let read = SignInFile::read(&self.path).map_err(SignInOpenError::Unavailable)?;
        let Some(SignInFile { keyring_id, sealed, records, .. }) = read else {
            return Ok(OpenSignIns::empty());
        };
        let Some(sealed) = sealed else {
            return Ok(OpenSignIns { keyring_id, key: None, records });
        };
        let entry = self.keys.read(&account(&keyring_id)).await.map_err(|reason| {
            SignInOpenError::Unavailable(format!("The sign-ins are not available: {reason}."))
        })?;
        let key = entry.as_deref().and_then(DataKey::from_text).ok_or(SignInOpenError::NoKey)?;
        let text = key.open(&sealed, &keyring_id).ok_or(SignInOpenError::NoKey)?;
        let records = serde_json::from_str(&text).map_err(|error| {
            let path = self.path.display();
            SignInOpenError::Unavailable(format!(
                "The sign-ins in {path} are damaged ({error}). Move the file away, restart Rouse and sign in again."
            ))
        })?;
        Ok(OpenSignIns { keyring_id, key: Some(key), records })
    }

    fn write(&self, open: &OpenSignIns) -> Result<(), SignInStoreError> {
        let mut file = SignInFile::new(open.keyring_id.clone());
        match &open.key {
            Some(key) => {
                let text = serde_json::to_string(&open.records).expect("BUG: sign-ins are JSON");
                file.sealed = Some(key.seal(&text, &open.keyring_id));
            }
            None => file.records.clone_from(&open.records),
        }
        file.write(&self.path).map_err(|error| {
            let path = self.path.display();
            SignInStoreError(format!(
                "{path} cannot be written: {error}. The change lasts until Rouse ends."
            ))
        })
    }

    /// Makes a data key, if there is a keyring.
    async fn make_key(&self, open: &mut OpenSignIns) {
        let key = DataKey::random();
        match self.keys.write(&account(&open.keyring_id), key.to_text()).await {
            Ok(()) => open.key = Some(key),
            Err(reason) => {
                let path = self.path.display();
                tracing::warn!(reason, %path, "the sign-ins are in a private file without a seal");
            }
        }
    }

    async fn store(
        &self,
        server: &ExtensionName,
        record: SignInRecord,
    ) -> Result<(), SignInStoreError> {
        let mut state = self.state.lock().await;
        let is_new = record.signed_in_at_ms == record.refreshed_at_ms;
        match self.open(&mut state).await {
            Ok(()) => {}
            Err(SignInOpenError::NoKey) if is_new => {
                tracing::warn!("the earlier sign-ins do not open and are replaced");
                *state = Some(OpenSignIns::empty());
            }
            Err(error) => return Err(error.into()),
        }
        let open = state.as_mut().expect("BUG: the sign-ins are open");
        if is_new && open.key.is_none() {
            self.make_key(open).await;
        }
        open.records.insert(server.clone(), record);
        self.write(open)
    }

    async fn delete(&self, server: &ExtensionName) -> Result<bool, SignInStoreError> {
        let mut state = self.state.lock().await;
        self.open(&mut state).await?;
        let open = state.as_mut().expect("BUG: the sign-ins are open");
        if open.records.remove(server).is_none() {
            return Ok(false);
        }
        self.write(open).map(|()| true)
    }
}

impl OpenSignIns {
    fn empty() -> Self {
        let keyring_id = Uuid::new_v4().simple().to_string();
        Self { keyring_id, key: None, records: SignInRecords::new() }
    }
}

impl From<SignInOpenError> for SignInStoreError {
    fn from(error: SignInOpenError) -> Self {
        Self(match error {
            SignInOpenError::NoKey => "The sign-ins do not open, because the system's keyring does not have their key. Unlock the keyring, or sign in again with `rouse mcp login NAME`.".to_owned(),
            SignInOpenError::Unavailable(sentences) => sentences,
        })
    }
}

/// The keyring account of the data key.
fn account(keyring_id: &str) -> String {
    format!("sign-ins@{keyring_id}")
}

impl SignInStore for SignInVault {
    fn load<'a>(
        &'a self,
        server: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<Option<SignInRecord>, SignInStoreError>> {
        Box::pin(async move {
            let mut state = self.state.lock().await;
            self.open(&mut state).await?;
            let open = state.as_ref().expect("BUG: the sign-ins are open");
            Ok(open.records.get(server).cloned())
        })
    }

    fn save<'a>(
        &'a self,
        server: &'a ExtensionName,
        record: SignInRecord,
    ) -> BoxFuture<'a, Result<(), SignInStoreError>> {
        Box::pin(self.store(server, record))
    }

    fn remove<'a>(
        &'a self,
        server: &'a ExtensionName,
    ) -> BoxFuture<'a, Result<bool, SignInStoreError>> {
        Box::pin(self.delete(server))
    }
}
