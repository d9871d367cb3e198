//! Import rules of the web UI: a single platform module, independent features, components without features.
//!
//! Repeats the rules of the UI's linter, because a file can disable its linter. Pitfall: checking only aliased
//! imports; relative imports count too.

use crate::source_files::SourceFile;

const PLATFORM: &str = "ui/src/platform/";

/// Calls that leave the page.
const OUTSIDE_CALLS: &[&str] =
    &["fetch(", "WebSocket(", "EventSource(", "XMLHttpRequest(", "sendBeacon("];

/// Calls and imports that only the platform may use.
pub(crate) fn outside_calls(sources: &[SourceFile]) -> Vec<String> {
    let inside =
        |source: &&SourceFile| !source.path.starts_with(PLATFORM) && !is_test(&source.path);
    sources.iter().filter(inside).flat_map(|source| lines_where(source, leaves_page)).collect()
}

/// Imports between features, and from components into features.
pub(crate) fn forbidden_imports(sources: &[SourceFile]) -> Vec<String> {
    sources.iter().flat_map(import_violations).collect()
}

fn import_violations(source: &SourceFile) -> Vec<String> {
    let own = feature_of(&source.path);
    let is_component = source.path.starts_with("ui/src/components/");
    let targets =
        specifiers(&source.text).into_iter().map(|specifier| resolve(&source.path, specifier));
    let forbidden = targets.filter(|target| match (own, feature_of(target)) {
        (Some(own), Some(other)) => own != other,
        (None, Some(_)) => is_component,
        _ => false,
    });
    forbidden.map(|target| format!("{} imports {target}", source.path)).collect()
}

fn leaves_page(line: &str) -> bool {
    line.contains("@tauri-apps/") || OUTSIDE_CALLS.iter().any(|call| calls(line, call))
}

/// Whether the word is called by itself: `fetch(` and `window.fetch(`, but not `refetch(`.
fn calls(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        !line[..at]
            .ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == '$')
    })
}

fn lines_where(source: &SourceFile, is_violation: impl Fn(&str) -> bool) -> Vec<String> {
    let is_comment =
        |line: &str| ["//", "/*", "*"].iter().any(|start| line.trim_start().starts_with(start));
    let numbered =
        source.text.lines().enumerate().filter(|(_, line)| !is_comment(line) && is_violation(line));
    numbered.map(|(at, line)| format!("{}:{} {}", source.path, at + 1, line.trim())).collect()
}

fn is_test(path: &str) -> bool {
    path.ends_with(".test.ts") || path.ends_with(".test.tsx") || path.starts_with("ui/src/test/")
}

/// `jobs` for files below `ui/src/features/jobs`.
fn feature_of(path: &str) -> Option<&str> {
    path.strip_prefix("ui/src/features/")?.split('/').next()
}

/// The import specifiers of a file.
fn specifiers(text: &str) -> Vec<&str> {
    let openings = ["from \"", "from '", "import \"", "import '", "import(\"", "import('"];
    let quoted = |opening: &str| {
        let quote = if opening.ends_with('"') { '"' } else { '\'' };
        let length = opening.len();
        text.match_indices(opening)
            .filter_map(move |(at, _)| text[at + length..].split(quote).next())
            .collect::<Vec<_>>()
    };
    openings.iter().flat_map(|opening| quoted(opening)).collect()
}

/// The path of an import from the root of the repository; packages are unchanged.
fn resolve(from: &str, specifier: &str) -> String {
    if let Some(rest) = specifier.strip_prefix("@/") {
        return format!("ui/src/{rest}");
    }
    if !specifier.starts_with('.') {
        return specifier.to_owned();
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> [SourceFile; 1] {
        [SourceFile { path: path.into(), text: text.into() }]
    }

    #[test]
    fn host_calls_are_allowed_only_in_platform() {
        let forbidden_lines = [
            "import { invoke } from \"@tauri-apps/api/core\";",
            "const answer = await fetch(url);",
            "await window.fetch(url);",
            "const socket = new WebSocket(url);",
            "new EventSource(url);",
        ];
        for line in forbidden_lines {
            assert_eq!(
                outside_calls(&source("ui/src/features/jobs/List.tsx", line)).len(),
                1,
                "{line}"
            );
            assert_eq!(
                outside_calls(&source("ui/src/platform/web.ts", line)),
                Vec::<String>::new()
            );
        }
        let allowed =
            "void query.refetch();\n// fetch( is forbidden\nqueryClient.prefetchQuery(x);\n";
        assert_eq!(outside_calls(&source("ui/src/data/runs.ts", allowed)), Vec::<String>::new());
    }

    #[test]
    fn feature_import_is_found_in_every_notation() {
        for text in [
            "import { RunRow } from \"@/features/runs/RunRow\";",
            "import { RunRow } from '../runs/RunRow';",
            "import \"../../features/runs/style.css\";",
            "const page = import(\"@/features/runs\");",
        ] {
            assert_eq!(
                forbidden_imports(&source("ui/src/features/jobs/List.tsx", text)).len(),
                1,
                "{text}"
            );
            assert_eq!(
                forbidden_imports(&source("ui/src/features/runs/List.tsx", text)),
                Vec::<String>::new()
            );
        }
        let allowed =
            "import { Row } from \"./Row\";\nimport { Button } from \"@/components/Button\";\n";
        assert_eq!(
            forbidden_imports(&source("ui/src/features/jobs/List.tsx", allowed)),
            Vec::<String>::new()
        );
    }

    #[test]
    fn components_import_no_feature() {
        let text = "import { RunRow } from \"@/features/runs/RunRow\";";
        assert_eq!(forbidden_imports(&source("ui/src/components/Row.tsx", text)).len(), 1);
        assert_eq!(forbidden_imports(&source("ui/src/app/router.tsx", text)), Vec::<String>::new());
    }
}
