//! Words as they stand where nothing draws them: in a notification, a tray, a terminal.
//!
//! Owns the way from Markdown, which models write, to the words that a reader of it sees, and from the backticks of Rouse's own
//! sentences to theirs. What is no mark stays: `snake_case`, `2 * 3` and a `#` within a line are text. It refuses to lay out:
//! a table stays as it was typed. One could get it wrong by taking every text for Markdown: what a command has answered is
//! none, and `__init__.py` is a name.

/// The text with a large first letter, as a sentence begins.
#[must_use]
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.map(|first| first + letters.as_str()).unwrap_or_default()
}

/// A sentence of Rouse's own without the backticks around what it names.
#[must_use]
pub fn without_ticks(text: &str) -> String {
    lines(text, |line| {
        let parts: Vec<&str> = line.split('`').collect();
        // The last of an odd number of backticks has none to close it.
        let is_even = parts.len() % 2 == 1;
        if is_even {
            return parts.concat();
        }
        let (last, paired) = parts.split_last().unwrap_or((&"", &[]));
        format!("{}`{last}", paired.concat())
    })
}

/// Markdown as the words that its reader sees, line by line.
#[must_use]
pub fn without_marks(text: &str) -> String {
    let shown: Vec<String> =
        text.lines().filter(|line| !is_only_marks(line)).map(|line| inline(block(line))).collect();
    shown.join("\n")
}

fn lines(text: &str, of_line: impl FnMut(&str) -> String) -> String {
    text.lines().map(of_line).collect::<Vec<_>>().join("\n")
}

/// A fence around code, or a rule across the page.
fn is_only_marks(line: &str) -> bool {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("```").or_else(|| line.strip_prefix("~~~")) {
        return !rest.contains('`');
    }
    let marks: Vec<char> = line.chars().filter(|letter| *letter != ' ').collect();
    let rules = ['-', '*', '_', '='];
    marks.len() >= 3 && rules.iter().any(|rule| marks.iter().all(|mark| mark == rule))
}

/// The line without what makes it a heading, a quotation or an entry of a list. Numbers of a list stay.
fn block(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some(quoted) = rest.strip_prefix('>') {
        rest = quoted.trim_start();
    }
    let entry = ["- ", "* ", "+ "].iter().find_map(|bullet| rest.strip_prefix(bullet));
    if let Some(entry) = entry {
        let boxes = ["[ ] ", "[x] ", "[X] "];
        let entry = entry.trim_start();
        rest = boxes.iter().find_map(|task| entry.strip_prefix(task)).unwrap_or(entry);
    }
    let heading = rest.trim_start_matches('#');
    let depth = rest.len() - heading.len();
    match heading.strip_prefix(' ') {
        Some(heading) if (1..=6).contains(&depth) => {
            let closed = heading.trim_end_matches('#');
            if closed.ends_with(' ') { closed.trim() } else { heading.trim() }
        }
        _ => rest,
    }
}

/// Marks that stand in pairs around words, the longest first.
const PAIRS: [&str; 6] = ["***", "**", "__", "~~", "*", "_"];

/// The most bytes of a line that is read: looking for the ends of marks takes the square of them.
const LONGEST: usize = 8_000;

/// The words of a line: code, links, pictures and emphasis without their marks.
fn inline(line: &str) -> String {
    if line.len() > LONGEST {
        return line.to_owned();
    }
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let before = shown.chars().next_back();
        let found = escaped(rest)
            .or_else(|| code(rest))
            .or_else(|| link(rest))
            .or_else(|| address(rest))
            .or_else(|| emphasis(rest, before));
        match found {
            Some((words, after)) => {
                shown.push_str(&words);
                rest = after;
            }
            None => {
                shown.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    shown
}

/// What a mark stands for, and what comes after it.
type Read<'t> = Option<(String, &'t str)>;

/// `\*`: the sign itself.
fn escaped(text: &str) -> Read<'_> {
    let after = text.strip_prefix('\\')?;
    let sign = after.chars().next().filter(|sign| "*_`[]#~".contains(*sign))?;
    Some((sign.to_string(), &after[1..]))
}

/// Between as many backticks as it begins with; what stands there is nobody's Markdown.
fn code(text: &str) -> Read<'_> {
    let ticks = text.len() - text.trim_start_matches('`').len();
    if ticks == 0 {
        return None;
    }
    let (mark, inside) = text.split_at(ticks);
    let end = inside.match_indices(mark).find(|(at, _)| {
        let after = &inside[at + ticks..];
        !after.starts_with('`') && !inside[..*at].ends_with('`')
    });
    end.map(|(at, _)| (inside[..at].trim().to_owned(), &inside[at + ticks..]))
}

