//! The visited server as the only extension of an engine.
//!
//! Owns the client of the scenario. Never holds a handle: the context has the secret itself.

use std::collections::BTreeMap;

use rouse_core::UnixMs;
use rouse_core::extension::{
    Extension, ExtensionBook, ExtensionName, OAuthClientSettings, ServerDefinition,
    ServerTransport, ToolListing,
};
use serde_json::Value;

/// The visited server.
pub(super) struct VisitedServer {
    url: String,
    client: OAuthClientSettings,
}

impl VisitedServer {
    /// The server at `url`, with the client in the context of the scenario.
    pub(super) fn new(url: &str, context: &Value) -> Self {
        let text = |key: &str| context[key].as_str().map(str::to_owned);
        let client = OAuthClientSettings {
            client_id: text("client_id"),
            client_secret: text("client_secret"),
            ..OAuthClientSettings::default()
        };
        Self { url: url.to_owned(), client }
    }
}

impl ExtensionBook for VisitedServer {
    fn get(&self, _: &ExtensionName) -> Option<Extension> {
        let transport = ServerTransport::Http {
            url: self.url.clone(),
            headers: BTreeMap::new(),
            oauth: Some(self.client.clone()),
        };
        Some(Extension {
            server: ServerDefinition {
                transport,
                start_timeout_seconds: None,
                call_timeout_seconds: None,
            },
            is_enabled: true,
            accepted_at_ms: UnixMs(0),
            reported_version: None,
            tools: Vec::new(),
            held: Vec::new(),
            gone: Vec::new(),
        })
    }

    fn all(&self) -> Vec<(ExtensionName, Extension)> {
        Vec::new()
    }

    fn record_listing(&self, _: &ExtensionName, _: Option<String>, _: &ToolListing) {}

    fn fill_secrets(&self, _: &ExtensionName, text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }
}
