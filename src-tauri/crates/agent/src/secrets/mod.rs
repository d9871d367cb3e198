//! Secrets: the key of a provider, and stored secrets with their handles.
//!
//! `book` holds the stored secrets in memory, `handle` fills `{{secret:NAME}}` into a call, `provider_key` gives a stored
//! secret to a provider, `server_secret` fills the texts of an MCP server, `request_secret` the requests of a tool,
//! `reload` reads the keyring again. Values live in the OS keyring; never write a value anywhere else.

mod api_key;
mod book;
mod bound_host;
mod handle;
mod provider_key;
mod server_secret;
mod request_secret;
mod reload;
mod secret;

pub use api_key::ApiKey;
pub use book::SecretBook;
pub use handle::HandleError;
pub use provider_key::{KeyError, ProviderKey, StoredKey};
pub use reload::SecretSource;
pub use request_secret::RequestSecretError;
pub use rouse_core::settings::is_secret_name;
pub use secret::{Secret, SecretError, SecretValue};
pub use server_secret::ServerSecretError;
