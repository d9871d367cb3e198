//! The commands of this data directory: how they are marked, and what becomes of those that were left at work.
//!
//! Owns when they are looked for. A command's group ends with the engine, also by a crash (`rouse_tools`, `child`); what has
//! left its group is found here on Linux, by its mark. One could get it wrong by looking before the directory is ours: another
//! engine's commands would be ended.

use rouse_core::stable_hash::stable_hash;
use rouse_tools::end_strays;

use crate::home::Home;

/// Names this data directory in the environment of the commands that its jobs run.
pub(crate) fn instance(home: &Home) -> String {
    let path = home.root().canonicalize().unwrap_or_else(|_| home.root().to_owned());
    format!("{:016x}", stable_hash(path.as_os_str().as_encoded_bytes()))
}

/// Commands that an earlier life, or this one at its end, left at work. Nobody else starts any: the directory is ours.
pub(crate) fn end_what_is_left(home: &Home) {
    let count = end_strays(&format!("{}:", instance(home)));
    if count > 0 {
        tracing::warn!(count, "processes that runs had left behind were ended");
    }
}
