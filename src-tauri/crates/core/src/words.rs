//! Words as they stand where nothing draws them: in a notification, a tray, a terminal.
//!
//! Owns the way from Markdown, which models write, to the words that a reader of it sees, and from the backticks of
//! Rouse's own sentences to theirs. What is no mark stays: `snake_case`, `2 * 3` and a `#` within a line are text. What is
//! struck out is left out, for it is not said any more, and what cannot be seen goes. It refuses to lay out: a table stays
//! as it was typed. One could get it wrong by taking every text for Markdown: what a command has answered is none, and
//! `__init__.py` is a name.

use crate::visible::only_visible;

/// The text with a large first letter, as a sentence begins.
#[must_use]
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.map(|first| first + letters.as_str()).unwrap_or_default()
}

/// A number with its thousands apart: `52,310`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let head = digits.len() % 3;
    let apart = |(at, digit): (usize, char)| {
        let comma = at > 0 && at % 3 == head;
        [comma.then_some(','), Some(digit)]
    };
    digits.chars().enumerate().flat_map(apart).flatten().collect()
}

/// A text in which sizes such as `1048576 bytes` are what a person says: `1 MB`. Small ones stay as they are.
#[must_use]
pub fn with_sizes(text: &str) -> String {
    let mut parts = text.split(" bytes").peekable();
    let mut shown = String::with_capacity(text.len());
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let digits = part.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (before, number) = part.split_at(part.len() - digits);
        match number.parse::<u64>() {
            Ok(bytes @ 1_000..) if !is_last => shown.extend([before, &size(bytes)]),
            Ok(_) | Err(_) => shown.extend([part, if is_last { "" } else { " bytes" }]),
        }
    }
    shown
}

/// In the units that file managers use, with a place behind the point where that says something.
fn size(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let (unit, name) = units.into_iter().find(|(unit, _)| bytes >= *unit).unwrap_or((1, "bytes"));
    let tenths = bytes.saturating_add(unit / 20) / (unit / 10).max(1);
    match (tenths / 10, tenths % 10) {
        (whole @ 0..100, tenth @ 1..) => format!("{whole}.{tenth} {name}"),
        (0..100, 0) => format!("{} {name}", tenths / 10),
        _ => format!("{} {name}", bytes.saturating_add(unit / 2) / unit),
    }
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

/// Markdown as the words that its reader sees, line by line; code between fences as it was typed.
#[must_use]
pub fn without_marks(text: &str) -> String {
    let text = only_visible(text);
    let (mut shown, mut paragraph) = (Vec::new(), String::new());
    let mut fence = None;
    for line in text.lines() {
        if let Some(open) = fence {
            match fence_of(line) == Some(open) && is_only_marks(line, &[open]) {
                true => fence = None,
                false => shown.push(line.to_owned()),
            }
            continue;
        }
        fence = fence_of(line);
        let words = block(line);
        let has_no_words = is_only_marks(line, &RULES) || is_definition(words);
        if fence.is_some() || has_no_words {
            end(&mut paragraph, &mut shown);
            continue;
        }
        let is_longest = paragraph.len() + words.len() >= LONGEST;
        if is_longest || words.is_empty() || words != line.trim() || is_numbered(words) {
            end(&mut paragraph, &mut shown);
        }
        if words.is_empty() {
            shown.push(String::new());
        }
        if !paragraph.is_empty() {
            paragraph.push('\n');
        }
        paragraph.push_str(words);
    }
    end(&mut paragraph, &mut shown);
    shown.join("\n")
}

/// Marks reach from one line of a paragraph to the next, and no further.
fn end(paragraph: &mut String, shown: &mut Vec<String>) {
    if !paragraph.is_empty() {
        shown.push(inline(paragraph, DEPTH));
        paragraph.clear();
    }
}

fn lines(text: &str, of_line: impl FnMut(&str) -> String) -> String {
    text.lines().map(of_line).collect::<Vec<_>>().join("\n")
}

/// Signs of which a line is a rule across the page, or the underlining of a heading.
const RULES: [char; 4] = ['-', '*', '_', '='];

/// Of which sign the fence around code is that this line begins or ends.
fn fence_of(line: &str) -> Option<char> {
    let line = line.trim();
    let sign = ['`', '~'].into_iter().find(|sign| line.starts_with(&sign.to_string().repeat(3)))?;
    let is_code_within_a_line = sign == '`' && line.trim_start_matches('`').contains('`');
    (!is_code_within_a_line).then_some(sign)
}

fn is_only_marks(line: &str, signs: &[char]) -> bool {
    let marks: Vec<char> = line.chars().filter(|letter| !letter.is_whitespace()).collect();
    marks.len() >= 3 && signs.iter().any(|sign| marks.iter().all(|mark| mark == sign))
}

fn is_numbered(line: &str) -> bool {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "))
}

/// `[label]: address "title"`: where a reference leads, which nobody reads.
fn is_definition(line: &str) -> bool {
    let Some((label, rest)) = line.strip_prefix('[').and_then(|line| line.split_once("]:")) else {
        return false;
    };
    let (address, title) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest, ""));
    let title = title.trim_start();
    !label.is_empty()
        && !label.starts_with('^')
        && address.contains(['/', '#', '<', ':'])
        && (title.is_empty() || title.starts_with(['"', '\'', '(']))
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
const PAIRS: [&str; 7] = ["***", "**", "__", "~~", "*", "_", "~"];

