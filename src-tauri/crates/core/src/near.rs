//! The word that was meant by one that nothing is called.
//!
//! It refuses what is too far away: a wrong suggestion is worse than none. One could get it wrong by taking any word for
//! near to a short one, of which a letter is half.

/// The word of `known` that is spelled most like `word`, if one is near enough; the first of several.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let wanted = word.trim().to_lowercase();
    let length = wanted.chars().count();
    let most = if length < 3 { 0 } else { (length / 4).clamp(1, 3) };
    let apart = |known: &'k str| (strsim::osa_distance(&wanted, &known.to_lowercase()), known);
    let near = known.into_iter().map(apart).filter(|(distance, _)| *distance <= most);
    near.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        let meant = |word: &str| nearest(word, ["http", "json", "time", "run_command"]);
        assert_eq!(meant("htp"), Some("http"));
        assert_eq!(meant("JSON"), Some("json"));
        assert_eq!(meant("tiem"), Some("time"));
        assert_eq!(meant("runcomand"), Some("run_command"));
        for unknown in ["", "hp", "jasmine", "echo"] {
            assert_eq!(meant(unknown), None, "{unknown}");
        }
    }
}
