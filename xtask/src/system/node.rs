//! Node, which builds the UI: is it new enough?
//!
//! Owns the oldest version that works and the words for a machine without it. Refuses to replace a Node that is there:
//! people keep their own, through version managers that no package manager knows.

use crate::failure::Failure;
use crate::process;

/// Says what to do when Node is missing or too old.
pub(crate) fn check_node() -> Result<(), Failure> {
    let wanted = "Rouse needs Node 20.19, 22.12 or newer, with npm (https://nodejs.org).";
    match process::answer("node", &["--version"]).as_deref().and_then(version) {
        Some((major, minor)) if !is_new_enough(major, minor) => {
            Err(Failure::new(format!("Node {major}.{minor} is too old. {wanted}")))
        }
        Some(_) if process::on_path(&["npm"]).is_none() => {
            Err(Failure::new(format!("npm is missing. {wanted}")))
        }
        Some(_) => Ok(()),
        None => Err(Failure::new(format!("Node is missing. {wanted}"))),
    }
}

/// What the UI's own tools ask for, as `engines` in its package.json says.
fn is_new_enough(major: u32, minor: u32) -> bool {
    match major {
        20 => minor >= 19,
        22 => minor >= 12,
        _ => major > 22,
    }
}

/// The 20 and the 19 of `v20.19.2`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().strip_prefix('v')?.split('.').map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::{is_new_enough, version};

    #[test]
    fn the_version_is_read() {
        assert_eq!(version("v20.20.2\n"), Some((20, 20)));
        assert_eq!(version("command not found"), None);
    }

    #[test]
    fn what_the_tools_refuse_is_too_old() {
        for (major, minor) in [(20, 19), (22, 12), (23, 0), (24, 1)] {
            assert!(is_new_enough(major, minor), "{major}.{minor}");
        }
        for (major, minor) in [(18, 20), (20, 18), (21, 7), (22, 11)] {
            assert!(!is_new_enough(major, minor), "{major}.{minor}");
        }
    }
}
