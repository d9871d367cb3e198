//! JSON merge patches (RFC 7396).

use serde_json::Value;

/// The merge patch that turns `old` into `new`: keys that only `old` has become null.
pub(crate) fn replacement_patch(old: &Value, new: Value) -> Value {
    match (old, new) {
        (Value::Object(old), Value::Object(mut new)) => {
            for (key, value) in old {
                let patch =
                    new.remove(key).map_or(Value::Null, |new| replacement_patch(value, new));
                new.insert(key.clone(), patch);
            }
            Value::Object(new)
        }
        (_, new) => new,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replacement_removes_old_keys() {
        let old = json!({ "a": 1, "b": { "c": 2, "d": 3 }, "e": [1] });
        assert_eq!(
            replacement_patch(&old, json!({ "b": { "c": 4 }, "e": {} })),
            json!({ "a": null, "b": { "c": 4, "d": null }, "e": {} })
        );
        assert_eq!(replacement_patch(&Value::Null, json!({ "a": 1 })), json!({ "a": 1 }));
    }
}
