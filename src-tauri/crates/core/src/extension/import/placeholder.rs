//! Placeholders of other programs: `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${input:id}`.
//!
//! Owns their spelling. Text of another form is literal. Never reads a variable.

/// The maximum characters of a placeholder's name.
const MAX_NAME: usize = 100;

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextPart<'t> {
    Literal(&'t str),
    Placeholder(Placeholder<'t>),
}

/// A value that the other program fills in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placeholder<'t> {
    /// The placeholder as written.
    pub(super) whole: &'t str,
    /// The variable or input.
    pub(super) name: &'t str,
    /// The value of a missing variable.
    pub(super) default: Option<&'t str>,
}

impl<'t> TextPart<'t> {
    /// The literal text or the default; none for a value that only the other program has.
    pub(super) const fn known_text(&self) -> Option<&'t str> {
        match self {
            Self::Literal(text) => Some(*text),
            Self::Placeholder(placeholder) => placeholder.default,
        }
    }

    pub(super) const fn placeholder(&self) -> Option<Placeholder<'t>> {
        match self {
            Self::Literal(_) => None,
            Self::Placeholder(placeholder) => Some(*placeholder),
        }
    }
}

impl<'t> Placeholder<'t> {
    fn parse(whole: &'t str) -> Option<Self> {
        let inside = whole.strip_prefix("${")?.strip_suffix('}')?.trim();
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let bare = name.strip_prefix("env:").or_else(|| name.strip_prefix("input:"));
        let name = bare.unwrap_or(name);
        let is_allowed = |c: char| c.is_alphanumeric() || "_-.:".contains(c);
        let is_name = !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_allowed);
        is_name.then_some(Self { whole, name, default })
    }

    /// Whether the value is a fact of the other program, not a variable or input.
    pub(super) fn is_client_value(&self) -> bool {
        let prefixes = ["workspaceFolder", "workspaceRoot", "config:", "command:"];
        let names = ["userHome", "cwd", "pathSeparator", "__dirname"];
        names.contains(&self.name) || prefixes.iter().any(|prefix| self.name.starts_with(prefix))
    }
}

/// The parts of `text`, in order; none for an empty text.
pub(super) fn parts(text: &str) -> Vec<TextPart<'_>> {
    let mut parts = Vec::new();
    let (mut literal, mut at) = (0, 0);
    while let Some(found) = text[at..].find("${") {
        let start = at + found;
        let Some(length) = text[start..].find('}') else { break };
        at = start + length + 1;
        if let Some(placeholder) = Placeholder::parse(&text[start..at]) {
            if literal < start {
                parts.push(TextPart::Literal(&text[literal..start]));
            }
            parts.push(TextPart::Placeholder(placeholder));
            literal = at;
        }
    }
    if literal < text.len() {
        parts.push(TextPart::Literal(&text[literal..]));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_of_each_program_are_found() {
        for (text, name, default) in [
            ("${TOKEN}", "TOKEN", None),
            ("${env:TOKEN}", "TOKEN", None),
            ("${input:api-key}", "api-key", None),
            ("${ TOKEN:-a b }", "TOKEN", Some("a b")),
            ("${TOKEN:-}", "TOKEN", Some("")),
        ] {
            let whole = TextPart::Placeholder(Placeholder { whole: text, name, default });
            assert_eq!(parts(text), [whole]);
            let around = format!("a {text} b");
            let found = parts(&around);
            assert_eq!(found.len(), 3, "{around}");
            assert_eq!((found[0], found[2]), (TextPart::Literal("a "), TextPart::Literal(" b")));
        }
    }

    #[test]
    fn text_of_another_form_is_literal() {
        for text in ["$TOKEN", "${}", "${a b}", "${a", "${a${b}", "a}b{"] {
            assert_eq!(parts(text), [TextPart::Literal(text)], "{text}");
        }
        assert!(parts("").is_empty());
        let long = format!("${{{}}}", "x".repeat(MAX_NAME + 1));
        assert_eq!(parts(&long), [TextPart::Literal(&long)]);
    }

    #[test]
    fn facts_of_the_other_program_are_known() {
        let is_client_value =
            |text: &str| parts(text)[0].placeholder().expect("a placeholder").is_client_value();
        assert!(is_client_value("${workspaceFolder}") && is_client_value("${workspaceFolder:a}"));
        assert!(is_client_value("${userHome}") && is_client_value("${config:a.b}"));
        assert!(!is_client_value("${CWD_TOKEN}") && !is_client_value("${input:cwd2}"));
    }
}
