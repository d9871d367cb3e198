//! Where in the text of the file a key stands.
//!
//! It knows lines and nothing of what keys mean. A key that is not there has the place of the table that it is missing in.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The lines of a file's keys, by their dotted paths.
#[derive(Debug, Default)]
pub(super) struct Places(BTreeMap<String, usize>);

impl Places {
    /// Those of `text`; none of a text that is not TOML.
    pub(super) fn of(text: &str) -> Self {
        let mut places = Self::default();
        // silent-ok: what is wrong with the whole text is told by whoever reads it.
        if let Ok(table) = DeTable::parse(text) {
            places.table(text, "", table.get_ref());
        }
        places
    }

    /// The line of `key`, or of the nearest table around it that is there.
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
            let name_of = name.get_ref();
            let key =
                if path.is_empty() { name_of.to_string() } else { format!("{path}.{name_of}") };
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
    fn keys_are_found_however_their_table_is_written() {
        let text = "a = 1\n[b]\nc = 2\nd.e = { f = 3 }\n\n[[hooks]]\non = \"x\"\n[[hooks]]\n\n[p.\"g-5.6*\"]\nq = 1\n";
        let places = Places::of(text);
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
            assert_eq!(places.line(key), line, "{key}");
        }
        assert_eq!(Places::of("[").line("a"), None);
    }
}
