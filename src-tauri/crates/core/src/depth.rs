//! How many objects and lists may stand inside each other.
//!
//! `serde_json` reads 127 levels and writes any number of them, so what is written deeper is lost to whoever reads it
//! again: a run would not know what it has done. And what is stored comes back inside an answer, which is deeper still. So
//! whatever comes from outside is measured before it is kept. A job that is too deep is refused, and so are the arguments of a
//! call; what a tool has answered is kept, from there on as text.

use serde_json::Value;

/// The most levels of what is kept.
pub const LEVELS: usize = 40;

/// Whether `value` has at most `levels` levels; a text or a number has none.
#[must_use]
pub fn fits(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| fits(item, levels - 1)),
        Value::Object(fields) => levels > 0 && fields.values().all(|field| fits(field, levels - 1)),
        _ => true,
    }
}

/// The same value, in which what stands deeper than [`LEVELS`] is the text of its JSON.
#[must_use]
pub fn flattened(value: Value) -> Value {
    if fits(&value, LEVELS) { value } else { as_text_from(value, LEVELS) }
}

fn as_text_from(value: Value, level: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if level == 0 => Value::String(value.to_string()),
        Value::Array(items) => {
            items.into_iter().map(|item| as_text_from(item, level - 1)).collect()
        }
        Value::Object(fields) => {
            fields.into_iter().map(|(name, field)| (name, as_text_from(field, level - 1))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// So many lists inside each other, an object in the middle of them.
    fn nested(levels: usize) -> Value {
        let around = |inner: Value, level: usize| {
            if level == 7 { json!({"a": inner}) } else { json!([inner]) }
        };
        (1..levels).fold(json!([]), around)
    }

    #[test]
    fn what_fits_stays_as_it_is_and_what_is_deeper_becomes_text() {
        assert!(fits(&nested(LEVELS), LEVELS) && !fits(&nested(LEVELS + 1), LEVELS));
        assert!(fits(&json!("[[["), 0) && !fits(&json!({}), 0));
        assert_eq!(flattened(nested(LEVELS)), nested(LEVELS));
        for levels in [LEVELS + 1, 100, 126] {
            let flat = flattened(json!({ "deep": nested(levels), "more": 1 }));
            assert!(fits(&flat, LEVELS), "{levels}");
            assert_eq!(flat["more"], 1);
            assert!(
                flat.to_string().contains("[[[[") && flat.to_string().contains('"'),
                "{levels}"
            );
        }
    }
}
