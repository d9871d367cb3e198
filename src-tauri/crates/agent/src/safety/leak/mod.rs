//! The places of secrets in a text.
//!
//! Owns two detectors: `stored_values` finds the values of stored secrets, `rules` finds key-shaped texts. Never
//! decides the consequence of a finding: `redaction`, `untrusted_input` and `egress` do. Pitfall: an encoding that is
//! not listed in `stored_values` passes. The defence against a model that hides a secret on purpose is the approval of
//! egress.

mod finding;
mod rules;
mod stored_values;

#[cfg(test)]
mod corpus;

pub(crate) use finding::LeakFinding;
use rules::RULES;
pub(crate) use stored_values::{SHORTEST_VALUE, StoredValues};

/// All secrets in `text`, in order. Overlapping findings are merged.
pub(crate) fn find(text: &str, stored: &StoredValues) -> Vec<LeakFinding> {
    let mut found = find_stored(text, stored);
    RULES.find(text, &mut found);
    if text.contains('\\') {
        let (plain, places) = without_json_escapes(text);
        let mut in_plain = Vec::new();
        RULES.find(&plain, &mut in_plain);
        found.extend(in_plain.into_iter().map(|finding| LeakFinding {
            at: places[finding.at.start]..places[finding.at.end],
            ..finding
        }));
    }
    merged(text, found)
}

/// `text` without JSON's single-letter escapes, so that a rule sees quotes and the edges of words; and for each byte of
/// the result, and the end, the place in `text`.
fn without_json_escapes(text: &str) -> (String, Vec<usize>) {
    let (mut plain, mut places) = (String::with_capacity(text.len()), Vec::new());
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let escaped = letters.next_if(|(_, next)| letter == '\\' && "nrtbf\"\\/".contains(*next));
        plain.push(match escaped {
            None => letter,
            Some((_, 'n' | 'r' | 't' | 'b' | 'f')) => '\n',
            Some((_, sign)) => sign,
        });
        places.resize(plain.len(), at);
    }
    places.push(text.len());
    (plain, places)
}

/// Stored values in `text`, in order. A short value counts only if `text` is nothing else.
pub(crate) fn find_stored(text: &str, stored: &StoredValues) -> Vec<LeakFinding> {
    match stored.short_value(text) {
        Some(name) => vec![LeakFinding { what: name.to_owned(), certain: true, at: 0..text.len() }],
        None => stored.find(text),
    }
}

/// Merges overlapping findings; a stored value gives the name. White space at the edges is no part of a finding.
fn merged(text: &str, mut found: Vec<LeakFinding>) -> Vec<LeakFinding> {
    let rank = |finding: &LeakFinding| (finding.certain, finding.what.starts_with("secret:"));
    found.sort_by_key(|finding| (finding.at.start, !finding.certain));
    let mut merged: Vec<LeakFinding> = Vec::with_capacity(found.len());
    for finding in found {
        match merged.last_mut() {
            Some(last) if finding.at.start < last.at.end => {
                last.at.end = last.at.end.max(finding.at.end);
                if rank(&finding) > rank(last) {
                    last.what = finding.what;
                    last.certain = finding.certain;
                }
            }
            _ => merged.push(finding),
        }
    }
    for LeakFinding { at, .. } in &mut merged {
        let secret = &text[at.clone()];
        at.start += secret.len() - secret.trim_start().len();
        at.end = at.start + secret.trim().len();
    }
    merged
}
