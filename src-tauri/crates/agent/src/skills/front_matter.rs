//! The front matter of a `SKILL.md`: a few lines of YAML between two lines of `---`.
//!
//! Ignores unknown keys, so that skills of other programs work.

use serde::Deserialize;
use serde_json::Value;

/// The most characters of a description.
const MAX_DESCRIPTION: usize = 1_024;
/// The most allowed tools.
const MAX_TOOLS: usize = 64;

/// The requirements that other programs read, and the words for them.
const REQUIREMENTS: [(&str, &str); 2] = [
    ("/metadata/openclaw/requires/env", "variable"),
    ("/metadata/openclaw/requires/bins", "program"),
];

/// The known fields of the front matter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) tools: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct WrittenFields {
    name: Option<String>,
    description: Option<String>,
    #[serde(rename = "allowed-tools")]
    tools: Option<ToolList>,
}

/// A YAML list, or names on a single line.
#[derive(Deserialize)]
#[serde(untagged)]
enum ToolList {
    List(Vec<String>),
    Line(String),
}

/// Splits a text into front matter and body.
pub(super) fn split(text: &str) -> Result<(&str, &str), String> {
    let missing = || {
        "SKILL.md has no head: a line of three hyphens, name and description, and another such line."
            .to_owned()
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let begin = text.find('\n').ok_or_else(missing)? + 1;
    if text[..begin].trim_end() != "---" {
        return Err(missing());
    }
    let mut at = begin;
    for line in text[begin..].split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok((&text[begin..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    Err(missing())
}

/// Parses the front matter.
pub(super) fn parse(head: &str) -> Result<FrontMatter, String> {
    let written = serde_saphyr::from_str_with_options::<WrittenFields>(head, options());
    let written = written.map_err(|error| {
        let error = error.to_string();
        format!(
            "The head of SKILL.md cannot be read: {}.",
            error.lines().next().unwrap_or_default()
        )
    })?;
    let missing = |key: &str| format!("The head of SKILL.md has no {key}.");
    let name = written.name.ok_or_else(|| missing("name"))?;
    let description = written.description.ok_or_else(|| missing("description"))?.trim().to_owned();
    if description.is_empty() {
        return Err(missing("description"));
    }
    if description.chars().count() > MAX_DESCRIPTION {
        return Err(format!("The description is longer than {MAX_DESCRIPTION} characters."));
    }
    let tools = written.tools.map(|tools| match tools {
        ToolList::List(names) => names,
        ToolList::Line(line) => {
            line.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        }
    });
    if tools.as_ref().is_some_and(|tools| tools.len() > MAX_TOOLS) {
        return Err(format!("More than {MAX_TOOLS} tools are named."));
    }
    Ok(FrontMatter { name, description, tools })
}

/// The environment variables and programs that the skill names: `variable TOKEN`, `program jq`. Another form of the
/// field is no error: the person reads the whole text.
pub(super) fn requirements(head: &str) -> Vec<String> {
    let Ok(fields) = serde_saphyr::from_str_with_options::<Value>(head, options()) else {
        // silent-ok: `parse` names the errors of the known fields.
        return Vec::new();
    };
    let named = |(pointer, word): (&str, &str)| {
        let names = fields.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).map(|name| format!("{word} {name}")).collect::<Vec<_>>()
    };
    REQUIREMENTS.into_iter().flat_map(named).collect()
}

/// No aliases: a few lines of nested aliases could fill the memory.
fn options() -> serde_saphyr::Options {
    let mut budget = serde_saphyr::Budget::default();
    (budget.max_aliases, budget.max_anchors, budget.max_depth) = (0, 0, 8);
    (budget.max_nodes, budget.max_events) = (1_000, 4_000);
    let mut options = serde_saphyr::Options::default();
    options.budget = Some(budget);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_of_other_programs_is_parsed() {
        let text = "---\nname: report\ndescription: >\n  Writes the\n  report.\nlicense: MIT\nmetadata:\n  a: [1, 2]\nallowed-tools: read_file, list_dir\n---\n\n# Report\n---\nmore\n";
        let (head, body) = split(text).expect("two parts");
        assert_eq!(body, "\n# Report\n---\nmore\n");
        let tools = Some(vec!["read_file".to_owned(), "list_dir".to_owned()]);
        let (name, description) = ("report".to_owned(), "Writes the report.".to_owned());
        assert_eq!(parse(head), Ok(FrontMatter { name, description, tools }));
        let listed = parse("name: a\ndescription: b\nallowed-tools: [http]\n").expect("a head");
        assert_eq!(listed.tools, Some(vec!["http".to_owned()]));
        assert!(split("\u{feff}---\r\nname: a\r\n---\r\nx").is_ok());
    }

    #[test]
    fn requirements_are_read_in_block_and_flow_style() {
        let block = "name: a\nmetadata:\n  openclaw:\n    requires:\n      env: [TOKEN]\n      bins:\n        - jq\n";
        let flow = "name: a\nmetadata: {\"openclaw\": {\"requires\": {\"bins\": [\"jq\"], \"env\": [\"TOKEN\"]}}}\n";
        for head in [block, flow] {
            assert_eq!(requirements(head), ["variable TOKEN", "program jq"], "{head}");
        }
        for head in ["name: a\n", "metadata: text\n", "metadata: {openclaw: {requires: jq}}\n"] {
            assert!(requirements(head).is_empty(), "{head}");
        }
    }

    #[test]
    fn invalid_front_matter_has_an_error() {
        for text in
            ["", "# Report", "---\nname: a\n", "--- x\nname: a\n---\n", "\n---\nname: a\n---\n"]
        {
            assert!(split(text).is_err_and(|error| error.contains("has no head")), "{text:?}");
        }
        for (head, words) in [
            ("", "has no name"),
            ("name: a\n", "has no description"),
            ("name: a\ndescription: '  '\n", "has no description"),
            ("name: [a]\ndescription: b\n", "cannot be read"),
            ("name: a: b\n", "cannot be read"),
            ("- a\n", "cannot be read"),
        ] {
            let error = parse(head).expect_err(head);
            assert!(error.contains(words), "{head:?}: {error}");
        }
        let long = format!("name: a\ndescription: {}\n", "x".repeat(2_000));
        assert!(parse(&long).is_err_and(|error| error.contains("longer than")));
    }

    #[test]
    fn front_matter_with_nested_aliases_is_refused() {
        let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (one, other) in "abcdefghijkl".chars().zip("bcdefghijklm".chars()) {
            bomb += &format!(
                "{other}: &{other} [*{one},*{one},*{one},*{one},*{one},*{one},*{one},*{one}]\n"
            );
        }
        assert!(parse(&format!("{bomb}name: a\ndescription: b\n")).is_err());
    }
}
