//! A provider whose API key is a stored secret.
//!
//! Reads the key at each call, as late as possible, and keeps the connection while the key stays the same. A key that
//! is not available is sought again at each call. Never sends anything without the key of this provider's host.

use std::sync::{Arc, Mutex, PoisonError};

use rouse_core::message::ModelAnswer;
use rouse_core::model::{
    Billing, Delta, ModelProvider, ModelRequest, ProviderError, ProviderErrorKind,
};
use rouse_core::tool::BoxFuture;

use super::config::{ConnectError, ProviderConfig};
use super::connection::connect_with;
use crate::safety::Safety;
use crate::secrets::{ApiKey, StoredKey};

/// A provider with a stored key.
pub(super) struct StoredKeyProvider {
    config: ProviderConfig,
    key: StoredKey,
    safety: Safety,
    /// The provider without a key, for name and limits.
    keyless: Arc<dyn ModelProvider>,
    connected: Mutex<Option<(ApiKey, Arc<dyn ModelProvider>)>>,
}

impl StoredKeyProvider {
    pub(super) fn new(
        config: &ProviderConfig,
        key: StoredKey,
        safety: &Safety,
    ) -> Result<Self, ConnectError> {
        let keyless = connect_with(config, None, safety)?;
        let (config, safety) = (config.clone(), safety.clone());
        Ok(Self { config, key, safety, keyless, connected: Mutex::default() })
    }

    fn with_key(&self) -> Result<Arc<dyn ModelProvider>, ProviderError> {
        let refused = |reason: &str| {
            let message = format!("{} was not called: {reason}.", self.config.name);
            ProviderError::new(ProviderErrorKind::Auth, message)
        };
        let key =
            self.key.current(&self.config.base_url).map_err(|error| refused(&error.to_string()))?;
        let mut connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, provider)) = connected.as_ref().filter(|(known, _)| *known == key) {
            return Ok(Arc::clone(provider));
        }
        let provider = connect_with(&self.config, Some(&key), &self.safety)
            .map_err(|error| refused(&error.to_string()))?;
        *connected = Some((key, Arc::clone(&provider)));
        Ok(provider)
    }
}

impl ModelProvider for StoredKeyProvider {
    fn name(&self) -> &str {
        self.keyless.name()
    }

    fn billing(&self) -> Billing {
        self.keyless.billing()
    }

    fn context_tokens(&self, model: &str) -> Option<u32> {
        self.keyless.context_tokens(model)
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        on_delta: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        Box::pin(async move {
            self.key.reload().await;
            self.with_key()?.stream(request, on_delta).await
        })
    }
}