/// `[words](address)` and `![words](address)`: the words, or without any the address.
fn link(text: &str) -> Read<'_> {
    let open = text.strip_prefix('!').unwrap_or(text).strip_prefix('[')?;
    let words_end = closing(open, '[', ']')?;
    let target = open[words_end + 1..].strip_prefix('(')?;
    let end = closing(target, '(', ')')?;
    let words = inline(&open[..words_end]);
    let address = target[..end].split(' ').next().unwrap_or_default();
    let words = if words.trim().is_empty() { address.to_owned() } else { words };
    Some((words, &target[end + 1..]))
}

/// Where the bracket that was opened before `text` is closed.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 1_u32;
    for (at, letter) in text.char_indices() {
        if letter == open {
            depth += 1;
        } else if letter == close {
            depth -= 1;
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// `<https://example.org>`, or an address as it is, in which no sign is a mark.
fn address(text: &str) -> Read<'_> {
    if text.starts_with("https://") || text.starts_with("http://") {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    }
    let (inside, after) = text.strip_prefix('<')?.split_once('>')?;
    let is_address = ["https://", "http://", "mailto:"].iter().any(|way| inside.starts_with(way));
    (is_address && !inside.contains(char::is_whitespace)).then(|| (inside.to_owned(), after))
}

/// Words between two of the same marks that touch them. An underscore within a word is a letter of it.
fn emphasis(text: &str, before: Option<char>) -> Read<'_> {
    let mark = PAIRS.iter().find(|mark| text.starts_with(**mark))?;
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let is_within = |before, after| mark.starts_with('_') && is_letter(before) && is_letter(after);
    let inside = &text[mark.len()..];
    let first = inside.chars().next()?;
    if first.is_whitespace() || mark.starts_with(first) || is_within(before, Some(first)) {
        return None;
    }
    let end = inside.match_indices(*mark).find(|(at, _)| {
        let last = inside[..*at].chars().next_back();
        let next = inside[at + mark.len()..].chars().next();
        // One of two signs is not the end of what one sign began.
        let is_part = [last, next].into_iter().flatten().any(|one| mark.starts_with(one));
        let is_part = is_part && mark.len() < 3;
        !last.is_none_or(char::is_whitespace) && !is_within(last, next) && !is_part
    });
    end.map(|(at, _)| (inline(&inside[..at]), &inside[at + mark.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_the_words_that_its_reader_sees() {
        for (written, seen) in [
            ("It **rains**. Take a *coat*.", "It rains. Take a coat."),
            ("# Mail\n\nTwo *new* ones", "Mail\n\nTwo new ones"),
            ("## Two ##", "Two"),
            ("#1 is open, and C# is a language", "#1 is open, and C# is a language"),
            ("- [ ] buy `milk`", "buy milk"),
            ("* one\n+ two\n1. three", "one\ntwo\n1. three"),
            ("> quoted\n>> twice", "quoted\ntwice"),
            ("See [the page](https://example.org/a_(b) \"title\").", "See the page."),
            (
                "![A graph](graph.png) and [](https://example.org)",
                "A graph and https://example.org",
            ),
            ("<https://example.org/a_b_c> and <b>", "https://example.org/a_b_c and <b>"),
            ("[**bold** link](x)", "bold link"),
            ("***both*** and ~~gone~~ and __under__", "both and gone and under"),
            ("**bold with *more* in it**", "bold with more in it"),
            ("*one **two** three*", "one two three"),
            ("https://example.org/_a_/*b* is up", "https://example.org/_a_/*b* is up"),
            ("run `rm *.tmp` in ``a`b``", "run rm *.tmp in a`b"),
            ("```sh\nls -l *.rs\n```", "ls -l *.rs"),
            ("above\n---\nbelow", "above\nbelow"),
            (r"2 \* 3 and \_x\_", "2 * 3 and _x_"),
            // What only looks like a mark.
            ("2 * 3 * 4 and a ** b", "2 * 3 * 4 and a ** b"),
            ("snake_case_name and _private", "snake_case_name and _private"),
            ("one ` tick and *no end", "one ` tick and *no end"),
            ("[not a link] (x) and [a](open", "[not a link] (x) and [a](open"),
            (r"C:\temp\new", r"C:\temp\new"),
            ("Grüße an *Zoë* 🌧", "Grüße an Zoë 🌧"),
            ("", ""),
        ] {
            assert_eq!(without_marks(written), seen, "{written:?}");
        }
    }

    #[test]
    fn a_sentence_of_rouses_own_loses_its_backticks_and_nothing_else() {
        for (written, seen) in [
            ("There is no tool `http` here.", "There is no tool http here."),
            ("`a` and `b_c` in **x**", "a and b_c in **x**"),
            ("one ` tick", "one ` tick"),
            ("`a` and ` tick", "a and ` tick"),
            ("`two\nlines`", "`two\nlines`"),
        ] {
            assert_eq!(without_ticks(written), seen, "{written:?}");
        }
    }

    #[test]
    fn a_sentence_begins_with_a_large_letter() {
        assert_eq!(
            ["", "x", "über Nacht", "9 days"].map(capitalised),
            ["", "X", "Über Nacht", "9 days"]
        );
    }
}
