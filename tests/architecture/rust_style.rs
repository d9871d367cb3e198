//! The form of Rust files: module doc, length, function length, and no clock.
//!
//! Scans text formatted by rustfmt: a function ends at a brace with the function's indentation. Never parses Rust.
//! Pitfall: counting unit tests; they are cut off, and test files have no limit.

use crate::source_files::SourceFile;

const MAX_MODULE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 60;

/// Functions that are plain tables, by file and name. They may be long.
pub(crate) const TABLES: &[(&str, &str)] = &[];

const CLOCK: &[&str] =
    &["Utc::now(", "Local::now(", "SystemTime::now(", "Zoned::now(", "Timestamp::now("];
const CLOCK_IN_SQL: &[&str] =
    &["CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "'now'", "unixepoch()"];

/// Modules without a module doc. Test files need none.
pub(crate) fn missing_module_docs(sources: &[SourceFile]) -> Vec<String> {
    let modules = sources.iter().filter(|source| !is_test(&source.path));
    let undocumented = modules.filter(|source| !source.text.starts_with("//!"));
    undocumented.map(|source| source.path.clone()).collect()
}

/// Modules over the limit, without their tests.
pub(crate) fn long_modules(sources: &[SourceFile]) -> Vec<String> {
    let lengths = sources
        .iter()
        .filter(|source| !is_test(&source.path))
        .map(|source| (source, code_lines(source).len()));
    let long = lengths.filter(|(_, length)| *length > MAX_MODULE_LINES);
    long.map(|(source, length)| format!("{}: {length} lines", source.path)).collect()
}

/// Functions over the limit that are not tables, and table entries that are no longer long.
pub(crate) fn long_functions(sources: &[SourceFile], tables: &[(&str, &str)]) -> Vec<String> {
    let mut violations = Vec::new();
    let mut unused = tables.to_vec();
    for source in sources.iter().filter(|source| !is_test(&source.path)) {
        for (name, line, length) in find_long_functions(&code_lines(source)) {
            let entry = (source.path.as_str(), name.as_str());
            if tables.contains(&entry) {
                unused.retain(|table| *table != entry);
            } else {
                violations.push(format!("{}:{line} {name}: {length} lines", source.path));
            }
        }
    }
    violations.extend(
        unused
            .iter()
            .map(|(path, name)| format!("{path} {name}: no longer long; remove the entry")),
    );
    violations
}

/// Files outside the host that read the wall clock.
pub(crate) fn clock_readers(sources: &[SourceFile]) -> Vec<String> {
    let is_checked = |path: &str| !is_test(path) && !path.starts_with("src-tauri/crates/host/");
    let sources = sources.iter().filter(|source| is_checked(&source.path));
    sources.flat_map(|source| lines_with(source, &code_lines(source), CLOCK)).collect()
}

/// SQL that reads the time.
pub(crate) fn clock_readers_in_sql(sources: &[SourceFile]) -> Vec<String> {
    sources
        .iter()
        .flat_map(|source| lines_with(source, &code_lines(source), CLOCK_IN_SQL))
        .collect()
}

/// Whether the whole file is a test.
pub(crate) fn is_test(path: &str) -> bool {
    path.starts_with("tests/")
        || path.contains("/tests/")
        || path.ends_with("/tests.rs")
        || path.ends_with("_tests.rs")
}

/// The lines before the unit tests.
pub(crate) fn code_lines(source: &SourceFile) -> Vec<&str> {
    let lines: Vec<&str> = source.text.lines().collect();
    let begins_tests = |pair: &[&str]| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    };
    let end = lines.windows(2).position(begins_tests).unwrap_or(lines.len());
    lines[..end].to_vec()
}

/// Name, first line and length of every function over the limit.
fn find_long_functions(lines: &[&str]) -> Vec<(String, usize, usize)> {
    let functions = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| function_name(line).map(|name| (at, name)));
    let measured =
        functions.filter_map(|(at, name)| Some((name.to_owned(), at + 1, length_at(lines, at)?)));
    measured.filter(|(_, _, length)| *length > MAX_FUNCTION_LINES).collect()
}

/// The function's name, if this line begins a function.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_qualifier = |word: &str| {
        matches!(word, "pub" | "async" | "const" | "unsafe" | "extern" | "\"C\"" | "\"system\"")
            || word.starts_with("pub(")
    };
    let plain = before.split_whitespace().all(is_qualifier);
    let end = after.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
    (plain && end > 0).then(|| &after[..end])
}

/// The number of lines of a function; `None` without a body.
fn length_at(lines: &[&str], at: usize) -> Option<usize> {
    let opening = lines[at..].iter().position(|line| line.ends_with(['{', ';', '}']))? + at;
    if !lines[opening].ends_with('{') {
        return None;
    }
    let indent = lines[at].len() - lines[at].trim_start().len();
    let closing = format!("{}}}", &lines[at][..indent]);
    let end =
        lines[opening + 1..].iter().position(|line| line.starts_with(&closing))? + opening + 1;
    Some(end - at)
}

