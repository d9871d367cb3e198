//! A provider whose key is a stored secret: looked up for each question.
//!
//! Owns the moment at which the key is read, which is the last one, and keeps the connection as long as the key stays the
//! same. One that is stored and not at hand is looked for once more with each question. Without a key that is for this
//! provider's host nothing is sent at all.

use std::sync::{Arc, Mutex, PoisonError};

use rouse_core::message::ModelAnswer;
use rouse_core::model::{
    Billing, Delta, ModelProvider, ModelRequest, ProviderError, ProviderErrorKind,
};
use rouse_core::tool::BoxFuture;

use super::{ConnectError, ProviderConfig, connect_with};
use crate::safety::Safety;
use crate::secret::{ApiKey, StoredKey};

/// The provider.
pub(super) struct Keyed {
    config: ProviderConfig,
    key: StoredKey,
    safety: Safety,
    /// What it is, which no key changes.
    bare: Arc<dyn ModelProvider>,
    connected: Mutex<Option<(ApiKey, Arc<dyn ModelProvider>)>>,
}

impl Keyed {
    pub(super) fn new(
        config: &ProviderConfig,
        key: StoredKey,
        safety: &Safety,
    ) -> Result<Self, ConnectError> {
        let bare = connect_with(config, None, safety)?;
        let (config, safety) = (config.clone(), safety.clone());
        Ok(Self { config, key, safety, bare, connected: Mutex::default() })
    }

    fn with_key(&self) -> Result<Arc<dyn ModelProvider>, ProviderError> {
        let refused = |why: &str| {
            let message = format!("{} was not asked: {why}.", self.config.name);
            ProviderError::new(ProviderErrorKind::Auth, message)
        };
        let key =
            self.key.now(&self.config.base_url).map_err(|error| refused(&error.to_string()))?;
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

impl ModelProvider for Keyed {
    fn name(&self) -> &str {
        self.bare.name()
    }

    fn billing(&self) -> Billing {
        self.bare.billing()
    }

    fn context_tokens(&self, model: &str) -> Option<u32> {
        self.bare.context_tokens(model)
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        on_delta: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        Box::pin(async move {
            self.key.seek().await;
            self.with_key()?.stream(request, on_delta).await
        })
    }
}
