//! The values of stored secrets in requests of tools.
//!
//! Never decides which host may get a value: the stored secret is bound to its hosts.

use std::sync::Arc;

use rouse_core::extension::ExtensionName;
use rouse_wasm::ToolSecrets;

use crate::extensions::installed::InstalledExtensions;

/// The stored secrets.
pub(super) struct RequestSecrets(pub(super) Arc<InstalledExtensions>);

impl ToolSecrets for RequestSecrets {
    fn fill(&self, extension: &ExtensionName, text: &str, host: &str) -> Result<String, String> {
        self.0.fill_request_secrets(extension, text, host)
    }
}
