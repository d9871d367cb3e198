//! The nesting bound of JSON.
//!
//! Owns the bound on everything that is stored. `serde_json` reads 127 levels but writes any number, so deeper values
//! could not be read back, and stored values come back inside larger values. Jobs and arguments beyond the bound are
//! refused; deeper parts of a tool's output become text.

use serde_json::Value;

/// The maximum nesting of a stored value.
pub const MAX_DEPTH: usize = 40;

/// Whether `value` is nested at most `levels` deep; a scalar has no level.
#[must_use]
pub fn is_within_depth(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => {
            levels > 0 && items.iter().all(|item| is_within_depth(item, levels - 1))
        }
        Value::Object(fields) => {
            levels > 0 && fields.values().all(|field| is_within_depth(field, levels - 1))
        }
        _ => true,
    }
}

/// Replaces everything deeper than [`MAX_DEPTH`] by the JSON text.
#[must_use]
pub fn flatten_deep(value: Value) -> Value {
    if is_within_depth(&value, MAX_DEPTH) { value } else { flatten_from(value, MAX_DEPTH) }
}

fn flatten_from(value: Value, level: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if level == 0 => Value::String(value.to_string()),
        Value::Array(items) => {
            items.into_iter().map(|item| flatten_from(item, level - 1)).collect()
        }
        Value::Object(fields) => {
            fields.into_iter().map(|(name, field)| (name, flatten_from(field, level - 1))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Nested lists with a nested object.
    fn nested(levels: usize) -> Value {
        let around = |inner: Value, level: usize| {
            if level == 7 { json!({"a": inner}) } else { json!([inner]) }
        };
        (1..levels).fold(json!([]), around)
    }

    #[test]
    fn deeper_levels_become_text() {
        assert!(
            is_within_depth(&nested(MAX_DEPTH), MAX_DEPTH)
                && !is_within_depth(&nested(MAX_DEPTH + 1), MAX_DEPTH)
        );
        assert!(is_within_depth(&json!("[[["), 0) && !is_within_depth(&json!({}), 0));
        assert_eq!(flatten_deep(nested(MAX_DEPTH)), nested(MAX_DEPTH));
        for levels in [MAX_DEPTH + 1, 100, 126] {
            let flat = flatten_deep(json!({ "deep": nested(levels), "more": 1 }));
            assert!(is_within_depth(&flat, MAX_DEPTH), "{levels}");
            assert_eq!(flat["more"], 1);
            assert!(
                flat.to_string().contains("[[[[") && flat.to_string().contains('"'),
                "{levels}"
            );
        }
    }
}
