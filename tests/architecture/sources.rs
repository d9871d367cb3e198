//! What a Rust file has to look like: its first line, its length, its functions, and no clock.
//!
//! Owns plain text scans that trust rustfmt's layout: a function ends where a brace stands under its first letter.
//! Refuses to parse Rust. One could get it wrong by counting a module's own tests: they are cut off first, and files
//! that are tests are free in length.

use crate::tree::Source;

const LONGEST_MODULE: usize = 500;
const LONGEST_FUNCTION: usize = 60;

/// Functions that are tables, by file and name: one entry a line, nothing to follow. They may be long.
pub(crate) const TABLES: &[(&str, &str)] = &[];

const CLOCK: &[&str] =
    &["Utc::now(", "Local::now(", "SystemTime::now(", "Zoned::now(", "Timestamp::now("];
const CLOCK_IN_SQL: &[&str] =
    &["CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "'now'", "unixepoch()"];

/// Modules that do not begin with what they own. A test says that in its name.
pub(crate) fn without_module_text(sources: &[Source]) -> Vec<String> {
    let speakers = sources.iter().filter(|source| !is_test(&source.path));
    let silent = speakers.filter(|source| !source.text.starts_with("//!"));
    silent.map(|source| source.path.clone()).collect()
}

/// Modules that are too long without their tests.
pub(crate) fn long_modules(sources: &[Source]) -> Vec<String> {
    let lengths = sources
        .iter()
        .filter(|source| !is_test(&source.path))
        .map(|source| (source, code_of(source).len()));
    let long = lengths.filter(|(_, length)| *length > LONGEST_MODULE);
    long.map(|(source, length)| format!("{}: {length} lines", source.path)).collect()
}

/// Functions that are too long and no tables, and tables that are not long any more.
pub(crate) fn long_functions(sources: &[Source], tables: &[(&str, &str)]) -> Vec<String> {
    let mut offenders = Vec::new();
    let mut unused = tables.to_vec();
    for source in sources.iter().filter(|source| !is_test(&source.path)) {
        for (name, line, length) in long_functions_of(&code_of(source)) {
            let entry = (source.path.as_str(), name.as_str());
            if tables.contains(&entry) {
                unused.retain(|table| *table != entry);
            } else {
                offenders.push(format!("{}:{line} {name}: {length} lines", source.path));
            }
        }
    }
    offenders.extend(
        unused
            .iter()
            .map(|(path, name)| format!("{path} {name}: no longer long; take it off the list")),
    );
    offenders
}

/// Files that read the wall clock without being part of the host.
pub(crate) fn clock_readers(sources: &[Source]) -> Vec<String> {
    let guarded = |path: &str| !is_test(path) && !path.starts_with("src-tauri/crates/host/");
    let sources = sources.iter().filter(|source| guarded(&source.path));
    sources.flat_map(|source| lines_with(source, &code_of(source), CLOCK)).collect()
}

/// Statements that would ask SQLite for the time.
pub(crate) fn clock_readers_in_sql(sources: &[Source]) -> Vec<String> {
    sources.iter().flat_map(|source| lines_with(source, &code_of(source), CLOCK_IN_SQL)).collect()
}

/// Files that are tests as a whole.
fn is_test(path: &str) -> bool {
    path.starts_with("tests/")
        || path.contains("/tests/")
        || path.ends_with("/tests.rs")
        || path.ends_with("_tests.rs")
}

/// The lines before the module's own tests.
fn code_of(source: &Source) -> Vec<&str> {
    let lines: Vec<&str> = source.text.lines().collect();
    let begins_tests = |pair: &[&str]| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    };
    let end = lines.windows(2).position(begins_tests).unwrap_or(lines.len());
    lines[..end].to_vec()
}

/// Name, first line and length of every function over the limit.
fn long_functions_of(lines: &[&str]) -> Vec<(String, usize, usize)> {
    let functions = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| function_name(line).map(|name| (at, name)));
    let measured =
        functions.filter_map(|(at, name)| Some((name.to_owned(), at + 1, length_at(lines, at)?)));
    measured.filter(|(_, _, length)| *length > LONGEST_FUNCTION).collect()
}

