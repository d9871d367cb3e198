//! The walls of the web UI: one door to the host, features that do not know each other, components that know no domain.
//!
//! Owns the same walls as the UI's linter, once more and apart from it: a linter can be told to look away in the file that
//! breaks the wall. One could get it wrong by reading only aliased imports; relative ones reach just as far.

use crate::tree::Source;

const PLATFORM: &str = "ui/src/platform/";

/// What reaches outside the page.
const DOORS: &[&str] = &["fetch(", "WebSocket(", "EventSource(", "XMLHttpRequest(", "sendBeacon("];

/// Calls and imports that only the platform may make.
pub(crate) fn outside_calls(sources: &[Source]) -> Vec<String> {
    let inside = |source: &&Source| !source.path.starts_with(PLATFORM) && !is_test(&source.path);
    sources.iter().filter(inside).flat_map(|source| lines_where(source, reaches_out)).collect()
}

/// Imports from one feature into another, and from components into any feature.
pub(crate) fn wall_breakers(sources: &[Source]) -> Vec<String> {
    sources.iter().flat_map(broken_by).collect()
}

fn broken_by(source: &Source) -> Vec<String> {
    let own = feature_of(&source.path);
    let is_component = source.path.starts_with("ui/src/components/");
    let targets =
        specifiers(&source.text).into_iter().map(|specifier| resolved(&source.path, specifier));
    let broken = targets.filter(|target| match (own, feature_of(target)) {
        (Some(own), Some(other)) => own != other,
        (None, Some(_)) => is_component,
        _ => false,
    });
    broken.map(|target| format!("{} imports {target}", source.path)).collect()
}

fn reaches_out(line: &str) -> bool {
    line.contains("@tauri-apps/") || DOORS.iter().any(|door| calls(line, door))
}

/// True when the word stands for itself: `fetch(` and `window.fetch(`, but not `refetch(`.
fn calls(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        !line[..at]
            .ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == '$')
    })
}

fn lines_where(source: &Source, is_bad: impl Fn(&str) -> bool) -> Vec<String> {
    let is_comment =
        |line: &str| ["//", "/*", "*"].iter().any(|start| line.trim_start().starts_with(start));
    let numbered =
        source.text.lines().enumerate().filter(|(_, line)| !is_comment(line) && is_bad(line));
    numbered.map(|(at, line)| format!("{}:{} {}", source.path, at + 1, line.trim())).collect()
}

fn is_test(path: &str) -> bool {
    path.ends_with(".test.ts") || path.ends_with(".test.tsx") || path.starts_with("ui/src/test/")
}

/// `jobs` for anything below `ui/src/features/jobs`.
fn feature_of(path: &str) -> Option<&str> {
    path.strip_prefix("ui/src/features/")?.split('/').next()
}

/// What a file imports, as it is written there.
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

/// Where an import leads, from the root of the repository; packages stay as they are.
fn resolved(from: &str, specifier: &str) -> String {
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

    fn source(path: &str, text: &str) -> [Source; 1] {
        [Source { path: path.into(), text: text.into() }]
    }

    #[test]
    fn the_host_is_reached_only_in_the_platform() {
        let bad = [
            "import { invoke } from \"@tauri-apps/api/core\";",
            "const answer = await fetch(url);",
            "await window.fetch(url);",
            "const socket = new WebSocket(url);",
            "new EventSource(url);",
        ];
        for line in bad {
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
        let fine =
            "void query.refetch();\n// fetch( is not for us\nqueryClient.prefetchQuery(x);\n";
        assert_eq!(outside_calls(&source("ui/src/data/runs.ts", fine)), Vec::<String>::new());
    }

    #[test]
    fn features_do_not_import_each_other_by_any_spelling() {
        for text in [
            "import { RunRow } from \"@/features/runs/RunRow\";",
            "import { RunRow } from '../runs/RunRow';",
            "import \"../../features/runs/style.css\";",
            "const page = import(\"@/features/runs\");",
        ] {
            assert_eq!(
                wall_breakers(&source("ui/src/features/jobs/List.tsx", text)).len(),
                1,
                "{text}"
            );
            assert_eq!(
                wall_breakers(&source("ui/src/features/runs/List.tsx", text)),
                Vec::<String>::new()
            );
        }
        let fine =
            "import { Row } from \"./Row\";\nimport { Button } from \"@/components/Button\";\n";
        assert_eq!(
            wall_breakers(&source("ui/src/features/jobs/List.tsx", fine)),
            Vec::<String>::new()
        );
    }

    #[test]
    fn components_know_no_feature_and_routes_know_all() {
        let text = "import { RunRow } from \"@/features/runs/RunRow\";";
        assert_eq!(wall_breakers(&source("ui/src/components/Row.tsx", text)).len(), 1);
        assert_eq!(wall_breakers(&source("ui/src/app/router.tsx", text)), Vec::<String>::new());
    }
}
