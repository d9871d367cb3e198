//! What must not be told: finding secrets in text.
//!
//! Owns two ways to know one. The values of stored secrets are looked for exactly, in every spelling that `known` lists;
//! what nobody has stored is told by its looks (`rules`). Both read the text through several `view`s, so that an escape or
//! a line break hides nothing. It refuses to decide what follows from a finding: that is for `incoming` and `outgoing`.
//!
//! It stops accidents and the usual encodings. Whoever spells a secret in a way of their own gets it past every list,
//! which is why a model is never told one in the first place.

mod known;
mod rules;
mod view;

#[cfg(test)]
mod corpus;

use std::ops::Range;

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
    if !known.is_empty() {
        find_known(&plain, known, &mut found);
    }
    merged(found)
}

/// The values of stored secrets alone in `text`.
pub(crate) fn find_stored(text: &str, known: &Known) -> Vec<Finding> {
    let mut found = Vec::new();
    if !known.is_empty() {
        find_known(&View::of(text), known, &mut found);
    }
    merged(found)
}

fn find_known(plain: &View<'_>, known: &Known, found: &mut Vec<Finding>) {
    let dense = plain.without_spaces();
    known.find(&dense, found);
    let kinds = [Escapes::Backslash, Escapes::Percent, Escapes::Entities];
    let alone: Vec<View<'_>> = kinds.into_iter().filter_map(|kind| dense.decoded(kind)).collect();
    // With one kind of escapes in it, that kind alone is all of them.
    if alone.len() > 1 {
        for view in &alone {
            known.find(&view.without_spaces(), found);
        }
    }
    let mut level = dense;
    while let Some(decoded) = level.decoded(Escapes::All) {
        level = decoded.without_spaces();
        known.find(&level, found);
    }
}

/// Findings in their order, without overlaps: the certain one names what they are together.
fn merged(mut found: Vec<Finding>) -> Vec<Finding> {
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
    merged
}

fn is_stronger(one: &Finding, other: &Finding) -> bool {
    let rank = |finding: &Finding| (finding.certain, finding.what.starts_with("secret:"));
    rank(one) > rank(other)
}

/// `text` with its secrets replaced by what they are; none when there are none.
pub(crate) fn redacted(text: &str, found: &[Finding]) -> Option<String> {
    found.first()?;
    let mut kept = String::with_capacity(text.len());
    let mut rest = 0;
    for finding in found {
        kept.push_str(&text[rest..finding.at.start]);
        kept.push_str("[redacted: ");
        kept.push_str(&finding.what);
        kept.push(']');
        rest = finding.at.end;
    }
    kept.push_str(&text[rest..]);
    Some(kept)
}
