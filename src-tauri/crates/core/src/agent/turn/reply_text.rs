//! The parts of a text reply: reasoning, sentinel, answer, question mark.
//!
//! Owns the tags of leading reasoning and the two sentinels (`HEARTBEAT_OK`, `ROUTINE_OK`). Never decides how a run
//! continues.
//! Pitfall: a report may quote a tag, so reasoning counts only at the beginning.

/// The tags around leading reasoning, by the chat templates of open models. A tag without an end only introduces the answer.
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

/// The answer in `text`, without leading reasoning. Unclosed reasoning leaves an empty answer.
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
    let answer = if has_reasoning { rest } else { strip_unopened_reasoning(text) };
    END_TOKENS.iter().find_map(|token| answer.trim_end().strip_suffix(token)).unwrap_or(answer)
}

/// The text behind a closing tag without an opening tag, which some chat templates add. A tag behind a space, a quote
/// or a parenthesis is quoted.
fn strip_unopened_reasoning(text: &str) -> &str {
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
    /// Only punctuation beside the sentinel.
    Alone,
    /// The rest of the reply, without the sentinel.
    Beside(String),
}

/// The sentinel in `text`, from which reasoning was removed.
pub(super) fn sentinel_in(text: &str) -> Sentinel {
    let lines: Vec<Option<String>> = text.lines().map(without_sentinel).collect();
    if lines.iter().all(Option::is_none) {
        return Sentinel::Absent;
    }
    let kept =
        text.lines().zip(lines).map(|(line, without)| without.unwrap_or_else(|| line.to_owned()));
    let rest = kept.collect::<Vec<_>>().join("\n").trim().to_owned();
    if rest.contains(char::is_alphanumeric) { Sentinel::Beside(rest) } else { Sentinel::Alone }
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

/// Question marks: Latin, full-width, Arabic, Greek, Ethiopic.
const QUESTION_MARKS: [char; 5] = ['?', '？', '؟', '\u{37E}', '፧'];

/// Whether the last character of `text` is a question mark. Whitespace, quotes, Markdown emphasis and closing brackets
/// behind the mark do not count. A fenced code block at the end is no question.
pub(super) fn ends_with_question_mark(text: &str) -> bool {
    let text = text.trim_end();
    let is_ignored = |c: char| c.is_whitespace() || "\"'`*_~)]}>»«”“‘’」』）】".contains(c);
    !text.ends_with("```") && text.trim_end_matches(is_ignored).ends_with(QUESTION_MARKS)
}

/// The line without sentinels; none for a line without a sentinel.
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

/// The range of `word` as a whole word, in any letter case.
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
    fn leading_reasoning_is_not_part_of_the_answer() {
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
    fn sentinel_is_separated_from_text() {
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

    #[test]
    fn question_mark_at_the_end_is_found() {
        for text in [
            "Shall I go on?",
            "Shall I **go on?**",
            "He asked (\"why?\")",
            "[Shall I go on?]",
            "« On continue ? »",
            "„Soll ich weitermachen?“",
            "`Shall I go on?`",
            "続けますか？",
            "「続けますか？」",
            "هل أتابع؟",
            "Να συνεχίσω\u{37E}",
            "ልቀጥል፧",
            "¿Sigo adelante?",
            "Mails are read. Shall I answer them?",
        ] {
            assert!(ends_with_question_mark(text), "{text}");
        }
    }

    #[test]
    fn question_with_text_behind_it_is_a_report() {
        for text in [
            "Why? Because it rains.",
            "Any new mail? None today. Let me know if you want the old ones.",
            "Which one is best? Pick the second.",
            "Does it rain?\n\n- Monday: yes\n- Tuesday: no",
            "He asked \"why?\" and left.",
            "See https://example.org/search?q=a",
            "Is it done? 100 %",
            "| name | size |\n|---|---|\n| a | ? |",
            "The pattern:\n```\n^colou?\n```",
            "雨ですか？いいえ。",
            "Let me know which one I should delete.",
            "Thanks!",
            "🙂",
            "",
        ] {
            assert!(!ends_with_question_mark(text), "{text}");
        }
    }
}
