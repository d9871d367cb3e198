//! Borderless tables.

use comfy_table::{ContentArrangement, Table, presets};

/// Columns of a terminal that has room for full ids.
const WIDE: u16 = 132;
/// Length of an id's suffix, enough to tell ids apart.
const ID_SUFFIX: usize = 8;

/// A borderless table with `columns` as its head. Cells wrap on a narrow terminal.
pub(crate) fn new_table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(columns);
    table.set_content_arrangement(arrangement(table.width()));
    table
}

/// A width of 0 columns is unknown (a serial line, some editors): nothing wraps.
const fn arrangement(width: Option<u16>) -> ContentArrangement {
    match width {
        Some(0) => ContentArrangement::Disabled,
        None | Some(_) => ContentArrangement::Dynamic,
    }
}

/// Whether the terminal reports a width of 0 columns.
pub(crate) fn is_width_unknown() -> bool {
    Table::new().width() == Some(0)
}

/// Whether the terminal is too narrow for full ids.
pub(crate) fn is_narrow(table: &Table) -> bool {
    table.width().is_some_and(|width| (1..WIDE).contains(&width))
}

/// An id for a row of `table`: the full id, or the suffix on a narrow terminal. Commands accept both.
pub(crate) fn fit_id(table: &Table, id: &str) -> String {
    let count = id.chars().count();
    let start = if is_narrow(table) { count.saturating_sub(ID_SUFFIX) } else { 0 };
    id.chars().skip(start).collect()
}

/// Prints a table without trailing blanks.
pub(crate) fn print_rows(table: &Table) {
    for line in table.lines() {
        anstream::println!("{}", line.trim_end());
    }
}
