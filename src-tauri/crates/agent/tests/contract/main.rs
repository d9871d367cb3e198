//! The contract of every provider, held against wire transcripts that were made for these tests.
//!
//! Each rule is checked for both formats over a real socket. The transcripts in `fixtures/` are written by hand after
//! the providers' documentation, not recorded: no test here ever talks to a provider.

mod answers;
mod attachments;
mod failures;
mod formats;
mod gateways;
mod replay;
mod requests;
mod secrets;
