//! The form of Markdown files: short lines, no tabs, no trailing spaces.
//!
//! Never judges tables, whose rows are lines by syntax, nor code blocks, which quote programs.

use crate::source_files::SourceFile;

const MAX_COLUMNS: usize = 120;

/// Lines that are too long, or have tabs or trailing spaces.
pub(crate) fn violations(sources: &[SourceFile]) -> Vec<String> {
    sources.iter().flat_map(violations_of_file).collect()
}

fn violations_of_file(source: &SourceFile) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (at, line) in source.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        let is_prose = !is_code && !line.starts_with('|');
        let mut add = |problem: &str| found.push(format!("{}:{} {problem}", source.path, at + 1));
        if is_prose && line.chars().count() > MAX_COLUMNS {
            add("is longer than 120 columns");
        }
        if line.contains('\t') {
            add("has a tab");
        }
        if line.ends_with(' ') {
            add("ends with a space");
        }
    }
    found
}

#[test]
fn long_line_tab_and_trailing_space_are_found() {
    let long = "x".repeat(121);
    let text = format!("{long}\n| {long} |\n```\n{long}\n```\na\tb\nend \n");
    let source = SourceFile { path: "a.md".to_owned(), text };
    let expected =
        ["a.md:1 is longer than 120 columns", "a.md:6 has a tab", "a.md:7 ends with a space"];
    assert_eq!(violations(&[source]), expected);
}
