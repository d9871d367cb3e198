//! Comments of a crontab: names for the jobs, and the heading of a system crontab.
//!
//! Owns the choice of the comment that names the command below. Never takes a commented-out line, a column heading or a
//! diagram of the fields for a name.
//! Pitfall: a long comment at the top of a file describes the file, not the first job.

use super::entry::shortened;
use crate::text::escape_line;

/// The maximum lines of a comment that names a job; a longer comment describes the file.
const MOST_LINES: usize = 3;
/// The maximum length of a name.
const MOST_LETTERS: usize = 60;

/// The comment lines directly above the present line.
#[derive(Default)]
pub(super) struct CommentBlock<'t>(Vec<&'t str>);

impl<'t> CommentBlock<'t> {
    /// Adds a line that begins with `#`.
    pub(super) fn add(&mut self, line: &'t str) {
        self.0.push(line.trim_start_matches('#').trim());
    }

    /// Ends the block, because an empty line or a setting precedes the next command.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Ends the block. Returns the first line of prose as the name of the command below. `is_entry` detects a crontab
    /// entry in a line without the `#`.
    pub(super) fn take_name(&mut self, is_entry: impl Fn(&str) -> bool) -> Option<String> {
        let block = std::mem::take(&mut self.0);
        if block.len() > MOST_LINES || block.iter().any(|line| is_column_heading(line)) {
            return None;
        }
        let prose = block.into_iter().find(|line| is_prose(line) && !is_entry(line))?;
        let name = prose.trim_end_matches([':', '.', '-', '=', ' ']);
        Some(name_of(name))
    }
}

/// A single-line name without control characters.
pub(super) fn name_of(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    shortened(&escape_line(&words.join(" ")), MOST_LETTERS)
}

/// Whether a comment is a column heading of a system crontab: `# m h dom mon dow user command`.
pub(super) fn has_user_column(text: &str) -> bool {
    text.lines().filter_map(|line| line.trim().strip_prefix('#')).any(|heading| {
        let words: Vec<&str> = heading.split_whitespace().collect();
        let names_user =
            |pair: &[&str]| matches!(pair, ["user" | "user-name" | "username", "command" | "cmd"]);
        let names_fields = ["dow", "hour", "*"].iter().any(|field| words.contains(field));
        names_fields && words.windows(2).any(names_user)
    })
}

/// Whether a line explains the five fields by name or drawing.
fn is_column_heading(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let has = |word: &str| words.contains(&word);
    has("dow") || has("command") && (has("hour") || has("*")) || line.starts_with(['|', '.', '*'])
}

fn is_prose(line: &str) -> bool {
    line.chars().filter(|letter| letter.is_alphabetic()).count() >= 2
        && line.starts_with(char::is_alphanumeric)
}