/// The most bytes that are read together: looking for the ends of marks takes the square of them.
const LONGEST: usize = 8_000;

/// How deep marks are read within marks; below that they stay as they were typed.
const DEPTH: usize = 32;

/// The words of a paragraph: code, links, pictures and emphasis without their marks.
fn inline(text: &str, depth: usize) -> String {
    if text.len() > LONGEST || depth == 0 {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let before = shown.chars().next_back();
        let found = escaped(rest)
            .or_else(|| entity(rest))
            .or_else(|| code(rest))
            .or_else(|| link(rest, before, depth - 1))
            .or_else(|| address(rest))
            .or_else(|| emphasis(rest, before, depth - 1));
        match found {
            Some((words, after)) => {
                shown.push_str(&words);
                rest = if words.is_empty() { closed_up(&mut shown, after) } else { after };
            }
            None => {
                shown.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    shown
}

/// What goes on after something that shows nothing, without the space around it.
fn closed_up<'t>(shown: &mut String, after: &'t str) -> &'t str {
    if !shown.is_empty() && !shown.ends_with(char::is_whitespace) {
        return after;
    }
    let after = match shown.ends_with(' ') {
        true => after.trim_start_matches(' '),
        false => after.trim_start(),
    };
    if after.is_empty() || after.starts_with(['\n', '.', ',', ';', ':', '!', '?']) {
        shown.truncate(shown.trim_end().len());
    }
    after
}

/// What a mark stands for, and what comes after it.
type Read<'t> = Option<(String, &'t str)>;

/// `\*`: the sign itself.
fn escaped(text: &str) -> Read<'_> {
    let after = text.strip_prefix('\\')?;
    let sign = after.chars().next().filter(|sign| "*_`[]#~&".contains(*sign))?;
    Some((sign.to_string(), &after[1..]))
}

/// The longest name of a character is 31 letters.
const LONGEST_ENTITY: usize = 32;

/// `&amp;` or `&#38;`: the character itself, which is no mark.
fn entity(text: &str) -> Read<'_> {
    let name = text.strip_prefix('&')?;
    let end = name.bytes().take(LONGEST_ENTITY + 1).position(|letter| letter == b';')?;
    let (name, after) = (&name[..end], &name[end + 1..]);
    let number = name.strip_prefix('#');
    if !number.unwrap_or(name).bytes().all(|letter| letter.is_ascii_alphanumeric()) {
        return None;
    }
    let written = &text[..end + 2];
    let meant = html_escape::decode_html_entities(written);
    if meant != written {
        return Some((only_visible(&meant).replace('\n', " "), after));
    }
    let hex = number.and_then(|number| number.strip_prefix(['x', 'X']));
    let digits = hex.or(number).filter(|digits| !digits.is_empty())?;
    let base = if hex.is_some() { 16 } else { 10 };
    // No character has this number.
    digits.chars().all(|digit| digit.is_digit(base)).then(|| ("\u{fffd}".to_owned(), after))
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

/// `[words](address)` and `![words](address)`: the words, or without any the address. `[words][label]`: the words.
fn link(text: &str, before: Option<char>, depth: usize) -> Read<'_> {
    let open = text.strip_prefix('!').unwrap_or(text).strip_prefix('[')?;
    let words_end = closing(open, '[', ']')?;
    let words = &open[..words_end];
    let target = &open[words_end + 1..];
    if let Some(label) = target.strip_prefix('[') {
        // Behind a name it is a place in a list: `row[2][1]`.
        let is_place =
            before.is_some_and(|before| before.is_alphanumeric() || "_])".contains(before));
        let end = closing(label, '[', ']').filter(|_| !is_place && !words.trim().is_empty())?;
        return Some((inline(words, depth), &label[end + 1..]));
    }
    let target = target.strip_prefix('(')?;
    let end = closing(target, '(', ')')?;
    let words = inline(words, depth);
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

