//! Vague names.
//!
//! Owns the list of words that no type, module or file may use. Only definitions count: using a library's
//! `ServiceBuilder` is allowed.

use crate::source_files::SourceFile;

const VAGUE_WORDS: &[&str] = &["Manager", "Service", "Helper", "Util", "Processor"];

/// The keywords before a defined name, in Rust and TypeScript.
const KEYWORDS: &[&str] = &["struct ", "enum ", "trait ", "type ", "mod ", "class ", "interface "];

/// Definitions and files with a vague name.
pub(crate) fn vague_names(sources: &[SourceFile]) -> Vec<String> {
    sources
        .iter()
        .flat_map(|source| file_name(source).into_iter().chain(definitions(source)))
        .collect()
}

fn file_name(source: &SourceFile) -> Option<String> {
    let name = source.path.rsplit('/').next().unwrap_or(&source.path);
    is_vague(name).then(|| format!("{} (the file)", source.path))
}

fn definitions(source: &SourceFile) -> Vec<String> {
    let named = source
        .text
        .lines()
        .enumerate()
        .filter_map(|(at, line)| defined_name(line).map(|name| (at + 1, name)));
    named
        .filter(|(_, name)| is_vague(name))
        .map(|(at, name)| format!("{}:{at} {name}", source.path))
        .collect()
}

/// The name that a line defines, if any.
fn defined_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    for prefix in
        ["export ", "default ", "abstract ", "pub ", "pub(crate) ", "pub(super) ", "unsafe "]
    {
        rest = rest.strip_prefix(prefix).unwrap_or(rest);
    }
    let name = KEYWORDS.iter().find_map(|word| rest.strip_prefix(word))?;
    let end =
        name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
    Some(&name[..end])
}

/// Matches `JobManager` and `job_utils`, but not `utility`.
fn is_vague(name: &str) -> bool {
    VAGUE_WORDS.iter().any(|word| {
        let small = word.to_lowercase();
        let ends_there = |rest: &str| {
            rest.trim_start_matches('s').chars().next().is_none_or(|next| !next.is_lowercase())
        };
        let capital = name.match_indices(word).any(|(at, _)| ends_there(&name[at + word.len()..]));
        let part = name.split(['_', '.', '-']).any(|part| {
            part.strip_prefix(small.as_str()).is_some_and(|rest| matches!(rest, "" | "s"))
        });
        capital || part
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        vague_names(&[SourceFile { path: path.into(), text: text.into() }]).len()
    }

    #[test]
    fn vague_names_are_found() {
        assert_eq!(found("core/src/job.rs", "pub(crate) struct JobManager {\n"), 1);
        assert_eq!(found("core/src/job.rs", "    pub trait Helpers {\n"), 1);
        assert_eq!(found("core/src/job.rs", "mod time_utils;\n"), 1);
        assert_eq!(found("ui/src/data/run.ts", "export class RunProcessor {\n"), 1);
        assert_eq!(found("core/src/helpers.rs", ""), 1);
        assert_eq!(found("ui/src/format/dateUtils.ts", ""), 1);
    }

    #[test]
    fn foreign_and_longer_names_are_allowed() {
        assert_eq!(
            found("gateway/src/server.rs", "use tower::ServiceBuilder;\nlet x = Service::new();\n"),
            0
        );
        assert_eq!(found("core/src/job.rs", "struct Utilisation;\nenum Serviceable {}\n"), 0);
        assert_eq!(found("core/src/job.rs", "// struct JobManager\n"), 0);
    }
}
