//! The contract of every provider, tested against hand-written wire transcripts.
//!
//! Each rule is checked for both formats over a real socket. The transcripts in `fixtures/` are written by hand after
//! the providers' documentation, not recorded: no test calls a provider.

mod answers;
mod attachments;
mod failures;
mod formats;
mod gateways;
mod replay;
mod requests;
mod secrets;
