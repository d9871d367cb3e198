//! What must not be told: finding secrets in text.
//!
//! Owns two ways to know one. The values of stored secrets are looked for exactly, in every spelling that `known` lists;
//! what nobody has stored is told by its looks (`rules`). Both read the text through several `view`s, so that an escape
//! or a line break hides nothing; stored values are looked for in what `encoded` stretches say as well, three layers
//! deep. The work is counted, and bounded by the text's length. It refuses to decide what follows from a finding: that is
//! for `incoming` and `outgoing`.
//!
//! It stops accidents and the usual encodings. Whoever spells a secret in a way of their own gets it past every list,
//! which is why a model is never told one in the first place.

mod clean_texts;
mod encoded;
mod known;
mod radix;
mod rules;
mod view;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod spellings;

use std::ops::Range;

use rouse_core::hidden::REDACTED;

use clean_texts::CleanTexts;
use encoded::{apart, letters, numbers};
pub(crate) use known::{Known, SHORTEST};
use rules::RULES;
use view::{Escapes, View};

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What it is: `secret:NAME` of a stored one, else the name of the rule.
    pub what: String,
    /// Whether it can hardly be anything else.
    pub certain: bool,
    /// The bytes of the text that it takes.
    pub at: Range<usize>,
}

/// All secrets in `text`, in their order; those that overlap are one.
pub(crate) fn find(text: &str, known: &Known) -> Vec<Finding> {
    let plain = View::of(text);
    let mut found = Vec::new();
    RULES.find(&plain, &mut found);
    if let Some(decoded) = plain.decoded(Escapes::All) {
        RULES.find(&decoded, &mut found);
    }
    find_whole(text, known, &mut found);
    merged(text, found)
}

/// The values of stored secrets alone in `text`.
pub(crate) fn find_stored(text: &str, known: &Known) -> Vec<Finding> {
    let mut found = Vec::new();
    find_whole(text, known, &mut found);
    merged(text, found)
}

/// The same in a piece of a text: a short value is none there.
pub(crate) fn find_within(text: &str, known: &Known) -> Vec<Finding> {
    let mut found = Vec::new();
    if !known.is_empty() {
        find_known(text, known, &mut found);
    }
    merged(text, found)
}

/// Stored values in `text`, and the short one that it is; answers how many bytes were read.
fn find_whole(text: &str, known: &Known, found: &mut Vec<Finding>) -> usize {
    if let Some(name) = known.short_one(text) {
        found.push(Finding { what: name.to_owned(), certain: true, at: 0..text.len() });
    }
    if known.is_empty() {
        return 0;
    }
    let digest = CleanTexts::digest_of(text);
    if digest.is_some_and(|digest| known.clean_texts.contains(&digest)) {
        return 0;
    }
    let before = found.len();
    let read = find_known(text, known, found);
    if let Some(digest) = digest.filter(|_| found.len() == before) {
        known.clean_texts.add(digest);
    }
    read
}

/// The same, and how many bytes were read for it.
#[cfg(test)]
fn find_stored_counting(text: &str, known: &Known) -> (Vec<Finding>, usize) {
    let mut found = Vec::new();
    let read = find_known(text, known, &mut found);
    (merged(text, found), read)
}

/// Encodings within encodings are followed so deep.
const DEEPEST: usize = 3;

/// What encodings hold is read up to so many times the text's length. A text of nothing but words, images and lock files is
/// read two or three times; one that was made to be hard to read has its outermost layers read first.
const MOST_WORK: usize = 48;

/// Reads `text` and what it holds, layer by layer; answers how many bytes that were.
fn find_known(text: &str, known: &Known, found: &mut Vec<Finding>) -> usize {
    let most = text.len().saturating_mul(MOST_WORK);
    let mut read = 0;
    let mut layer = read_through(View::of(text), known, found, &mut read);
    for _ in 0..DEEPEST {
        let mut next = Vec::new();
        for view in layer {
            if read > most {
                return read;
            }
            for inner in decoded(&view, &mut read) {
                next.extend(read_through(inner, known, found, &mut read));
            }
        }
        layer = next;
    }
    read
}

