//! The argument for a job.

use clap::Args;

/// The positional argument for a job.
#[derive(Debug, Args)]
pub(crate) struct JobArg {
    /// Job: id, id prefix or exact name
    pub(super) id: String,
}
