//! The entry in a YAML file, as a change of lines.
//!
//! Owns the search for the lines of the entry, in the block style that Goose writes. Every other line stays. The result is parsed
//! and compared before anything is written. Pitfall: a line of a text that looks like a key; only the comparison finds it.

use std::ops::Range;

use serde_json::{Map, Value};

use super::entry_change::EntryChange;
use super::server_entry::{ENTRY_NAME, ServerEntry};
use crate::commands::mcp::import::parse_yaml;

/// Key of the entries.
const SERVERS: &str = "extensions";

/// Indentation of the first entry of a file.
const DEFAULT_INDENT: usize = 2;

/// Sets the entry in `text`. An error says why the file cannot be changed.
pub(super) fn set_entry(text: Option<&str>, entry: &ServerEntry) -> Result<EntryChange, String> {
    let text = text.unwrap_or_default();
    let mut root = parse_root(text)?;
    let mut servers = match root.get(SERVERS) {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(servers)) => servers.clone(),
        Some(_) => return Err(format!("`{SERVERS}` is no mapping")),
    };
    let wanted = entry.yaml();
    let after = shown(&entry.yaml_block(DEFAULT_INDENT));
    if servers.get(ENTRY_NAME).is_some_and(|old| has_fields_of(old, &wanted)) {
        return Ok(EntryChange { before: Some(after.clone()), after, text: text.to_owned() });
    }
    let (before, changed) = with_entry(text, entry);
    servers.insert(ENTRY_NAME.to_owned(), wanted);
    root.insert(SERVERS.to_owned(), servers.into());
    match parse_yaml(&changed) {
        Ok(found) if found == Value::Object(root) => {}
        _ => return Err("the file has a form that Rouse cannot change safely".to_owned()),
    }
    Ok(EntryChange { before, after, text: changed })
}

/// The document of `text`; an empty one for comments alone.
fn parse_root(text: &str) -> Result<Map<String, Value>, String> {
    if text.lines().any(|line| line.trim_start_matches(' ').starts_with('\t')) {
        return Err("the file is indented with tabs".to_owned());
    }
    if !text.lines().any(has_content) {
        return Ok(Map::new());
    }
    match parse_yaml(text)? {
        Value::Object(root) => Ok(root),
        _ => Err("the file is no YAML mapping".to_owned()),
    }
}

/// Whether `old` has all fields of `wanted`. Goose adds fields of its own.
fn has_fields_of(old: &Value, wanted: &Value) -> bool {
    let mut fields = wanted.as_object().into_iter().flatten();
    fields.all(|(key, value)| old.get(key) == Some(value))
}

/// The old entry, and the text with the new one.
fn with_entry(text: &str, entry: &ServerEntry) -> (Option<String>, String) {
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (place, new) = match EntryPlace::find(&lines) {
        Some(place) => {
            let block = entry.yaml_block(place.indent);
            (place.lines, block)
        }
        None => {
            let block = entry.yaml_block(DEFAULT_INDENT);
            (lines.len()..lines.len(), format!("{SERVERS}:\n{block}"))
        }
    };
    let head = lines[..place.start].concat();
    let old = lines[place.clone()].concat();
    let tail = lines[place.end..].concat();
    let head_end = if head.is_empty() || head.ends_with('\n') { "" } else { line_end };
    let new = new.replace('\n', line_end);
    let before = (!old.is_empty()).then(|| shown(&old.replace("\r\n", "\n")));
    (before, format!("{head}{head_end}{new}{line_end}{tail}"))
}

/// An entry with its head.
fn shown(block: &str) -> String {
    format!("{SERVERS}:\n{}", block.trim_end())
}

/// The lines of the old entry, or the empty place of a new one.
struct EntryPlace {
    lines: Range<usize>,
    /// Spaces before the name of the entry.
    indent: usize,
}

impl EntryPlace {
    /// The place of the entry; none without the key of the entries.
    fn find(lines: &[&str]) -> Option<Self> {
        let start = find_key(lines, 0, SERVERS)? + 1;
        let block = &lines[start..start + block_length(&lines[start..], 0)];
        let first = block.iter().find(|line| has_content(line));
        let indent = first.map_or(DEFAULT_INDENT, |line| indent_of(line));
        let Some(at) = find_key(block, indent, ENTRY_NAME) else {
            return Some(Self { lines: start..start, indent });
        };
        let length = 1 + block_length(&block[at + 1..], indent);
        Some(Self { lines: start + at..start + at + length, indent })
    }
}

/// The first line with nothing but the key.
fn find_key(lines: &[&str], indent: usize, key: &str) -> Option<usize> {
    lines.iter().position(|line| {
        let rest = line.trim().strip_prefix(key).and_then(|rest| rest.strip_prefix(':'));
        indent_of(line) == indent && rest.is_some_and(|rest| !has_content(rest))
    })
}

/// The number of lines below a key that stands before `lines`. Comments at the end belong to the next key.
fn block_length(lines: &[&str], indent: usize) -> usize {
    let is_outside = |line: &&str| has_content(line) && indent_of(line) <= indent;
    let end = lines.iter().position(is_outside).unwrap_or(lines.len());
    lines[..end].iter().rposition(|line| has_content(line)).map_or(0, |last| last + 1)
}

