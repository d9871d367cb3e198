//! The error of a missing layer, with the remedy.

use crate::sandbox::error::{MissingLayer, SandboxError, SandboxLayer};

pub(super) fn missing(layer: SandboxLayer, why: String, remedy: &str) -> SandboxError {
    let remedy = format!("{remedy} A person can allow the job to run without a sandbox.");
    MissingLayer { layer, why, remedy: remedy.trim_start().to_owned() }.into()
}
