//! The values of stored secrets, in all encodings of a text.
//!
//! Owns the recognised encodings: raw, JSON-escaped, URL-escaped, hexadecimal, and base64 at three alignments, each
//! without regard to ASCII case. A single automaton finds all values in a single pass. Pitfall: base64 of a value
//! depends on the surrounding bytes. Only the letters that the value alone decides are searched for, and the letters
//! beside a match are redacted too.

use std::fmt;
use std::fmt::Write as _;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::finding::LeakFinding;

/// The fewest bytes by which a value is recognised inside a longer text.
pub(crate) const SHORTEST_VALUE: usize = 8;

/// Letters of base64 beside a match that carry bits of the value.
const BASE64_EDGE: usize = 2;

/// Characters beside letters and digits that encoders of URLs leave alone: RFC 3986, `encodeURIComponent`, `encodeURI`.
const URL_PLAIN: [&str; 3] = ["-._~", "-._~!'()*", "-._~!'()*:/?#[]@$&+,;="];

/// The values to search for.
pub(crate) struct StoredValues {
    automaton: AhoCorasick,
    needles: Vec<Needle>,
    /// Values of fewer than [`SHORTEST_VALUE`] bytes with names. Inside a longer text, such values would match by
    /// chance.
    short: Vec<(String, String)>,
}

struct Needle {
    name: String,
    bytes: Vec<u8>,
    is_base64: bool,
}

impl StoredValues {
    /// Searches for these (name, value) pairs.
    pub(crate) fn new<'s>(secrets: impl Iterator<Item = (&'s str, &'s str)>) -> Self {
        let (mut needles, mut short) = (Vec::new(), Vec::new());
        for (name, value) in secrets {
            let (name, value) = (format!("secret:{name}"), value.trim());
            if value.len() >= SHORTEST_VALUE {
                needles.extend(needles_of(&name, value));
            } else if !value.is_empty() {
                short.push((name, value.to_owned()));
            }
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .ascii_case_insensitive(true)
            .build(needles.iter().map(|needle| &needle.bytes))
            .expect("BUG: some dozens of needles for each secret fit into an automaton");
        Self { automaton, needles, short }
    }

    /// Whether there is no value that a text could hold inside.
    pub(crate) const fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Whether there are values that count only as a whole text.
    pub(crate) const fn has_short(&self) -> bool {
        !self.short.is_empty()
    }

    /// The name of the short value that `text` is. `4711.0` is the number `4711`.
    pub(crate) fn short_value(&self, text: &str) -> Option<&str> {
        let text = text.trim();
        let whole = text.split_once('.').filter(|(_, fraction)| {
            !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0')
        });
        let whole = whole.map_or(text, |(whole, _)| whole);
        let is_value = |value: &str| value == text || value == whole;
        self.short.iter().find(|(_, value)| is_value(value)).map(|(name, _)| name.as_str())
    }

    /// The values inside `text`, in order.
    pub(in crate::safety) fn find(&self, text: &str) -> Vec<LeakFinding> {
        let bytes = text.as_bytes();
        let mut found: Vec<LeakFinding> = Vec::new();
        for hit in self.automaton.find_iter(text) {
            let needle = &self.needles[hit.pattern().as_usize()];
            let (mut start, mut end) = (hit.start(), hit.end());
            if needle.is_base64 {
                let is_letter = |byte: &&u8| is_base64_letter(**byte);
                let before = bytes[..start].iter().rev().take(BASE64_EDGE).take_while(is_letter);
                start -= before.count();
                end += bytes[end..].iter().take(BASE64_EDGE).take_while(is_letter).count();
                end +=
                    bytes[end..].iter().take(BASE64_EDGE).take_while(|byte| **byte == b'=').count();
            }
            match found.last_mut().filter(|last| start < last.at.end) {
                Some(last) => last.at.end = last.at.end.max(end),
                None => {
                    found.push(LeakFinding {
                        what: needle.name.clone(),
                        certain: true,
                        at: start..end,
                    });
                }
            }
        }
        found
    }

