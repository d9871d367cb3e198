//! SQL that only SQLite understands.
//!
//! Owns the list of placeholders, functions and syntax that the folders `tables` and `tx` of the store must not contain;
//! the macros of its folder `sql` name them, with the counterpart in PostgreSQL. Reads string literals only, so a name in
//! Rust code is no violation. Pitfall: a fragment without an upper-case word or a bracket, which would match prose.

use crate::rust_style::code_lines;
use crate::source_files::SourceFile;

const FOLDERS: [&str; 2] = ["src-tauri/crates/store/src/tables/", "src-tauri/crates/store/src/tx/"];

/// Fragments that begin at the beginning of a word.
const FRAGMENTS: &[&str] = &[
    "json(",
    "json_",
    "jsonb(",
    "jsonb_",
    "->",
    "rowid",
    "changes(",
    "last_insert_",
    "ifnull(",
    "iif(",
    "instr(",
    "char(",
    "printf(",
    "typeof(",
    "total(",
    "group_concat(",
    "unixepoch(",
    "strftime(",
    "datetime(",
    "julianday(",
    "bm25(",
    "snippet(",
    "INDEXED BY",
    "COLLATE",
    "GLOB",
    "MATCH",
    "REGEXP",
    "INSERT OR",
    "UPDATE OR",
    "REPLACE INTO",
    "AUTOINCREMENT",
    "PRAGMA",
    "pragma_",
    "VACUUM",
];

/// Literals of the store's tables and transactions with SQL of SQLite, and what they contain.
pub(crate) fn sqlite_only(sources: &[SourceFile]) -> Vec<String> {
    let sources =
        sources.iter().filter(|source| FOLDERS.iter().any(|f| source.path.starts_with(f)));
    let mut violations = Vec::new();
    for source in sources {
        let code = code_lines(source).join("\n");
        for (at, literal) in literals(&code) {
            let line = code[..at].matches('\n').count() + 1;
            let found = sqlite_syntax(literal).into_iter();
            violations.extend(found.map(|syntax| format!("{}:{line} {syntax}", source.path)));
        }
    }
    violations
}

/// A name and its test.
type SyntaxRule = (&'static str, fn(&str) -> bool);

/// The syntax of SQLite in a text.
fn sqlite_syntax(text: &str) -> Vec<&'static str> {
    let has_fragment = |fragment: &&str| word_starts(text, fragment).next().is_some();
    let mut found: Vec<&'static str> =
        FRAGMENTS.iter().copied().filter(|f| has_fragment(f)).collect();
    let rules: [SyntaxRule; 4] = [
        ("a placeholder other than $1", has_question_mark),
        ("IS between two values; write IS NOT DISTINCT FROM", compares_with_is),
        ("min or max of two values", has_scalar_bound),
        ("a unary plus", has_unary_plus),
    ];
    found.extend(rules.iter().filter(|(_, rule)| rule(text)).map(|(name, _)| *name));
    found
}

/// The positions of a fragment at the beginning of a word.
fn word_starts<'t>(text: &'t str, fragment: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_inside_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let places = text.match_indices(fragment).map(|(at, _)| at);
    places.filter(move |at| {
        !fragment.starts_with(char::is_alphabetic) || !text[..*at].ends_with(is_inside_word)
    })
}

fn has_question_mark(text: &str) -> bool {
    text.match_indices('?').any(|(at, _)| {
        text[at + 1..].starts_with(|next: char| next.is_ascii_digit())
            || text[..at].ends_with([' ', '(', ','])
    })
}

fn compares_with_is(text: &str) -> bool {
    text.split(" IS ").skip(1).any(|operand| {
        let operand = operand.trim_start();
        let operand = operand.strip_prefix("NOT ").unwrap_or(operand).trim_start();
        !["NULL", "TRUE", "FALSE", "DISTINCT"].iter().any(|word| operand.starts_with(word))
    })
}