fn lines_with(source: &SourceFile, lines: &[&str], names: &[&str]) -> Vec<String> {
    let is_comment =
        |line: &str| line.trim_start().starts_with("//") || line.trim_start().starts_with("--");
    let numbered = lines.iter().enumerate().filter(|(_, line)| !is_comment(line));
    let found = numbered.filter(|(_, line)| names.iter().any(|word| line.contains(word)));
    found.map(|(at, line)| format!("{}:{} {}", source.path, at + 1, line.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "src-tauri/crates/store/src/job.rs";

    fn source(path: &str, text: &str) -> [SourceFile; 1] {
        [SourceFile { path: path.into(), text: text.into() }]
    }

    fn function(name: &str, lines_inside: usize) -> String {
        format!(
            "impl Job {{\n    pub(crate) async fn {name}(\n        self,\n    ) {{\n{}    }}\n}}\n",
            "        x;\n".repeat(lines_inside)
        )
    }

    #[test]
    fn module_without_docs_is_found() {
        assert_eq!(missing_module_docs(&source(PATH, "use std::fs;\n//! too late\n")), [PATH]);
        assert_eq!(missing_module_docs(&source(PATH, "//! Owns jobs.\n")), Vec::<String>::new());
        let test = source("src-tauri/crates/store/src/tests/claims.rs", "use super::*;\n");
        assert_eq!(missing_module_docs(&test), Vec::<String>::new());
    }

    #[test]
    fn long_module_is_found_without_its_tests() {
        let code = "x\n".repeat(MAX_MODULE_LINES);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{code}}}\n");
        assert_eq!(long_modules(&source(PATH, &format!("{code}{tests}"))), Vec::<String>::new());
        assert_eq!(long_modules(&source(PATH, &format!("x\n{code}{tests}"))).len(), 1);
        // A test module in its own file does not end the code.
        let elsewhere = format!("#[cfg(test)]\nmod tests;\n{code}");
        assert_eq!(long_modules(&source(PATH, &elsewhere)).len(), 1);
        assert_eq!(
            long_modules(&source("tests/whole/main.rs", &format!("x\n{code}"))),
            Vec::<String>::new()
        );
    }

    #[test]
    fn long_function_is_found_by_name_and_line() {
        let limit = MAX_FUNCTION_LINES - 3;
        assert_eq!(
            long_functions(&source(PATH, &function("claim", limit)), &[]),
            Vec::<String>::new()
        );
        let found = long_functions(&source(PATH, &function("claim", limit + 1)), &[]);
        assert_eq!(found, [format!("{PATH}:2 claim: 61 lines")]);
    }

    #[test]
    fn short_functions_are_measured_alone() {
        let before = "trait T {\n    fn declared(&self);\n    fn short(&self) -> u8 { 1 }\n}\n";
        let text = format!("{before}{}", function("claim", MAX_FUNCTION_LINES - 3));
        assert_eq!(long_functions(&source(PATH, &text), &[]), Vec::<String>::new());
    }

    #[test]
    fn table_may_be_long_and_stale_entry_is_found() {
        let text = function("defaults", 200);
        assert_eq!(
            long_functions(&source(PATH, &text), &[(PATH, "defaults")]),
            Vec::<String>::new()
        );
        assert_eq!(long_functions(&source(PATH, "//! Short.\n"), &[(PATH, "defaults")]).len(), 1);
    }

    #[test]
    fn clock_read_is_found_outside_host_and_tests() {
        let reader = "let now = Utc::now();\n";
        assert_eq!(
            clock_readers(&source(PATH, reader)),
            [format!("{PATH}:1 let now = Utc::now();")]
        );
        for exempt in [
            "src-tauri/crates/host/src/clock.rs",
            "tests/serve/main.rs",
            "src-tauri/crates/cli/tests/cli.rs",
        ] {
            assert_eq!(clock_readers(&source(exempt, reader)), Vec::<String>::new());
        }
        assert_eq!(
            clock_readers(&source(PATH, "// never Utc::now() here\n")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn clock_read_in_sql_is_found() {
        for text in
            ["created_at DEFAULT CURRENT_TIMESTAMP", "SELECT unixepoch()", "strftime('%s', 'now')"]
        {
            assert_eq!(
                clock_readers_in_sql(&source("migrations/0001.sql", text)).len(),
                1,
                "{text}"
            );
        }
        assert_eq!(
            clock_readers_in_sql(&source("migrations/0001.sql", "-- never 'now'\n")),
            Vec::<String>::new()
        );
    }
}