    /// The byte at which the longest end of `text` begins that more text could complete to a value; the length of `text`
    /// if there is none.
    pub(crate) fn partial_start(&self, text: &str) -> usize {
        let bytes = text.as_bytes();
        let longest = self.needles.iter().map(|needle| needle.bytes.len()).max().unwrap_or(0);
        let begins_needle = |at: &usize| {
            let end = &bytes[*at..];
            self.needles.iter().any(|needle| {
                needle.bytes.get(..end.len()).is_some_and(|part| part.eq_ignore_ascii_case(end))
            })
        };
        let first = text.ceil_char_boundary(bytes.len().saturating_sub(longest));
        (first..bytes.len())
            .filter(|at| text.is_char_boundary(*at))
            .find(begins_needle)
            .unwrap_or(bytes.len())
    }
}

impl fmt::Debug for StoredValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredValues").finish_non_exhaustive()
    }
}

fn needles_of(name: &str, value: &str) -> Vec<Needle> {
    let mut texts = vec![value.to_owned(), hexadecimal(value, ""), hexadecimal(value, "%")];
    texts.extend(json_escapes(value));
    texts.extend(URL_PLAIN.iter().flat_map(|plain| url_escapes(value, plain)));
    texts.sort_unstable();
    texts.dedup();
    let texts = texts.into_iter().map(|text| (text.into_bytes(), false));
    let all = texts.chain(base64_cores(value).into_iter().map(|core| (core, true)));
    all.map(|(bytes, is_base64)| Needle { name: name.to_owned(), bytes, is_base64 }).collect()
}

/// As JSON encoders write `value`: the least escapes, or ASCII alone without the signs of HTML, each also with `\/`.
fn json_escapes(value: &str) -> [String; 4] {
    let quoted = serde_json::Value::from(value).to_string();
    let least = &quoted[1..quoted.len() - 1];
    let mut ascii = String::with_capacity(least.len());
    for letter in least.chars() {
        if letter.is_ascii() && !"<>&'".contains(letter) {
            ascii.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                write!(ascii, "\\u{unit:04x}").expect("BUG: writing into a string does not fail");
            }
        }
    }
    let [least_slash, ascii_slash] = [least, &ascii].map(|text| text.replace('/', "\\/"));
    [least.to_owned(), least_slash, ascii, ascii_slash]
}

/// `value` with all but letters, digits and `plain` escaped, with a space as `%20` and as `+`.
fn url_escapes(value: &str, plain: &str) -> [String; 2] {
    let mut escaped = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || plain.as_bytes().contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            write!(escaped, "%{byte:02x}").expect("BUG: writing into a string does not fail");
        }
    }
    let form = escaped.replace("%20", "+");
    [escaped, form]
}

fn hexadecimal(value: &str, before_each: &str) -> String {
    value.bytes().map(|byte| format!("{before_each}{byte:02x}")).collect()
}

/// The base64 letters that `value` alone decides, for each of the three positions in a group of three bytes, in both
/// alphabets.
fn base64_cores(value: &str) -> Vec<Vec<u8>> {
    let mut cores = Vec::new();
    for before in 0..3 {
        let bytes = [&[0; 2][..before], value.as_bytes()].concat();
        let letters = STANDARD_NO_PAD.encode(&bytes);
        let core = &letters[(before * 8).div_ceil(6)..bytes.len() * 8 / 6];
        cores.push(core.as_bytes().to_vec());
        let url_safe = core.replace('+', "-").replace('/', "_");
        if url_safe != core {
            cores.push(url_safe.into_bytes());
        }
    }
    cores
}

