//! Size limits of tool results, for the model and for the journal.
//!
//! Owns the shortening of JSON values with a notice about each cut. Expects redacted values: a cut could leave half of a
//! secret. Pitfall: cutting the serialised JSON; the rest is no JSON, and the last field is lost first.

use rouse_core::text::stable_hash;
use rouse_core::tool::MAX_OUTPUT_BYTES;
use serde_json::Value;

/// Minimum bytes kept of each text.
const MIN_TEXT: usize = 400;

/// The most bytes of a notice about a cut.
const NOTICE: usize = 96;

/// The notice in the place of a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutNotice {
    /// The number of bytes or items.
    Plain,
    /// The same with a fingerprint of the whole, so that two values with different cuts differ.
    WithFingerprint,
}

/// `value` shortened to at most `most` bytes of JSON, as far as possible by shorter texts and lists. The longest texts lose
/// their middle first, then lists lose their ends; field names, numbers and short texts stay.
pub(crate) fn shortened(value: &Value, most: usize, notice: CutNotice) -> Value {
    if length(value) <= most {
        return value.clone();
    }
    // A binary search for the longest text that fits.
    let (mut low, mut high) = (MIN_TEXT, most.max(MIN_TEXT));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if length(&cut_texts(value, middle, notice)) <= most {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let texts = cut_texts(value, low, notice);
    let mut items = usize::MAX;
    let mut fitted = texts.clone();
    while length(&fitted) > most && items > 0 {
        items = items.min(longest_list(&texts)) / 2;
        fitted = cut_lists(&texts, items, notice);
    }
    fitted
}

fn length(value: &Value) -> usize {
    value.to_string().len()
}

/// `value` with no text longer than `most` bytes.
fn cut_texts(value: &Value, most: usize, notice: CutNotice) -> Value {
    match value {
        Value::String(text) => Value::String(cut_middle(text, most, notice)),
        Value::Array(items) => items.iter().map(|item| cut_texts(item, most, notice)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), cut_texts(field, most, notice)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn cut_middle(text: &str, most: usize, notice: CutNotice) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let half = most.saturating_sub(NOTICE) / 2;
    let (begin, end) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    let notice = notice_text(&format!("{} bytes or more left out", end - begin), text, notice);
    format!("{}\n{notice}\n{}", &text[..begin], &text[end..])
}

/// `value` with no list longer than `most`.
fn cut_lists(value: &Value, most: usize, notice: CutNotice) -> Value {
    match value {
        Value::Array(items) => {
            let mut kept: Vec<Value> =
                items.iter().take(most).map(|item| cut_lists(item, most, notice)).collect();
            if items.len() > most {
                let more = format!("{} more left out", items.len() - most);
                kept.push(Value::String(notice_text(&more, &value.to_string(), notice)));
            }
            Value::Array(kept)
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), cut_lists(field, most, notice)))
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

fn notice_text(what: &str, whole: &str, notice: CutNotice) -> String {
    match notice {
        CutNotice::Plain => format!("… (cut: {what}) …"),
        CutNotice::WithFingerprint => {
            format!("… (cut: {what}, fingerprint {:016x}) …", stable_hash(whole.as_bytes()))
        }
    }
}

/// The first `most` bytes of `text`, with a notice if that is not all.
pub(crate) fn capped(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}\n… (cut: this is the beginning, {end} of {} bytes)", &text[..end], text.len())
}

/// `value` in the size of a journal entry.
pub(crate) fn for_journal(value: &Value) -> Value {
    shortened(value, MAX_OUTPUT_BYTES, CutNotice::Plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn capped_text_has_a_notice_and_whole_characters() {
        assert_eq!(capped("abc", 3), "abc");
        assert_eq!(capped("aéb", 2), "a\n… (cut: this is the beginning, 1 of 4 bytes)");
    }

    #[test]
    fn journal_keeps_small_values() {
        let small = json!({"a": [1, 2]});
        assert_eq!(for_journal(&small), small);
        let large = json!({"a": "x".repeat(MAX_OUTPUT_BYTES)});
        assert!(for_journal(&large)["a"].as_str().is_some_and(|text| text.contains("cut")));
    }

    const MOST: usize = 4_096;

    fn fit(value: &Value) -> Value {
        let fitted = shortened(value, MOST, CutNotice::Plain);
        assert!(length(&fitted) <= MOST, "{}", length(&fitted));
        fitted
    }

    #[test]
    fn small_value_is_unchanged() {
        let value = json!({ "a": ["x".repeat(3_000), 1, null] });
        assert_eq!(fit(&value), value);
    }

    #[test]
    fn longest_text_loses_its_middle() {
        let stdout = format!("first{}last", "\n".repeat(9_000));
        let fitted = fit(&json!({ "stdout": stdout, "stderr": "3 failed", "exitCode": 7 }));
        assert_eq!((&fitted["stderr"], &fitted["exitCode"]), (&json!("3 failed"), &json!(7)));
        let stdout = fitted["stdout"].as_str().expect("a text");
        assert!(stdout.starts_with("first\n") && stdout.ends_with("\nlast"), "{stdout}");
        assert!(stdout.contains("bytes or more left out"), "{stdout}");
        // The limit is used up.
        assert!(length(&fitted) > MOST - 200, "{}", length(&fitted));
    }

    #[test]
    fn list_of_short_items_loses_its_end() {
        let rows: Vec<Value> = (0..900).map(|row| json!({ "row": row })).collect();
        let fitted = fit(&json!({ "rows": rows, "total": 900 }));
        let rows = fitted["rows"].as_array().expect("a list");
        assert_eq!((&rows[0]["row"], &fitted["total"]), (&json!(0), &json!(900)));
        assert!(rows.last().and_then(Value::as_str).is_some_and(|said| said.contains("more")));
    }

    #[test]
    fn fingerprint_tells_different_cuts_apart() {
        let large =
            |middle: &str| json!(format!("{}{middle}{}", "x".repeat(5_000), "y".repeat(5_000)));
        let known = |value: &Value| shortened(value, MOST, CutNotice::WithFingerprint);
        assert_eq!(known(&large("a")), known(&large("a")));
        assert_ne!(known(&large("a")), known(&large("b")));
        let rows = |last: i32| json!((0..3_000).chain([last]).collect::<Vec<_>>());
        assert_eq!(known(&rows(1)), known(&rows(1)));
        assert_ne!(known(&rows(1)), known(&rows(2)));
    }

    #[test]
    fn cut_keeps_characters_whole() {
        for text in ["é".repeat(4_000), "a".to_owned() + &"é".repeat(4_000)] {
            assert!(fit(&json!({ "text": text }))["text"].is_string());
        }
    }
}