/// The name, when this line begins a function.
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

/// How many lines a function spans; `None` when it has no body.
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

fn lines_with(source: &Source, lines: &[&str], words: &[&str]) -> Vec<String> {
    let is_comment =
        |line: &str| line.trim_start().starts_with("//") || line.trim_start().starts_with("--");
    let numbered = lines.iter().enumerate().filter(|(_, line)| !is_comment(line));
    let found = numbered.filter(|(_, line)| words.iter().any(|word| line.contains(word)));
    found.map(|(at, line)| format!("{}:{} {}", source.path, at + 1, line.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "src-tauri/crates/store/src/job.rs";

    fn source(path: &str, text: &str) -> [Source; 1] {
        [Source { path: path.into(), text: text.into() }]
    }

    fn function(name: &str, lines_inside: usize) -> String {
        format!(
            "impl Job {{\n    pub(crate) async fn {name}(\n        self,\n    ) {{\n{}    }}\n}}\n",
            "        x;\n".repeat(lines_inside)
        )
    }

    #[test]
    fn a_module_without_words_is_found() {
        assert_eq!(without_module_text(&source(PATH, "use std::fs;\n//! too late\n")), [PATH]);
        assert_eq!(without_module_text(&source(PATH, "//! Owns jobs.\n")), Vec::<String>::new());
        let test = source("src-tauri/crates/store/src/tests/claims.rs", "use super::*;\n");
        assert_eq!(without_module_text(&test), Vec::<String>::new());
    }

    #[test]
    fn a_long_module_is_found_and_its_tests_do_not_count() {
        let code = "x\n".repeat(LONGEST_MODULE);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{code}}}\n");
        assert_eq!(long_modules(&source(PATH, &format!("{code}{tests}"))), Vec::<String>::new());
        assert_eq!(long_modules(&source(PATH, &format!("x\n{code}{tests}"))).len(), 1);
        // A module of tests that stands in its own file ends nothing.
        let elsewhere = format!("#[cfg(test)]\nmod tests;\n{code}");
        assert_eq!(long_modules(&source(PATH, &elsewhere)).len(), 1);
        assert_eq!(
            long_modules(&source("tests/whole/main.rs", &format!("x\n{code}"))),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_long_function_is_found_by_name_and_line() {
        let limit = LONGEST_FUNCTION - 3;
        assert_eq!(
            long_functions(&source(PATH, &function("claim", limit)), &[]),
            Vec::<String>::new()
        );
        let found = long_functions(&source(PATH, &function("claim", limit + 1)), &[]);
        assert_eq!(found, [format!("{PATH}:2 claim: 61 lines")]);
    }

    #[test]
    fn functions_of_one_line_and_without_a_body_end_where_they_end() {
        let before = "trait T {\n    fn declared(&self);\n    fn short(&self) -> u8 { 1 }\n}\n";
        let text = format!("{before}{}", function("claim", LONGEST_FUNCTION - 3));
        assert_eq!(long_functions(&source(PATH, &text), &[]), Vec::<String>::new());
    }

    #[test]
    fn a_named_table_may_be_long_and_a_stale_name_is_found() {
        let text = function("defaults", 200);
        assert_eq!(
            long_functions(&source(PATH, &text), &[(PATH, "defaults")]),
            Vec::<String>::new()
        );
        assert_eq!(long_functions(&source(PATH, "//! Short.\n"), &[(PATH, "defaults")]).len(), 1);
    }

    #[test]
    fn reading_the_clock_is_found_outside_host_and_tests() {
        let reader = "let now = Utc::now();\n";
        assert_eq!(
            clock_readers(&source(PATH, reader)),
            [format!("{PATH}:1 let now = Utc::now();")]
        );
        for free in [
            "src-tauri/crates/host/src/clock.rs",
            "tests/serve/main.rs",
            "src-tauri/crates/cli/tests/cli.rs",
        ] {
            assert_eq!(clock_readers(&source(free, reader)), Vec::<String>::new());
        }
        assert_eq!(
            clock_readers(&source(PATH, "// never Utc::now() here\n")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn asking_sqlite_for_the_time_is_found() {
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
