//! A value that takes no more than so many bytes, in the shape it came in.
//!
//! Owns which parts give way, and says so where they stood: of the texts the longest lose their middle first, because how
//! something began and how it ended is what somebody looks for; then lists lose their ends. Names, numbers and short texts
//! stay, so that whoever reads `exitCode` or `nextOffset`, a model or a condition, finds it. One could get it wrong by
//! cutting the JSON: what is left of it is no JSON, and the last field is lost first. It is made of what the safety layer
//! has been through, or half of a secret would be left.

use rouse_core::stable_hash::stable_hash;
use serde_json::Value;

/// What no text is made shorter than.
const LEAST: usize = 400;

/// What the words about a cut take, at most.
const MARK: usize = 96;

/// How a cut is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// That there was more.
    Said,
    /// The same with a fingerprint of the whole, so that two values that differ in what was cut still differ.
    Known,
}

/// `value` in at most `most` bytes of JSON, as far as shortening texts and lists can do it.
pub(crate) fn fitted(value: &Value, most: usize, cut: Cut) -> Value {
    if length(value) <= most {
        return value.clone();
    }
    // The longest text that still fits, by halves: a text that is cut in JSON is as long as it is in bytes, or longer.
    let (mut low, mut high) = (LEAST, most.max(LEAST));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if length(&with_texts(value, middle, cut)) <= most {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let texts = with_texts(value, low, cut);
    let mut items = usize::MAX;
    let mut fitted = texts.clone();
    while length(&fitted) > most && items > 0 {
        items = items.min(longest_list(&texts)) / 2;
        fitted = with_lists(&texts, items, cut);
    }
    fitted
}

fn length(value: &Value) -> usize {
    value.to_string().len()
}

/// The same with no text longer than `most` bytes.
fn with_texts(value: &Value, most: usize, cut: Cut) -> Value {
    match value {
        Value::String(text) => Value::String(middle_out(text, most, cut)),
        Value::Array(items) => items.iter().map(|item| with_texts(item, most, cut)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), with_texts(field, most, cut)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn middle_out(text: &str, most: usize, cut: Cut) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let half = most.saturating_sub(MARK) / 2;
    let (begin, end) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    let said = told(&format!("{} bytes or more left out", end - begin), text, cut);
    format!("{}\n{said}\n{}", &text[..begin], &text[end..])
}

/// The same with no list longer than `most`.
fn with_lists(value: &Value, most: usize, cut: Cut) -> Value {
    match value {
        Value::Array(items) => {
            let mut kept: Vec<Value> =
                items.iter().take(most).map(|item| with_lists(item, most, cut)).collect();
            if items.len() > most {
                let more = format!("{} more left out", items.len() - most);
                kept.push(Value::String(told(&more, &value.to_string(), cut)));
            }
            Value::Array(kept)
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), with_lists(field, most, cut)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn longest_list(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(longest_list).fold(items.len(), usize::max),
        Value::Object(fields) => fields.values().map(longest_list).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn told(what: &str, whole: &str, cut: Cut) -> String {
    match cut {
        Cut::Said => format!("… (cut: {what}) …"),
        Cut::Known => {
            format!("… (cut: {what}, fingerprint {:016x}) …", stable_hash(whole.as_bytes()))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MOST: usize = 4_096;

    fn fit(value: &Value) -> Value {
        let fitted = fitted(value, MOST, Cut::Said);
        assert!(length(&fitted) <= MOST, "{}", length(&fitted));
        fitted
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let value = json!({ "a": ["x".repeat(3_000), 1, null] });
        assert_eq!(fit(&value), value);
    }

    #[test]
    fn the_longest_texts_lose_their_middle_and_nothing_else_changes() {
        let stdout = format!("first{}last", "\n".repeat(9_000));
        let fitted = fit(&json!({ "stdout": stdout, "stderr": "3 failed", "exitCode": 7 }));
        assert_eq!((&fitted["stderr"], &fitted["exitCode"]), (&json!("3 failed"), &json!(7)));
        let stdout = fitted["stdout"].as_str().expect("a text");
        assert!(stdout.starts_with("first\n") && stdout.ends_with("\nlast"), "{stdout}");
        assert!(stdout.contains("bytes or more left out"), "{stdout}");
        // As much is left as there is room for.
        assert!(length(&fitted) > MOST - 200, "{}", length(&fitted));
    }

    #[test]
    fn lists_lose_their_ends_when_texts_are_short_already() {
        let rows: Vec<Value> = (0..900).map(|row| json!({ "row": row })).collect();
        let fitted = fit(&json!({ "rows": rows, "total": 900 }));
        let rows = fitted["rows"].as_array().expect("a list");
        assert_eq!((&rows[0]["row"], &fitted["total"]), (&json!(0), &json!(900)));
        assert!(rows.last().and_then(Value::as_str).is_some_and(|said| said.contains("more")));
    }

    #[test]
    fn a_change_in_what_was_cut_is_still_a_change_where_that_is_asked_for() {
        let large =
            |middle: &str| json!(format!("{}{middle}{}", "x".repeat(5_000), "y".repeat(5_000)));
        let known = |value: &Value| fitted(value, MOST, Cut::Known);
        assert_eq!(known(&large("a")), known(&large("a")));
        assert_ne!(known(&large("a")), known(&large("b")));
        let rows = |last: i32| json!((0..3_000).chain([last]).collect::<Vec<_>>());
        assert_eq!(known(&rows(1)), known(&rows(1)));
        assert_ne!(known(&rows(1)), known(&rows(2)));
    }

    #[test]
    fn no_character_is_cut_in_two() {
        for text in ["é".repeat(4_000), "a".to_owned() + &"é".repeat(4_000)] {
            assert!(fit(&json!({ "text": text }))["text"].is_string());
        }
    }
}
