//! The content of HEARTBEAT.md: tasks, or only the frame of a list.

/// Whether the list has tasks. Headings, comments and check boxes without text are no tasks.
pub(crate) fn has_tasks(list: &str) -> bool {
    let list = without_comments(list.trim_start_matches('\u{feff}'));
    let lines: Vec<&str> = list.lines().map(str::trim).collect();
    (0..lines.len()).any(|at| {
        let is_underlined = lines.get(at + 1).is_some_and(|next| is_underline(next));
        let is_frame = is_heading(lines[at]) || is_underline(lines[at]) || is_underlined;
        !is_frame && !without_check_box(without_bullet(lines[at])).is_empty()
    })
}

/// Whether the line makes a heading of the line above (CommonMark, 4.3). A line of dashes is empty anyway.
fn is_underline(line: &str) -> bool {
    !line.is_empty() && line.chars().all(|c| c == '=')
}

/// A line without the list marker: `-`, `*`, `+`, or a number with `.` or `)`.
fn without_bullet(line: &str) -> &str {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '-' | '*' | '+');
    let bare = line.trim_start_matches(is_mark);
    let behind = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    match behind.strip_prefix(['.', ')']) {
        Some(rest) if behind.len() < bare.len() => rest.trim_start(),
        _ => bare,
    }
}

/// A line without the check box: `[ ]`, `[]`, `[x]` or `[X]`.
fn without_check_box(line: &str) -> &str {
    let inside_and_rest = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match inside_and_rest.map(|(inside, rest)| (inside.trim(), rest)) {
        Some(("" | "x" | "X", rest)) => rest.trim(),
        _ => line,
    }
}

/// A Markdown heading: up to six `#`, then a space or nothing. `#call mum` is a task.
fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// The text without `<!-- … -->`. An unclosed comment stays.
fn without_comments(mut text: &str) -> String {
    let mut rest = String::new();
    while let Some((before, after)) = text.split_once("<!--") {
        let Some((_, behind)) = after.split_once("-->") else { break };
        rest.push_str(before);
        text = behind;
    }
    rest + text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_without_content_has_no_tasks() {
        for empty in [
            "",
            "# Heartbeat\n",
            "# A\n\n- \n* \n+ [ ]\n- [ ] \n## B",
            "#\n######\tSix\n##",
            "<!-- write here\nwhat to look after -->\n- [ ]\n---",
            "- []",
            "[ ]",
            "1. [ ]\n2) [x]\n10.",
            "-\t[ ]\n*\u{a0}[\t]",
            "* [X]\n  - [x] \n+ [x]",
            "- - [ ]",
            "\u{feff}# Heartbeat\n\n- [ ]\n",
            "Heartbeat\n=========\n",
        ] {
            assert!(!has_tasks(empty), "{empty:?}");
        }
        for list in [
            "- [ ] water the plants",
            "# A\nlook at the disk",
            "- [x] done",
            "<!-- a --> the disk <!-- b -->",
            "<!-- never ends",
            "#call mum",
            "####### seven are no heading",
            "1. [ ] water the plants",
            "10.30 the doctor",
            "2026",
            "- [y]",
            "- [] ]",
            "[the list](list.md)",
            "Heartbeat\n====\nlook at the disk",
        ] {
            assert!(has_tasks(list), "{list:?}");
        }
    }
}