/// Reads a view in each way that white space, signs and escapes can be left out of it; answers those that may hold others.
fn read_through<'t>(
    view: View<'t>,
    known: &Known,
    found: &mut Vec<Finding>,
    read: &mut usize,
) -> Vec<View<'t>> {
    let dense = view.without_spaces();
    let mut look = |dense: &View<'t>| {
        known.find(dense, found);
        known.find_bare(dense, found);
        let mut letters = Vec::new();
        apart(dense.bytes(), &mut letters);
        *read += 2 * dense.bytes().len();
        if !letters.is_empty() {
            let letters = dense.decoded_to(&letters);
            *read += letters.bytes().len();
            known.find(&letters, found);
        }
    };
    look(&dense);
    let kinds = [Escapes::Backslash, Escapes::Percent, Escapes::Entities];
    let alone: Vec<View<'t>> = kinds.into_iter().filter_map(|kind| dense.decoded(kind)).collect();
    // With one kind of escapes in it, that kind alone is all of them.
    if alone.len() > 1 {
        alone.iter().for_each(|view| look(&view.without_spaces()));
    }
    // It says where lines go on, so it is undone while there are lines.
    if let Some(quoted) = view.decoded(Escapes::Quoted) {
        look(&quoted.without_spaces());
    }
    let mut level = dense.decoded(Escapes::All);
    while let Some(decoded) = level {
        let dense = decoded.without_spaces();
        look(&dense);
        level = dense.decoded(Escapes::All);
    }
    let mut innermost = view.decoded(Escapes::All);
    while let Some(deeper) = innermost.as_ref().and_then(|view| view.decoded(Escapes::All)) {
        innermost = Some(deeper);
    }
    std::iter::once(view).chain(innermost).collect()
}

/// What the encodings in a view hold. Lines are where a list of numbers goes on, and where a run of letters is broken.
fn decoded<'t>(view: &View<'t>, read: &mut usize) -> Vec<View<'t>> {
    let unbroken = view.without_breaks();
    let (mut runs, mut lists) = (Vec::new(), Vec::new());
    letters(unbroken.bytes(), &mut runs);
    numbers(view.bytes(), &mut lists);
    *read += view.bytes().len() + unbroken.bytes().len();
    let both = [(&unbroken, runs), (view, lists)];
    both.into_iter()
        .filter(|(_, found)| !found.is_empty())
        .map(|(view, found)| view.decoded_to(&found))
        .collect()
}

/// Findings in their order, without overlaps: the certain one names what they are together. White space around one is the
/// text's: a mark must not take the end of the line with it.
fn merged(text: &str, mut found: Vec<Finding>) -> Vec<Finding> {
    found.sort_by_key(|finding| (finding.at.start, !finding.certain));
    let mut merged: Vec<Finding> = Vec::with_capacity(found.len());
    for finding in found {
        match merged.last_mut() {
            Some(last) if finding.at.start < last.at.end => {
                last.at.end = last.at.end.max(finding.at.end);
                if is_stronger(&finding, last) {
                    last.what = finding.what;
                    last.certain = finding.certain;
                }
            }
            _ => merged.push(finding),
        }
    }
    merged.iter_mut().for_each(|finding| finding.at = within_spaces(text, finding.at.clone()));
    merged
}

fn within_spaces(text: &str, at: Range<usize>) -> Range<usize> {
    let whole = &text[at.clone()];
    let start = at.start + (whole.len() - whole.trim_start().len());
    start..start + whole.trim().len()
}

fn is_stronger(one: &Finding, other: &Finding) -> bool {
    let rank = |finding: &Finding| (finding.certain, finding.what.starts_with("secret:"));
    rank(one) > rank(other)
}

/// What stands in the place of a secret that is this.
pub(crate) fn mark(what: &str) -> String {
    format!("{REDACTED}{what}]")
}

/// `text` with its secrets replaced by what they are; none when there are none.
pub(crate) fn redacted(text: &str, found: &[Finding]) -> Option<String> {
    found.first()?;
    let mut kept = String::with_capacity(text.len());
    let mut rest = 0;
    for finding in found {
        kept.push_str(&text[rest..finding.at.start]);
        kept.push_str(&mark(&finding.what));
        rest = finding.at.end;
    }
    kept.push_str(&text[rest..]);
    Some(kept)
}