const fn is_base64_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use proptest::prelude::*;

    use super::*;
    use crate::safety::leak::{find, find_stored};
    use crate::safety::redaction::redacted;

    const VALUE: &str = "hunter2/Zz+9! é<\"x";

    fn redact(value: &str, text: &str) -> Option<String> {
        let stored = StoredValues::new([("mail", value)].into_iter());
        redacted(text, &find(text, &stored))
    }

    fn encodings(value: &str) -> Vec<String> {
        let json = serde_json::json!(value).to_string();
        let mut all = vec![
            value.to_owned(),
            value.to_ascii_uppercase(),
            value.to_ascii_lowercase(),
            json[1..json.len() - 1].to_owned(),
            hexadecimal(value, ""),
            hexadecimal(value, "").to_uppercase(),
            hexadecimal(value, "%").to_uppercase(),
            url_escapes(value, "-._~")[0].to_uppercase(),
        ];
        for before in ["", "a", "ab"] {
            all.push(STANDARD.encode(format!("{before}{value}")));
            all.push(URL_SAFE.encode(format!("{before}{value}")));
        }
        all
    }

    #[test]
    fn stored_value_is_replaced_by_its_name() {
        let text = redact(VALUE, &format!("Use {VALUE}, please."));
        assert_eq!(text.as_deref(), Some("Use [redacted: secret:mail], please."));
        assert_eq!(redact(VALUE, "Use hunter2."), None);
    }

    #[test]
    fn listed_encodings_of_a_value_are_redacted() {
        for encoding in encodings(VALUE) {
            let text = redact(VALUE, &format!("a {encoding} b")).expect("a finding");
            let (before, after) = text.split_once("[redacted: secret:mail]").expect("one mark");
            // Of base64, a letter before the value may stay.
            assert!(before.len() <= 3 && after == " b", "{encoding}: {text}");
        }
        let json = r#"{"a":"hunter2\/Zz+9! \u00E9\u003c\"x"}"#;
        assert_eq!(redact(VALUE, json).as_deref(), Some(r#"{"a":"[redacted: secret:mail]"}"#));
        let form = "q=hunter2%2FZz%2B9%21+%C3%A9%3C%22x&b";
        assert_eq!(redact(VALUE, form).as_deref(), Some("q=[redacted: secret:mail]&b"));
    }

    #[test]
    fn base64_letters_beside_a_value_are_redacted() {
        let stored = StoredValues::new([("mail", "hunter2hunter2")].into_iter());
        for (before, after) in [("user:", ""), ("u:", "@x"), ("us:", "!!")] {
            let text = STANDARD.encode(format!("{before}hunter2hunter2{after}"));
            let found = find_stored(&text, &stored);
            let [finding] = found.as_slice() else { panic!("{text}: {found:?}") };
            let left = [&text[..finding.at.start], &text[finding.at.end..]].concat();
            assert!(left.len() <= 8, "{text}: {left}");
        }
    }

    #[test]
    fn short_value_counts_only_as_a_whole_text() {
        assert_eq!(redact("4711", "flight 4711 to Rome"), None);
        assert_eq!(redact("4711", " 4711\n").as_deref(), Some(" [redacted: secret:mail]\n"));
        assert_eq!(redact("4711", "4711.00").as_deref(), Some("[redacted: secret:mail]"));
        assert_eq!(redact("4711", "4711.5"), None);
        assert_eq!(redact(" \n", "anything"), None);
    }

    #[test]
    fn adjacent_values_are_each_redacted() {
        let secrets = [("a", "marigold-63"), ("b", "marigold-63-Rumba")];
        let stored = StoredValues::new(secrets.into_iter());
        let text = "marigold-63-Rumbamarigold-63";
        let redacted = redacted(text, &find(text, &stored));
        assert_eq!(redacted.as_deref(), Some("[redacted: secret:b][redacted: secret:a]"));
    }

    #[test]
    fn partial_start_is_the_first_byte_of_an_open_value() {
        let stored = StoredValues::new([("mail", "marigold-63")].into_iter());
        for (text, start) in
            [("a marig", 2), ("a MARI", 2), ("a marigolds", 11), ("é m", 3), ("mama", 2), ("", 0)]
        {
            assert_eq!(stored.partial_start(text), start, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_listed_encoding_survives(value in "[ -~é]{8,40}", pick in 0_usize..14) {
            prop_assume!(value.trim().len() >= SHORTEST_VALUE && value == value.trim());
            let text = encodings(&value)[pick].clone();
            let text = redact(&value, &format!("x {text} y"));
            let text = text.expect("a finding");
            prop_assert!(text.starts_with("x ") && text.ends_with(" y"));
            prop_assert!(!text.contains(&value));
        }
    }
}