fn has_scalar_bound(text: &str) -> bool {
    let calls = ["min(", "max("].into_iter().flat_map(|call| word_starts(text, call));
    let mut arguments = calls.map(|at| &text[at + "min(".len()..]);
    arguments.any(|arguments| {
        let mut depth = 0_i32;
        let end = arguments.find(|letter: char| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth < 0 || depth == 0 && letter == ','
        });
        end.is_some_and(|end| arguments[end..].starts_with(','))
    })
}

fn has_unary_plus(text: &str) -> bool {
    text.match_indices('+').any(|(at, _)| {
        text[at + 1..].starts_with(|next: char| next.is_ascii_alphabetic())
            && (at == 0 || text[..at].ends_with([' ', '(']))
    })
}

/// The string literals of Rust code with their positions.
fn literals(code: &str) -> Vec<(usize, &str)> {
    let bytes = code.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(b"//") {
            at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        } else if rest.starts_with(b"'\"'") {
            at += 3;
        } else if rest[0] == b'"' {
            let end = at + 1 + literal_length(&code[..at], &code[at + 1..]);
            found.push((at, &code[at + 1..end]));
            at = end + 1;
        } else {
            at += 1;
        }
    }
    found
}

/// The length of the literal at the beginning of `rest`, without quotes.
fn literal_length(before: &str, rest: &str) -> usize {
    let opening = before.trim_end_matches('#');
    if opening.ends_with('r') {
        let closing = format!("\"{}", "#".repeat(before.len() - opening.len()));
        return rest.find(&closing).unwrap_or(rest.len());
    }
    let mut is_escaped = false;
    let end = rest.find(|letter: char| {
        let ends = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        ends
    });
    end.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> Vec<String> {
        let path = format!("src-tauri/crates/store/src/{file}.rs");
        sqlite_only(&[SourceFile { path, text: text.to_owned() }])
    }

    #[test]
    fn sqlite_syntax_in_a_statement_is_found() {
        for sql in [
            "SELECT id FROM runs WHERE id = ?1",
            "job_id = ?",
            "VALUES (?, ?)",
            "id IN (SELECT value FROM json_each($1))",
            "definition ->> '$.kind'",
            "SELECT rowid FROM outbox",
            "FROM runs INDEXED BY runs_open",
            "ORDER BY name COLLATE NOCASE",
            "INSERT OR IGNORE INTO jobs",
            "text MATCH $1",
            "job_id IS $1",
            "reason IS NOT 'resumed'",
            "sum(min(tokens, 5))",
            "max(coalesce(a, b), 1)",
            "AND +state = 'queued'",
            "SELECT changes()",
            "VACUUM INTO $1",
        ] {
            let text = format!("const SQL: &str =\n    \"{sql}\";\n");
            assert_eq!(found("tables/runs", &text).len(), 1, "{sql}");
            assert_eq!(found("sql/json", &text), Vec::<String>::new(), "{sql}");
        }
    }

    #[test]
    fn portable_statement_and_code_are_allowed() {
        for text in [
            r#"const A: &str = "SELECT max(at), min(coalesce(a, b)), a + b FROM t WHERE c IS NOT NULL";"#,
            r#"const A: &str = "a IS NOT DISTINCT FROM $1 AND (b > 0) IS NOT TRUE";"#,
            r#"const A: &str = concat!("SELECT a FROM t WHERE b ", in_json_list!("$1"));"#,
            "// json_each(?1)\nfn f() -> i64 { json_list(rowid?) }",
            r#"let text = r"\"; let quote = '"'; let question = "Whose?";"#,
        ] {
            assert_eq!(found("tx/claim", text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn violation_names_line_and_syntax() {
        let text = "const A: &str = \"\n    SELECT 1\";\nconst B: &str = r#\"a \"b\" ?1\"#;\n";
        let path = "src-tauri/crates/store/src/tx/fire.rs:3";
        assert_eq!(found("tx/fire", text), [format!("{path} a placeholder other than $1")]);
    }
}
