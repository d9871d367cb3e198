//! Node, which builds the UI: is it new enough?
//!
//! Owns the oldest version that works and the words for a machine without it. Refuses to replace a Node that is there:
//! people keep their own, through version managers that no package manager knows.

use crate::failure::Failure;
use crate::process;

/// What the UI's own tools ask for at least.
const OLDEST: u32 = 20;

/// Says what to do when Node is missing or too old.
pub(crate) fn check_node() -> Result<(), Failure> {
    let wanted = format!("Rouse needs Node {OLDEST} or newer, with npm (https://nodejs.org).");
    match process::answer("node", &["--version"]).as_deref().and_then(major) {
        Some(found) if found < OLDEST => {
            Err(Failure::new(format!("Node {found} is too old. {wanted}")))
        }
        Some(_) if process::on_path(&["npm"]).is_none() => {
            Err(Failure::new(format!("npm is missing. {wanted}")))
        }
        Some(_) => Ok(()),
        None => Err(Failure::new(format!("Node is missing. {wanted}"))),
    }
}

/// The 20 of `v20.20.2`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::major;

    #[test]
    fn the_major_version_is_read() {
        assert_eq!(major("v20.20.2\n"), Some(20));
        assert_eq!(major("command not found"), None);
    }
}
