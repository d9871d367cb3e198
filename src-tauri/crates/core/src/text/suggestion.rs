//! Spelling suggestions for unknown names.
//!
//! Owns the distance bound: a wrong suggestion is worse than none.
//! Pitfall: suggesting for words of two letters, or comparing words of any length (the cost is the product of both lengths,
//! and the word may come from a model).

/// The maximum length of a word that gets a suggestion.
const LONGEST: usize = 256;

/// The word of `known` nearest to `word`, if near enough; the first of several.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    nearest_by(word, known, strsim::osa_distance)
}

/// The end of an error about an unknown `word`: the nearest of `known`, else all of them.
#[must_use]
pub fn suggest(word: &str, known: &[&str]) -> String {
    match (nearest(word, known.iter().copied()), known) {
        (Some(near), _) => format!("; did you mean `{near}`?"),
        (None, []) => "; there is none".to_owned(),
        (None, known) => format!("; there are {}", known.join(", ")),
    }
}

fn nearest_by<'k>(
    word: &str,
    known: impl IntoIterator<Item = &'k str>,
    mut distance: impl FnMut(&str, &str) -> usize,
) -> Option<&'k str> {
    let wanted = word.trim().to_lowercase();
    let length = wanted.chars().count();
    let most = match length {
        0..3 => 0,
        3..=LONGEST => (length / 4).clamp(1, 3),
        _ => return None,
    };
    let apart = |known: &'k str| {
        let lower = known.to_lowercase();
        // Each letter of length difference costs a step.
        let may_be_near = lower.chars().count().abs_diff(length) <= most;
        may_be_near.then(|| (distance(&wanted, &lower), known)).filter(|(steps, _)| *steps <= most)
    };
    known.into_iter().filter_map(apart).min_by_key(|(steps, _)| *steps).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, nearest, nearest_by};

    #[test]
    fn misspelled_word_is_suggested_and_another_is_not() {
        let meant = |word: &str| nearest(word, ["http", "json", "time", "run_command"]);
        assert_eq!(meant("htp"), Some("http"));
        assert_eq!(meant("JSON"), Some("json"));
        assert_eq!(meant("tiem"), Some("time"));
        assert_eq!(meant("runcomand"), Some("run_command"));
        for unknown in ["", "hp", "jasmine", "echo"] {
            assert_eq!(meant(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn distant_lengths_are_not_compared() {
        let long = "x".repeat(1 << 20);
        let known = ["http", "run_command", "x", long.as_str()];
        let compared = |word: &str| {
            let mut pairs = Vec::new();
            nearest_by(word, known, |a, b| {
                pairs.push((a.len(), b.len()));
                usize::MAX
            });
            pairs
        };
        assert_eq!(compared(&long), []);
        assert_eq!(compared(&long[..LONGEST + 1]), []);
        assert_eq!(compared("htp"), [(3, 4)]);
        assert_eq!(compared("runcomand"), [(9, 11)]);
    }
}
