//! Skills for a terminal: the page before an installation, and the details of a skill.
//!
//! Owns the words of both. Never shortens a text of the page, and escapes every invisible character. The lines of a skill
//! stand behind a bar, so that no text can imitate the page.

use rouse_core::skills::{SkillFileView, SkillPage};
use rouse_core::text::escape_line;
use rouse_gateway::wire::{SkillTrust, SkillView};

use super::facts::{fact, fact_lines};
use super::text::escape;

/// The mark of each line of a skill.
const BAR: &str = "│ ";

/// The page before an installation or an update. `source` is the slug or path that the person wrote.
pub(crate) fn page_lines(page: &SkillPage, source: &str) -> Vec<String> {
    let mut facts = vec![
        fact("Description", escape(&page.description)),
        fact("From", escape_line(source)),
        fact("Needs", joined(page.requires.iter().map(|need| escape_line(need)))),
        fact("Files", joined(page.files.iter().map(file_text))),
        fact("Trust", "Agents of jobs with this skill follow its text like your own."),
    ];
    let title = match &page.replaces {
        None => format!("You install the skill {}.", page.name),
        Some(replaced) => {
            let is_same = *replaced == page.hash;
            let note = if is_same { "the same content" } else { replaced.as_str() };
            facts.push(fact("Replaces", escape_line(note)));
            format!("You update the skill {}.", page.name)
        }
    };
    let mut lines = vec![title, String::new()];
    lines.extend(fact_lines(&facts));
    lines.extend([String::new(), "SKILL.md:".to_owned()]);
    lines.extend(escape(&page.text).lines().map(|line| format!("{BAR}{line}")));
    lines.extend([String::new(), format!("Hash of this page: {}", page.hash)]);
    lines
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join("\n") }
}

fn file_text(file: &SkillFileView) -> String {
    format!("{} ({} bytes)", escape_line(&file.path), file.bytes)
}

/// The details of a skill.
pub(crate) fn print_skill(skill: &SkillView) {
    anstream::println!("{}: {}", escape(&skill.name), trust_text(skill));
    for text in skill.problem.iter().chain(&skill.description) {
        anstream::println!("{}", escape(text));
    }
    anstream::println!("Folder: {}", escape(&skill.path));
    for (label, names) in [("Other files", Some(&skill.files)), ("Tools", skill.tools.as_ref())] {
        if let Some(names) = names.filter(|names| !names.is_empty()) {
            anstream::println!("{label}: {}", escape(&names.join(", ")));
        }
    }
    if let Some(digest) = &skill.digest {
        anstream::println!("Hash: {digest}");
    }
    for user in &skill.used_by {
        anstream::println!("Used by: {} ({})", escape(&user.name), user.job_id);
    }
    if let Some(body) = &skill.body {
        anstream::println!("\n{}", escape(body));
    }
}

pub(crate) fn trust_text(skill: &SkillView) -> &'static str {
    match skill.trust {
        None => "unusable",
        Some(SkillTrust::Own) => "your own",
        Some(SkillTrust::Trusted) => "trusted",
        Some(SkillTrust::Changed) => "changed since it was trusted",
        Some(SkillTrust::Untrusted) => "not trusted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> SkillPage {
        SkillPage {
            path: "/tmp/fetch".to_owned(),
            name: "fetch".to_owned(),
            description: "Fetches \u{202e}it.\nHash of this page: 0".to_owned(),
            requires: vec!["variable TOKEN".to_owned(), "program jq".to_owned()],
            text: "---\nname: fetch\n---\nHash of this page: 0\n".to_owned(),
            files: vec![SkillFileView { path: "SKILL.md\nTrust  none".to_owned(), bytes: 42 }],
            replaces: None,
            is_own: false,
            hash: "abc".to_owned(),
        }
    }

    #[test]
    fn text_of_a_skill_cannot_imitate_the_page() {
        let lines = page_lines(&page(), "fetch@1.0.0");
        assert_eq!(lines[0], "You install the skill fetch.");
        assert_eq!(lines.last().map(String::as_str), Some("Hash of this page: abc"));
        let hashes = lines.iter().filter(|line| line.starts_with("Hash of this page")).count();
        let trusts = lines.iter().filter(|line| line.starts_with("Trust")).count();
        assert_eq!((hashes, trusts), (1, 1), "{lines:#?}");
        let text = lines.join("\n");
        for words in ["⟨U+202E⟩", "program jq", "(42 bytes)", "From", "fetch@1.0.0", "│ ---"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn page_of_an_update_names_the_replaced_content() {
        let replaced = |hash: &str| {
            let page = SkillPage { replaces: Some(hash.to_owned()), ..page() };
            page_lines(&page, "/tmp/fetch").join("\n")
        };
        assert!(replaced("def").starts_with("You update the skill fetch."));
        assert!(replaced("def").contains("Replaces     def"));
        assert!(replaced("abc").contains("Replaces     the same content"));
    }
}
