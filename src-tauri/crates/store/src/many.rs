//! Many rows in few statements.
//!
//! Owns the shape of a statement that takes its rows as `VALUES`: one text for each of a few sizes, prepared once. Ten
//! thousand rows are some hundred statements; a statement per row would cost a walk to the thread of the connection and
//! back for each, and rows inside one JSON text a search for each of their values. One could get this wrong by making a
//! statement for every number of rows: each would have to be prepared, and would be kept.

use std::sync::OnceLock;

/// Rows of one statement, the most first. On a busy machine each walk to the other thread may wait for its turn, so they
/// are few; the values of more rows would take more memory than they save time.
const SIZES: [usize; 6] = [256, 64, 16, 4, 2, 1];

/// A statement around `VALUES`, whose columns are `column1` and so on.
pub(crate) struct Rows {
    before: &'static str,
    columns: usize,
    after: &'static str,
    texts: [OnceLock<String>; SIZES.len()],
}

impl Rows {
    pub(crate) const fn new(before: &'static str, columns: usize, after: &'static str) -> Self {
        Self { before, columns, after, texts: [const { OnceLock::new() }; SIZES.len()] }
    }

    /// The statements, each with the number of its rows, the most first.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (usize, &str)> {
        let texts = self.texts.iter().zip(SIZES);
        texts.map(|(text, size)| (size, text.get_or_init(|| self.text(size)).as_str()))
    }

    /// The statements for these rows in their order, each with its part of them.
    pub(crate) fn of<'r, T>(&'r self, rows: &'r [T]) -> Vec<(&'r str, &'r [T])> {
        let mut left = rows;
        let mut parts = Vec::new();
        for (size, text) in self.sizes() {
            while let Some((now, later)) = left.split_at_checked(size) {
                parts.push((text, now));
                left = later;
            }
        }
        parts
    }

    fn text(&self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.columns].join(","));
        format!("{} VALUES {} {}", self.before, vec![row; rows].join(","), self.after)
    }
}