/// Whether a line has more than blanks and a comment.
fn has_content(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#')
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GOOSE: &str = "\
# mine
GOOSE_PROVIDER: anthropic
extensions:
  # tools of Goose
  developer:
    enabled: true
    type: builtin
    name: developer
    bundled: true
    available_tools: []

  mail: # keep
    type: stdio
    cmd: uvx
    args:
    - mail-mcp
    description: |-
      extensions:
        rouse:
    envs: {}
    enabled: 'yes'
# end of extensions
GOOSE_MODEL: x
";

    fn entry() -> ServerEntry {
        ServerEntry { command: "/opt/my \"rouse\"".to_owned(), home: Some("/data".to_owned()) }
    }

    fn changed(text: &str) -> EntryChange {
        set_entry(Some(text), &entry()).unwrap_or_else(|reason| panic!("{reason}: {text}"))
    }

    #[test]
    fn other_lines_of_the_file_stay() {
        let change = changed(GOOSE);
        assert_eq!(change.before, None);
        let block = format!("{}\n", entry().yaml_block(2));
        assert_eq!(change.text.replacen(&block, "", 1), GOOSE);
        let document = parse_yaml(&change.text).expect("YAML");
        assert_eq!(document["extensions"]["rouse"], entry().yaml());
        assert_eq!(document["extensions"]["mail"]["args"], json!(["mail-mcp"]));
    }

    #[test]
    fn entry_is_added_to_every_block_form() {
        for text in [
            "",
            "# mine\n",
            "GOOSE_MODEL: x",
            "---\nGOOSE_MODEL: x\n",
            "extensions:",
            "extensions: \nGOOSE_MODEL: x\n",
            "extensions: # mine\n\n  a:\n    type: builtin",
            "extensions:\n    a:\n        type: builtin\n",
            "extensions:\n  rouse-two:\n    type: builtin\n",
            "note: |\n  extensions:\n    rouse:\nother:\n  extensions:\n    rouse: 1\n",
        ] {
            let change = changed(text);
            let document = parse_yaml(&change.text).expect("YAML");
            assert_eq!(document["extensions"]["rouse"], entry().yaml(), "{text}");
            let again = changed(&change.text);
            assert!(again.is_done() && again.text == change.text, "{}", change.text);
        }
    }

    #[test]
    fn new_file_is_readable() {
        let entry = ServerEntry { command: "/opt/rouse".to_owned(), home: None };
        let change = set_entry(None, &entry).expect("a change");
        let expected = "\
extensions:
  rouse:
    name: \"Rouse\"
    type: \"stdio\"
    enabled: true
    cmd: \"/opt/rouse\"
    args: [\"mcp\",\"serve\"]
    envs: {}
    timeout: 60
";
        assert_eq!(change.text, expected);
        assert_eq!(change.after, expected.trim_end());
    }

    #[test]
    fn windows_line_ends_are_kept() {
        let change = changed(&GOOSE.replace('\n', "\r\n"));
        assert_eq!(change.text.matches('\n').count(), change.text.matches("\r\n").count());
        assert_eq!(change.text.replace("\r\n", "\n"), changed(GOOSE).text);
    }

    #[test]
    fn old_entry_is_replaced_and_shown() {
        let (head, tail) =
            ("extensions:\n  a:\n    type: builtin\n", "\n  # next\n  b:\n    x: 1\n");
        let old = "  rouse:\n    cmd: /old\n    args:\n    - x\n";
        let change = changed(&format!("{head}{old}{tail}"));
        assert_eq!(change.before, Some(format!("extensions:\n{}", old.trim_end())));
        assert_eq!(change.text, format!("{head}{}\n{tail}", entry().yaml_block(2)));
    }

    #[test]
    fn entry_that_goose_wrote_is_done() {
        let text = "extensions:\n  rouse:\n    enabled: true\n    type: stdio\n    name: Rouse\n    \
                    description: ''\n    cmd: /opt/my \"rouse\"\n    args:\n    - mcp\n    - serve\n    \
                    envs:\n      ROUSE_HOME: /data\n    env_keys: []\n    timeout: 60\n    bundled: null\n";
        let change = changed(text);
        assert!(change.is_done() && change.text == text, "{change:?}");
        assert!(!changed(&text.replace("enabled: true", "enabled: false")).is_done());
    }

    #[test]
    fn other_forms_are_refused() {
        for text in [
            "extensions: {}\n",
            "extensions: { a: { type: builtin } }\n",
            "extensions: &a\n  b:\n    type: builtin\n",
            "extensions:\n\tb: 1\n",
            "extensions: []\n",
            "extensions: text\n",
            "extensions:\n  rouse: { cmd: /old }\n",
            "extensions:\n  'rouse':\n    cmd: /old\n",
            "\"extensions\":\n  b:\n    type: builtin\n",
            "{ a: 1 }\n",
            "a: 1\n---\nb: 2\n",
            "a: 1\n...\n",
            "- a\n",
            "a: [\n",
        ] {
            assert!(set_entry(Some(text), &entry()).is_err(), "{text}");
        }
    }
}