/// Words between two of the same marks that touch them; none between tildes, which strike them out. An underscore within a
/// word is a letter of it.
fn emphasis(text: &str, before: Option<char>, depth: usize) -> Read<'_> {
    let mark = PAIRS.iter().find(|mark| text.starts_with(**mark))?;
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let is_within = |before, after| mark.starts_with('_') && is_letter(before) && is_letter(after);
    let inside = &text[mark.len()..];
    let first = inside.chars().next()?;
    let strikes = mark.starts_with('~');
    if strikes && before == Some('~') {
        return None;
    }
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
    end.map(|(at, _)| {
        let words = if strikes { String::new() } else { inline(&inside[..at], depth) };
        (words, &inside[at + mark.len()..])
    })
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
            ("***both*** and __under__", "both and under"),
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
    fn what_is_struck_out_is_not_said() {
        for (written, seen) in [
            ("~~The database is gone.~~ All is well.", "All is well."),
            ("a ~~b~~ c, ~d~ e ~~f~~.", "a c, e."),
            ("**~~no~~ yes**", "yes"),
            ("~~The database\nis gone.~~\nAll is well.", "All is well."),
            ("~~gone~~", ""),
            ("~~open and ~/a and ~/b, ~5 or ~6", "~~open and ~/a and ~/b, ~5 or ~6"),
            ("`~~code~~` and \\~~x\\~~", "~~code~~ and ~~x~~"),
            ("```\n~~code~~ &amp; *x*\n```\n~~~\n__y__\n~~~", "~~code~~ &amp; *x*\n__y__"),
            ("- ~~one\n- two~~", "~~one\ntwo~~"),
            ("~~one\n\ntwo~~", "~~one\n\ntwo~~"),
        ] {
            assert_eq!(without_marks(written), seen, "{written:?}");
        }
    }

    #[test]
    fn marks_within_marks_have_a_depth() {
        let nested = |depth: usize| format!("{}x{}", "[".repeat(depth), "](y)".repeat(depth));
        assert_eq!(without_marks(&nested(32)), "x");
        for written in [
            nested(1_599),
            format!("{}x{}", "*a _b ".repeat(600), "_ *".repeat(600)),
            format!("{}x{}", "[".repeat(1_999), "][1]".repeat(1_500)),
            "[".repeat(1_999),
        ] {
            // Deep down marks stay as they were typed; the words are there in any case.
            let seen = without_marks(&written);
            assert!(seen.contains('x') == written.contains('x') && !seen.is_empty(), "{seen}");
        }
        let deep = without_marks(&nested(34));
        assert_eq!(deep, "[[x](y)](y)");
    }

    #[test]
    fn an_entity_is_what_it_stands_for_and_a_reference_its_words() {
        for (written, seen) in [
            ("Fish &amp; chips &lt; 5 &euro;, &#39;x&#x27;", "Fish & chips < 5 €, 'x'"),
            ("&#42;no mark&#42; in *a&nbsp;b*", "*no mark* in a b"),
            (
                "`&amp;` \\&amp; &amp &nosuch; &; &#; AT&T;",
                "&amp; &amp; &amp &nosuch; &; &#; AT&T;",
            ),
            ("&#0; &#xd800;", "\u{fffd} \u{fffd}"),
            ("a&#8238;b&#x200b;c&#10;d", "abc d"),
            (
                "See [the *page*][1] and [it][].\n\n[1]: https://example.org \"t\"\n[it]: <x>",
                "See the page and it.\n",
            ),
            ("a[i][1] and [x] [1]", "a[i][1] and [x] [1]"),
            ("[note]: this is said", "[note]: this is said"),
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
    fn sizes_are_said_as_a_person_says_them() {
        for (written, said) in [
            ("at most 1048576 bytes at once", "at most 1 MB at once"),
            ("524288 bytes, or 65536 bytes.", "524 kB, or 65.5 kB."),
            ("900 bytes of 2000000000 bytes", "900 bytes of 2 GB"),
            ("some bytes and 1048576", "some bytes and 1048576"),
            (" bytes", " bytes"),
            ("", ""),
        ] {
            assert_eq!(with_sizes(written), said);
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
