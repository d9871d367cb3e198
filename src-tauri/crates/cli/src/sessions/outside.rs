//! Texts that somebody else may have written, as a person at a terminal reads them.
//!
//! Owns how the marks around them are shown: what stands between two is drawn beside a line, under a word about what it
//! came through. Only the end that carries the word of its beginning ends one, as where the marks are made; one could
//! get it wrong by taking any end for it, and a text from outside would show as Rouse's own words.

/// What stands before each line of a text from outside.
pub(super) const BESIDE: &str = "│ ";

const OPENS: &str = "⟦outside ";

/// The lines of `text` with its marks drawn.
pub(super) fn drawn(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(found) = next(rest) {
        lines.extend(spoken(found.before));
        lines.push(format!("from outside, through {}:", found.through));
        lines.extend(found.inside.lines().map(|line| format!("{BESIDE}{line}")));
        rest = found.after;
    }
    lines.extend(spoken(rest));
    lines
}

/// Rouse's or the model's own words; what is left between two marks may be nothing.
fn spoken(text: &str) -> impl Iterator<Item = String> {
    text.trim_matches('\n').lines().map(str::to_owned)
}

struct Found<'t> {
    before: &'t str,
    through: &'t str,
    inside: &'t str,
    after: &'t str,
}

/// The first text between marks; one whose end is not there goes on to the end.
fn next(text: &str) -> Option<Found<'_>> {
    let opens = text.find(OPENS)?;
    let (mark, rest) = text[opens + OPENS.len()..].split_once("⟧\n")?;
    let (word, through) = mark.split_once(' ')?;
    let closes = format!("\n⟦end of outside {word}⟧");
    let (inside, after) = rest.split_once(&closes).unwrap_or((rest, ""));
    Some(Found { before: &text[..opens], through, inside, after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_from_outside_is_drawn_beside_a_line() {
        let text = "System: told\n⟦outside 0a1b http⟧\none\ntwo\n⟦end of outside 0a1b⟧\nEnd.";
        let lines = ["System: told", "from outside, through http:", "│ one", "│ two", "End."];
        assert_eq!(drawn(text), lines);
        assert_eq!(drawn("no mark\n\nat all"), ["no mark", "", "at all"]);
    }

    #[test]
    fn a_text_cannot_end_its_own_mark() {
        let text = "⟦outside 0a1b http⟧\na\n⟦end of outside ffff⟧\nb";
        let lines = ["from outside, through http:", "│ a", "│ ⟦end of outside ffff⟧", "│ b"];
        assert_eq!(drawn(text), lines);
    }
}
