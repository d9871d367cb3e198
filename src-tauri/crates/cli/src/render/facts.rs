//! Facts: labels in one column, texts in the next.

use rouse_core::job::JobFact;

pub(crate) fn fact(label: &str, text: impl Into<String>) -> JobFact {
    JobFact { label: label.to_owned(), text: text.into() }
}

/// The lines of facts. Continuation lines are indented, so no text can imitate a fact.
pub(crate) fn fact_lines(facts: &[JobFact]) -> Vec<String> {
    let width = facts.iter().map(|fact| fact.label.chars().count()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for fact in facts {
        for (number, text) in fact.text.lines().enumerate() {
            let label = if number == 0 { &*fact.label } else { "" };
            lines.push(format!("{label:<width$}  {text}").trim_end().to_owned());
        }
    }
    lines
}
