//! The head of a `SKILL.md`: a few lines of YAML between two lines of `---`.
//!
//! Owns what it has to say. What it does not know it lets be, so that a skill that was made for others works here, too.

use serde::Deserialize;

/// The most characters of a description.
const LONGEST_DESCRIPTION: usize = 1_024;
/// The most tools that one may name.
const MOST_TOOLS: usize = 64;

/// What the head says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) tools: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Written {
    name: Option<String>,
    description: Option<String>,
    #[serde(rename = "allowed-tools")]
    tools: Option<Tools>,
}

/// As a list, or as words in one line.
#[derive(Deserialize)]
#[serde(untagged)]
enum Tools {
    List(Vec<String>),
    Words(String),
}

/// The head and what comes after it.
pub(super) fn parted(text: &str) -> Result<(&str, &str), String> {
    let missing = || {
        "Its SKILL.md has no head: it must begin with a line of three hyphens, name and description, and another such line."
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

/// Reads the head.
pub(super) fn read(head: &str) -> Result<Head, String> {
    // Nobody needs a part of a head twice, and a few lines that name each other could fill the memory.
    let mut budget = serde_saphyr::Budget::default();
    (budget.max_aliases, budget.max_anchors, budget.max_depth) = (0, 0, 8);
    (budget.max_nodes, budget.max_events) = (1_000, 4_000);
    let mut options = serde_saphyr::Options::default();
    options.budget = Some(budget);
    let written = serde_saphyr::from_str_with_options::<Written>(head, options);
    let written = written.map_err(|error| {
        let error = error.to_string();
        format!(
            "The head of its SKILL.md cannot be read: {}.",
            error.lines().next().unwrap_or_default()
        )
    })?;
    let missing = |key: &str| format!("The head of its SKILL.md says no {key}.");
    let name = written.name.ok_or_else(|| missing("name"))?;
    let description = written.description.ok_or_else(|| missing("description"))?.trim().to_owned();
    if description.is_empty() {
        return Err(missing("description"));
    }
    if description.chars().count() > LONGEST_DESCRIPTION {
        return Err(format!("Its description is longer than {LONGEST_DESCRIPTION} characters."));
    }
    let tools = written.tools.map(|tools| match tools {
        Tools::List(names) => names,
        Tools::Words(words) => {
            words.split([' ', ',']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        }
    });
    if tools.as_ref().is_some_and(|tools| tools.len() > MOST_TOOLS) {
        return Err(format!("It names more than {MOST_TOOLS} tools."));
    }
    Ok(Head { name, description, tools })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_others_write_it() {
        let text = "---\nname: report\ndescription: >\n  Writes the\n  report.\nlicense: MIT\nmetadata:\n  a: [1, 2]\nallowed-tools: read_file, list_dir\n---\n\n# Report\n---\nmore\n";
        let (head, body) = parted(text).expect("two parts");
        assert_eq!(body, "\n# Report\n---\nmore\n");
        let tools = Some(vec!["read_file".to_owned(), "list_dir".to_owned()]);
        let (name, description) = ("report".to_owned(), "Writes the report.".to_owned());
        assert_eq!(read(head), Ok(Head { name, description, tools }));
        let listed = read("name: a\ndescription: b\nallowed-tools: [http]\n").expect("a head");
        assert_eq!(listed.tools, Some(vec!["http".to_owned()]));
        assert!(parted("\u{feff}---\r\nname: a\r\n---\r\nx").is_ok());
    }

    #[test]
    fn what_is_no_head_is_said() {
        for text in
            ["", "# Report", "---\nname: a\n", "--- x\nname: a\n---\n", "\n---\nname: a\n---\n"]
        {
            assert!(parted(text).is_err_and(|flaw| flaw.contains("has no head")), "{text:?}");
        }
        for (head, words) in [
            ("", "says no name"),
            ("name: a\n", "says no description"),
            ("name: a\ndescription: '  '\n", "says no description"),
            ("name: [a]\ndescription: b\n", "cannot be read"),
            ("name: a: b\n", "cannot be read"),
            ("- a\n", "cannot be read"),
        ] {
            let flaw = read(head).expect_err(head);
            assert!(flaw.contains(words), "{head:?}: {flaw}");
        }
        let long = format!("name: a\ndescription: {}\n", "x".repeat(2_000));
        assert!(read(&long).is_err_and(|flaw| flaw.contains("longer than")));
    }

    #[test]
    fn a_head_that_multiplies_itself_is_refused_at_once() {
        let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for (one, other) in "abcdefghijkl".chars().zip("bcdefghijklm".chars()) {
            bomb += &format!(
                "{other}: &{other} [*{one},*{one},*{one},*{one},*{one},*{one},*{one},*{one}]\n"
            );
        }
        assert!(read(&format!("{bomb}name: a\ndescription: b\n")).is_err());
    }
}
