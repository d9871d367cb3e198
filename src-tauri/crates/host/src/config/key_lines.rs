//! The lines of keys in the text of the file.
//!
//! A key that is not in the file has the line of the nearest table around it.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Lines by dotted path.
#[derive(Debug, Default)]
pub(super) struct KeyLines(BTreeMap<String, usize>);

impl KeyLines {
    /// The lines of the keys in `text`; empty if the text is not TOML.
    pub(super) fn of(text: &str) -> Self {
        let mut lines = Self::default();
        // silent-ok: the reader of the settings reports invalid TOML.
        if let Ok(table) = DeTable::parse(text) {
            lines.table(text, "", table.get_ref());
        }
        lines
    }

    /// The line of `key`, or of the nearest table around `key` in the file.
    pub(super) fn line(&self, key: &str) -> Option<usize> {
        let mut key = key;
        loop {
            if let Some(line) = self.0.get(key) {
                return Some(*line);
            }
            key = &key[..key.rfind(['.', '['])?];
        }
    }

    fn table(&mut self, text: &str, path: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let name_text = name.get_ref();
            let key =
                if path.is_empty() { name_text.to_string() } else { format!("{path}.{name_text}") };
            self.value(text, &key, name.span().start, value);
        }
    }

    fn value(&mut self, text: &str, key: &str, start: usize, value: &Spanned<DeValue<'_>>) {
        let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
        self.0.insert(key.to_owned(), line);
        match value.get_ref() {
            DeValue::Table(inner) => self.table(text, key, inner),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(text, &format!("{key}[{index}]"), item.span().start, item);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_lines_in_every_table_syntax() {
        let text = "a = 1\n[b]\nc = 2\nd.e = { f = 3 }\n\n[[hooks]]\non = \"x\"\n[[hooks]]\n\n[p.\"g-5.6*\"]\nq = 1\n";
        let lines = KeyLines::of(text);
        for (key, line) in [
            ("a", Some(1)),
            ("b", Some(2)),
            ("b.c", Some(3)),
            ("b.d.e.f", Some(4)),
            ("hooks[0].on", Some(7)),
            ("hooks[1].on", Some(8)),
            ("p.g-5.6*.q", Some(11)),
            ("p.g-5.6*.r", Some(10)),
            ("z", None),
            ("z.y[0]", None),
        ] {
            assert_eq!(lines.line(key), line, "{key}");
        }
        assert_eq!(KeyLines::of("[").line("a"), None);
    }
}
