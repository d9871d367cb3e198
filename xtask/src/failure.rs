//! Why a chore stopped, as one sentence for the person at the terminal.
//!
//! Owns only the text. There are no kinds of failure because nothing here branches on one: a chore either went through
//! or its reason is printed. One could get it wrong by saying what broke without saying what to do about it.

use std::fmt;

/// A reason to stop, ready to print.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says which operation an IO error stopped.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T> Doing<T> for std::io::Result<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(format!("could not {}: {error}", what())))
    }
}
