//! Texts that somebody else may have written, as a person at a terminal reads them.
//!
//! Owns how the marks around them are shown: what stands between two is drawn beside a line, under a word about what it
//! came through.

use rouse_core::marks;

/// What stands before each line of a text from outside.
pub(super) const BESIDE: &str = "│ ";

/// The lines of `text` with its marks drawn.
pub(super) fn drawn(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(found) = marks::first(rest) {
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
