//! The entry in a JSON file, as a change of the text.
//!
//! Owns the search for the place of the entry. Every byte outside the entry stays, because a client stores numbers and texts that a
//! parser would write in another form. The result is parsed and compared before anything is written. Pitfall: searching a text with
//! comments and trailing commas; the search reads a text without them, where all positions are the same.

use std::ops::Range;

use rouse_core::extension::import::strip_json_comments;
use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::entry_change::EntryChange;
use super::server_entry::ENTRY_NAME;

/// Indentation of a file that has none.
const DEFAULT_INDENT: &str = "  ";

/// Sets the entry below `servers` in `text`. An error says why the file cannot be changed.
pub(super) fn set_entry(
    text: Option<&str>,
    servers: &str,
    entry: &Value,
) -> Result<EntryChange, String> {
    let text = text.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
    let plain = strip_json_comments(text);
    let document: Value = serde_json::from_str(&plain)
        .map_err(|error| format!("the file is no JSON document ({error})"))?;
    let Some(root) = document.as_object() else {
        return Err("the file is no JSON object".to_owned());
    };
    if root.get(servers).is_some_and(|servers| !servers.is_object()) {
        return Err(format!("`{servers}` is no object"));
    }
    let before = document[servers].get(ENTRY_NAME).map(|old| shown(old, DEFAULT_INDENT));
    let changed =
        JsonText { text, plain: &plain, indent: indent_of(text) }.with_entry(servers, entry);
    let mut expected = document.clone();
    expected[servers][ENTRY_NAME] = entry.clone();
    match serde_json::from_str::<Value>(&strip_json_comments(&changed)) {
        Ok(found) if found == expected => {}
        _ => return Err("the file has a form that Rouse cannot change safely".to_owned()),
    }
    Ok(EntryChange { before, after: shown(entry, DEFAULT_INDENT), text: changed })
}

/// An entry with its name.
fn shown(entry: &Value, indent: &str) -> String {
    format!("\"{ENTRY_NAME}\": {}", pretty(entry, "", indent))
}

/// A valid JSON text with an object.
struct JsonText<'t> {
    /// The text as written.
    text: &'t str,
    /// The text without comments and trailing commas, at the same positions.
    plain: &'t str,
    /// Indentation of one level.
    indent: &'t str,
}

/// A member of an object.
struct JsonMember {
    key: String,
    value: Range<usize>,
}

/// The members of an object, and the place of its closing brace.
struct JsonObject {
    members: Vec<JsonMember>,
    open: usize,
    close: usize,
}

