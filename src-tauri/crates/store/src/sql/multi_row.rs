//! Statements that take many rows.
//!
//! Owns the texts of a statement around `VALUES` for a few row counts, each prepared once. A statement per row
//! would cost a round trip to the connection's thread each; rows inside one JSON text cost a lookup per value.
//! The values are `?` and not `$1`: SQLite searches the list of named values for each value, in thousands of values a
//! noticeable time. PostgreSQL: `unnest` of one array per column.
//! Pitfall: a text per row count; each would be prepared and cached.

use std::sync::OnceLock;

/// Row counts of the texts, the largest first. More rows take more memory for their values than they save time.
const SIZES: [usize; 6] = [256, 64, 16, 4, 2, 1];

/// A statement around `VALUES`, whose columns are `column1`, `column2` and so on.
pub(crate) struct MultiRowSql {
    before: &'static str,
    columns: usize,
    after: &'static str,
    texts: [OnceLock<String>; SIZES.len()],
}

impl MultiRowSql {
    pub(crate) const fn new(before: &'static str, columns: usize, after: &'static str) -> Self {
        Self { before, columns, after, texts: [const { OnceLock::new() }; SIZES.len()] }
    }

    /// The texts with their row counts, the largest first.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (usize, &str)> {
        let texts = self.texts.iter().zip(SIZES);
        texts.map(|(text, size)| (size, text.get_or_init(|| self.text(size)).as_str()))
    }

    /// Splits rows into the statements that take them, in order.
    pub(crate) fn split<'r, T>(&'r self, rows: &'r [T]) -> Vec<(&'r str, &'r [T])> {
        let mut rest = rows;
        let mut statements = Vec::new();
        for (size, text) in self.texts() {
            while let Some((taken, later)) = rest.split_at_checked(size) {
                statements.push((text, taken));
                rest = later;
            }
        }
        statements
    }

    fn text(&self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.columns].join(","));
        format!("{} VALUES {} {}", self.before, vec![row; rows].join(","), self.after)
    }
}
