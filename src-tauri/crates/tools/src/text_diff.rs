//! Line diffs for approvals.

use std::time::Duration;

use rouse_core::text::escape_invisible;
use similar::TextDiff;

/// The old name of a file that does not exist yet.
pub(crate) const NO_FILE: &str = "/dev/null";
/// Time after which a diff becomes coarser, but stays correct.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// A unified diff from `old`, shown as `old_name`, to `new`, shown as `path`. Compares the texts with invisible characters escaped, so
/// that no two texts look the same and only a line feed ends a line.
pub(crate) fn unified_diff(path: &str, old: &str, new: &str, old_name: &str) -> String {
    let (old, new) = (escape_invisible(old), escape_invisible(new));
    let diff = TextDiff::configure().timeout(TIME_LIMIT).diff_lines(&old, &new);
    let text = diff.unified_diff().header(old_name, path).to_string();
    // The diff of an empty new file has no lines.
    if text.is_empty() { format!("--- {old_name}\n+++ {path}\n(empty)\n") } else { text }
}