impl JsonText<'_> {
    fn with_entry(&self, servers: &str, entry: &Value) -> String {
        let (one, two) = (self.indent.to_owned(), self.indent.repeat(2));
        let root = self.object_at(self.skip_blank(0));
        let Some(servers_object) = root.last_value(servers) else {
            let name = Value::from(ENTRY_NAME);
            let member = pretty(entry, &two, self.indent);
            let value = format!("{{\n{two}{name}: {member}\n{one}}}");
            return self.insert(&root, servers, &value, &one, "");
        };
        let object = self.object_at(servers_object.start);
        let value = pretty(entry, &two, self.indent);
        match object.last_value(ENTRY_NAME) {
            Some(old) => format!("{}{value}{}", &self.text[..old.start], &self.text[old.end..]),
            None => self.insert(&object, ENTRY_NAME, &value, &two, &one),
        }
    }

    /// Adds a member at the end of an object.
    fn insert(
        &self,
        object: &JsonObject,
        key: &str,
        value: &str,
        indent: &str,
        closing_indent: &str,
    ) -> String {
        let key = Value::from(key);
        let last_end = object.members.last().map(|last| last.value.end);
        let (head, rest) = self.text.split_at(last_end.unwrap_or(object.open + 1));
        let (rest, tail) = rest.split_at(object.close - head.len());
        let kept = rest.trim_end();
        let blank = &rest[kept.len()..];
        if last_end.is_none() {
            return format!("{head}{kept}\n{indent}{key}: {value}\n{closing_indent}{tail}");
        }
        // Without its bracket, a trailing comma is not replaced.
        let comma = if strip_json_comments(rest).contains(',') { "" } else { "," };
        format!("{head}{comma}{kept}\n{indent}{key}: {value}{blank}{tail}")
    }

    /// The object whose brace opens at `open`.
    fn object_at(&self, open: usize) -> JsonObject {
        let mut members = Vec::new();
        let mut at = open + 1;
        loop {
            at = self.skip_blank(at);
            match self.byte(at) {
                b',' => at += 1,
                b'"' => {
                    let key_end = self.string_end(at);
                    let key = serde_json::from_str(&self.plain[at..key_end]);
                    let colon = self.skip_blank(key_end);
                    let start = self.skip_blank(colon + 1);
                    let end = self.value_end(start);
                    let key = key.expect("BUG: the text is valid JSON");
                    members.push(JsonMember { key, value: start..end });
                    at = end;
                }
                _ => return JsonObject { members, open, close: at },
            }
        }
    }

    fn value_end(&self, start: usize) -> usize {
        let mut depth = 0_usize;
        let mut at = start;
        loop {
            match self.byte(at) {
                b'"' => at = self.string_end(at),
                b'{' | b'[' => {
                    depth += 1;
                    at += 1;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    at += 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' if depth > 0 => at += 1,
                b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' => return at,
                _ => at += 1,
            }
            if depth == 0 && matches!(self.byte(at - 1), b'"' | b'}' | b']') {
                return at;
            }
        }
    }

    /// The place after the text that begins at `start`.
    fn string_end(&self, start: usize) -> usize {
        let mut at = start + 1;
        loop {
            match self.byte(at) {
                b'"' => return at + 1,
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }

    fn skip_blank(&self, at: usize) -> usize {
        let blanks = self.plain.as_bytes()[at..].iter();
        at + blanks.take_while(|byte| byte.is_ascii_whitespace()).count()
    }

    fn byte(&self, at: usize) -> u8 {
        *self.plain.as_bytes().get(at).expect("BUG: the text is valid JSON")
    }
}

impl JsonObject {
    /// The value of a key. Of several, the last counts, as for the parser.
    fn last_value(&self, key: &str) -> Option<Range<usize>> {
        let member = self.members.iter().rev().find(|member| member.key == key);
        member.map(|member| member.value.clone())
    }
}

/// The blanks before the first key.
fn indent_of(text: &str) -> &str {
    let after_brace = text.split_once('{').map_or("", |(_, rest)| rest);
    let line = after_brace.split_once('\n').map_or("", |(_, line)| line);
    let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
    if indent.is_empty() { DEFAULT_INDENT } else { indent }
}

/// A value over several lines; `outer` stands before each line but the first.
fn pretty(value: &Value, outer: &str, indent: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = Serializer::with_formatter(&mut bytes, formatter);
    value.serialize(&mut serializer).expect("BUG: a value is JSON");
    let text = String::from_utf8(bytes).expect("BUG: JSON is UTF-8");
    text.replace('\n', &format!("\n{outer}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Value {
        json!({ "command": "/opt/rouse", "args": ["mcp", "serve"] })
    }

    fn changed(text: &str) -> EntryChange {
        set_entry(Some(text), "mcpServers", &entry()).expect("a change")
    }

    #[test]
    fn other_bytes_of_the_file_stay() {
        let text = "{\n    \"cost\": 0.10000000000000000001, \"big\": 12345678901234567890123,\n    \
                    \"path\": \"a\\/b\\u00e9 } \\\" ]\",\n    \"mcpServers\": {\n        \"x\": {\"command\": \"y\"}\n    },\n    \"last\": [1, {}]\n}\n";
        let change = changed(text);
        let (head, tail) = change.text.split_once(",\n        \"rouse\": {").expect("the entry");
        assert!(text.starts_with(head), "{head}");
        let tail = tail.split_once("\n        }").expect("the end of the entry").1;
        assert!(text.ends_with(tail) && head.len() + tail.len() == text.len(), "{}", change.text);
        assert_eq!(change.before, None);
    }

    #[test]
    fn entry_is_added_to_every_form_of_file() {
        for text in [
            "",
            "{}",
            "{\n}\n",
            "{\"mcpServers\":{}}",
            "{ \"mcpServers\" : { } , \"a\" : true }",
            "{\"a\":1}",
            "{\"a\":\"b\"}",
            "{\"a\":[{\"mcpServers\":{}}]}",
            "{\n\t\"mcpServers\": {\n\t\t\"x\": {}\n\t}\n}",
            "{\"mcpServers\":{},\"mcpServers\":{\"x\":null}}",
        ] {
            let change = changed(text);
            let document: Value = serde_json::from_str(&change.text).expect("JSON");
            assert_eq!(document["mcpServers"]["rouse"], entry(), "{text}");
            assert!(changed(&change.text).is_done(), "{}", change.text);
        }
    }

    #[test]
    fn new_file_is_readable() {
        let change = set_entry(None, "servers", &json!({ "command": "r" })).expect("a change");
        let expected =
            "{\n  \"servers\": {\n    \"rouse\": {\n      \"command\": \"r\"\n    }\n  }\n}\n";
        assert_eq!(change.text, expected);
    }

    #[test]
    fn old_entry_is_replaced_and_shown() {
        let change = changed("{\"mcpServers\":{\"rouse\":{\"command\":\"/old\"},\"x\":{}}}");
        assert!(change.before.as_ref().is_some_and(|before| before.contains("/old")));
        assert!(!change.text.contains("/old") && change.text.ends_with(",\"x\":{}}}"));
    }

    #[test]
    fn comments_and_trailing_commas_stay() {
        let text = "// of VS Code\n{\n  // servers, all\n  \"mcpServers\": {\n    \"x\": {}, // one, \"rouse\": 1\n    /* } */\n  },\n}\n";
        let change = changed(text);
        let added = format!("\n    \"rouse\": {}", pretty(&entry(), "    ", "  "));
        assert_eq!(change.text.replacen(&added, "", 1), text);
        assert!(change.text.contains(&format!("/* }} */{added}\n  }}")), "{}", change.text);
        assert!(changed(&change.text).is_done());
        for text in [
            "{ // mine\n}",
            "{\"a\":1,}",
            "{\"a\":1 /* , */}",
            "{\"mcpServers\":{/* none */},}",
            "{\"mcpServers\":{\"rouse\":{} // old\n}}",
        ] {
            let change = changed(text);
            let comments = ["// mine", "/* , */", "/* none */", "// old"];
            for comment in comments.iter().filter(|comment| text.contains(*comment)) {
                assert!(change.text.contains(comment), "{}", change.text);
            }
            assert!(changed(&change.text).is_done(), "{}", change.text);
        }
    }

    #[test]
    fn foreign_forms_are_refused() {
        for text in
            ["[]", "7", "{\"mcpServers\":[]}", "{,}", "{\"a\":1,,}", "\u{feff}{}", "{\"half"]
        {
            assert!(set_entry(Some(text), "mcpServers", &entry()).is_err(), "{text}");
        }
    }
}
