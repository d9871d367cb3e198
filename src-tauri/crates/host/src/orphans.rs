//! Orphan processes of this data directory's commands.
//!
//! Owns the marker of commands and the time of cleanup. A command's process group ends with the engine, also after a
//! crash (`rouse_tools::process`). On Linux this module finds processes that left their group by their marker. Pitfall:
//! cleaning up before the directory is locked would kill the commands of another engine.

use rouse_core::text::stable_hash;
use rouse_tools::kill_orphans;

use crate::home::Home;

/// The marker of this data directory in the environment of its commands.
pub(crate) fn instance_id(home: &Home) -> String {
    let path = home.root().canonicalize().unwrap_or_else(|_| home.root().to_owned());
    format!("{:016x}", stable_hash(path.as_os_str().as_encoded_bytes()))
}

/// Kills commands that an earlier engine, or this engine at its end, left running. Safe because the directory is
/// locked.
pub(crate) fn kill_orphan_commands(home: &Home) {
    let count = kill_orphans(&format!("{}:", instance_id(home)));
    if count > 0 {
        tracing::warn!(count, "ended orphan processes of runs");
    }
}
