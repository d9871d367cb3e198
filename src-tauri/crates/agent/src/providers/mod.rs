//! Model providers: four wire formats behind the provider port of `core`, their discovery, and the models of a run.
//!
//! The formats are rig's. rig's types never leave this folder, so a change of library is a change of this folder. Never
//! retries a call (`turn` does: only the turn knows whether a person has read a part of the answer).

mod address;
mod config;
mod connection;
mod stored_key;
mod rig;
mod request_body;
mod message_conversion;
mod tool_schema;
mod reasoning_text;
mod dialect;
mod model_families;
mod transport;
mod stream_limits;
mod unstreamed_answer;
mod error_classification;
pub(crate) mod discovery;
pub(crate) mod model_choice;
pub(crate) mod truncated_answer_retry;

pub use config::{ConnectError, ProviderConfig, ProviderKind};
pub use connection::connect;
pub(crate) use model_families::{output_tokens_of, own_name};
