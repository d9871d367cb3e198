//! The version check of Node, which builds the UI.
//!
//! Owns the minimum version and the advice. Never replaces an installed Node, because version managers are unknown to
//! package managers.

use crate::error::ChoreError;
use crate::process;

/// Fails with advice if Node is missing or too old.
pub(crate) fn check_node() -> Result<(), ChoreError> {
    let advice = "Rouse needs Node 20.19, 22.12 or newer, with npm (https://nodejs.org).";
    match process::try_output("node", &["--version"]).as_deref().and_then(version) {
        Some((major, minor)) if !is_new_enough(major, minor) => {
            Err(ChoreError::new(format!("Node {major}.{minor} is too old. {advice}")))
        }
        Some(_) if process::find_program(&["npm"]).is_none() => {
            Err(ChoreError::new(format!("npm is missing. {advice}")))
        }
        Some(_) => Ok(()),
        None => Err(ChoreError::new(format!("Node is missing. {advice}"))),
    }
}

/// The minimum versions of the UI's tools, as in `engines` of its package.json.
fn is_new_enough(major: u32, minor: u32) -> bool {
    match major {
        20 => minor >= 19,
        22 => minor >= 12,
        _ => major > 22,
    }
}

/// The major and minor number of `v20.19.2`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().strip_prefix('v')?.split('.').map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::{is_new_enough, version};

    #[test]
    fn version_is_parsed() {
        assert_eq!(version("v20.20.2\n"), Some((20, 20)));
        assert_eq!(version("command not found"), None);
    }

    #[test]
    fn unsupported_versions_are_too_old() {
        for (major, minor) in [(20, 19), (22, 12), (23, 0), (24, 1)] {
            assert!(is_new_enough(major, minor), "{major}.{minor}");
        }
        for (major, minor) in [(18, 20), (20, 18), (21, 7), (22, 11)] {
            assert!(!is_new_enough(major, minor), "{major}.{minor}");
        }
    }
}
