//! Names that a person chooses for tokens and devices.

use rouse_core::text::{escape_line, has_visible_text};

/// Maximum characters of a name.
pub(super) const MAX_NAME_CHARS: usize = 60;

/// The name without outer spaces; none if it is empty, long, or has invisible characters.
pub(super) fn visible_name(name: &str) -> Option<&str> {
    let name = name.trim();
    let is_valid = has_visible_text(name)
        && name.chars().count() <= MAX_NAME_CHARS
        && escape_line(name) == name;
    is_valid.then_some(name)
}
