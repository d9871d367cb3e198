//! The lowest layer: the connection to the engine, and the ids, fields and files behind the words of a command line.
//!
//! Never prints an answer. Imports neither `render` nor `commands`.

pub(crate) mod error;
pub(crate) mod flags;
pub(crate) mod duration_bounds;
pub(crate) mod merge_patch;
pub(crate) mod computer;
pub(crate) mod engine;
pub(crate) mod ids;
pub(crate) mod jobs;
pub(crate) mod runs;
pub(crate) mod approvals;
pub(crate) mod settings;
pub(crate) mod backups;
pub(crate) mod keyboard;
pub(crate) mod paths;
