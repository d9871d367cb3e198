//! The parts of a reply in words: reasoning, sentinel, answer.
//!
//! Owns the tags of leading reasoning and the two sentinels (`HEARTBEAT_OK`, `ROUTINE_OK`). Never decides how a run goes on
//! (the turn does). Pitfall: a report may quote a tag in a sentence, so reasoning counts only at the beginning.

/// The tags around leading reasoning, by the chat templates of open models. A tag without an end only leads in.
pub const REASONING_TAGS: [(&str, &str); 11] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|start|>assistant", ""),
    ("<|channel|>final<|message|>", ""),
];

/// The tokens that end an answer in the chat template of gpt-oss.
const END_TOKENS: [&str; 2] = ["<|return|>", "<|end|>"];

const SENTINELS: [&str; 2] = ["HEARTBEAT_OK", "ROUTINE_OK"];

/// What of `text` is the answer: all of it, where it does not begin with reasoning. Reasoning that never ends leaves nothing.
#[must_use]
pub fn answer_in<'t>(text: &'t str) -> &'t str {
    let mut rest = text.trim_start();
    let mut has_reasoning = false;
    let opened = |rest: &'t str| {
        REASONING_TAGS
            .iter()
            .find_map(|(open, close)| rest.strip_prefix(open).map(|inside| (inside, *close)))
    };
    while let Some((inside, close)) = opened(rest) {
        rest = inside.split_once(close).map_or("", |(_, answer)| answer.trim_start());
        has_reasoning = true;
    }
    let answer = if has_reasoning { rest } else { without_unopened(text) };
    END_TOKENS.iter().find_map(|token| answer.trim_end().strip_suffix(token)).unwrap_or(answer)
}

/// The text behind a closing tag that was never opened: some chat templates write the opening tag themselves. A tag behind
/// a space, a quote or a parenthesis is a quoted one.
fn without_unopened(text: &str) -> &str {
    let closing =
        REASONING_TAGS.iter().filter(|(_, close)| close.len() > 2).find_map(|(open, close)| {
            let (reasoning, answer) = text.split_once(close)?;
            let is_quoted = reasoning.ends_with([' ', '`', '"', '\'', '(', '“', '„']);
            (!is_quoted && !reasoning.contains(open)).then_some(answer)
        });
    closing.map_or(text, str::trim_start)
}

/// A sentinel in a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sentinel {
    Absent,
    /// Nothing but punctuation is beside it.
    Alone,
    /// The rest of the reply, without it.
    Beside(String),
}

/// The sentinel in `text`, which holds no reasoning any more.
pub(super) fn sentinel_in(text: &str) -> Sentinel {
    let lines: Vec<Option<String>> = text.lines().map(without_sentinel).collect();
    if lines.iter().all(Option::is_none) {
        return Sentinel::Absent;
    }
    let kept =
        text.lines().zip(lines).map(|(line, without)| without.unwrap_or_else(|| line.to_owned()));
    let rest = kept.collect::<Vec<_>>().join("\n").trim().to_owned();
    match rest.contains(char::is_alphanumeric) {
        true => Sentinel::Beside(rest),
        false => Sentinel::Alone,
    }
}

/// `text` without reasoning and sentinels.
pub(super) fn plain_words(text: &str) -> String {
    let answer = answer_in(text);
    match sentinel_in(answer) {
        Sentinel::Absent => answer.trim().to_owned(),
        Sentinel::Alone => String::new(),
        Sentinel::Beside(rest) => rest,
    }
}

/// The line without its sentinels; none where it has none.
fn without_sentinel(line: &str) -> Option<String> {
    // Markdown may escape the underscore.
    let mut rest = line.replace("\\_", "_");
    let mut is_found = false;
    while let Some((start, end)) = SENTINELS.iter().find_map(|word| position_of(&rest, word)) {
        is_found = true;
        let is_mark = |c: char| matches!(c, '*' | '_' | '`' | '"' | '.' | '!' | ',' | ';' | ':');
        let before = rest[..start].trim_end_matches(['*', '_', '`', '"']).trim_end().to_owned();
        let behind = rest[end..].trim_start_matches(is_mark).trim_start();
        let space = if before.is_empty() || behind.is_empty() { "" } else { " " };
        rest = format!("{before}{space}{behind}");
    }
    is_found.then_some(rest)
}

/// Where `word` stands as a word of its own, whatever its case.
fn position_of(line: &str, word: &str) -> Option<(usize, usize)> {
    let upper = line.to_ascii_uppercase();
    upper.match_indices(word).map(|(at, _)| (at, at + word.len())).find(|(start, end)| {
        !line[..*start].ends_with(char::is_alphanumeric)
            && !line[*end..].starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_reasoning_is_no_part_of_the_answer() {
        for (text, answer) in [
            ("Hello.", "Hello."),
            ("<think>a</think>Hello.", "Hello."),
            ("\n<think>\na\n</think>\n\nHello.", "Hello."),
            ("<think>a</think><think>b</think> Hello.", "Hello."),
            ("<think>never ends", ""),
            ("I think.\n</think>\n\nHello.", "Hello."),
            ("I think so.</think>Hello.", "Hello."),
            ("[THINK]a[/THINK]Hello.", "Hello."),
            (
                "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
                "Hello.",
            ),
            ("<|channel|>analysis<|message|>never ends", ""),
            ("The tag </think> ends it.", "The tag </think> ends it."),
            ("It ends with `</think>`.", "It ends with `</think>`."),
            ("Use <think>: <think>x</think>", "Use <think>: <think>x</think>"),
        ] {
            assert_eq!(answer_in(text), answer, "{text:?}");
        }
    }

    #[test]
    fn sentinel_is_told_from_text_beside_it() {
        for alone in [
            "HEARTBEAT_OK",
            " **ROUTINE_OK**.\n",
            "✅ heartbeat_ok",
            "HEARTBEAT\\_OK",
            "`HEARTBEAT_OK`\nHEARTBEAT_OK",
        ] {
            assert_eq!(sentinel_in(alone), Sentinel::Alone, "{alone:?}");
        }
        for absent in ["", "HEARTBEAT_OKAY", "All is well.", "MY_HEARTBEAT_OK9"] {
            assert_eq!(sentinel_in(absent), Sentinel::Absent, "{absent:?}");
        }
        for (text, rest) in [
            ("HEARTBEAT_OK but the disk is full", "but the disk is full"),
            ("The disk is full. ROUTINE_OK", "The disk is full."),
            ("The disk is full.\n\n**HEARTBEAT_OK**", "The disk is full."),
            ("HEARTBEAT_OK: 3 mails came", "3 mails came"),
        ] {
            assert_eq!(sentinel_in(text), Sentinel::Beside(rest.to_owned()), "{text:?}");
        }
    }
}
