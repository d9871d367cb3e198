//! The safety layer between untrusted input, models and the outside.
//!
//! Owns four checks. `untrusted_input` redacts, bounds, fences and scans tool results and other untrusted input. `egress`
//! finds secrets in data that leaves this computer. `stored_secrets` redacts the values of stored secrets in model answers
//! and in texts of people. `stream` does so while an answer arrives. `redaction` replaces the findings of `leak`. Never
//! allows a call: a finding blocks, a missing finding permits nothing. Pitfall: storing, logging or showing a text before
//! its check.

mod egress;
mod hidden_characters;
mod injection;
mod layer;
mod leak;
mod redaction;
pub(crate) mod result_size;
mod result_text;
mod stored_secrets;
mod stream;
mod untrusted_input;
#[cfg(test)]
mod testing;

pub use egress::EgressLeak;
pub use injection::InjectionSignal;
pub use layer::Safety;
pub(crate) use leak::{SHORTEST_VALUE, StoredValues};
pub(crate) use stored_secrets::RedactedCalls;
pub use stored_secrets::StoredSecretField;
pub(crate) use stream::StreamRedactor;
pub use untrusted_input::{ScreenedOutput, UntrustedSource};
