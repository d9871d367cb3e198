//! The program behind a call, and what the program may do.
//!
//! Owns the text that names the program on a job. The name is a claim, so the text is bounded and shows invisible characters.

use rouse_core::text::escape_line;

use crate::wire::McpScope;

/// Maximum length of a claimed name.
const MAX_NAME_CHARS: usize = 60;

/// The program behind a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct McpCaller {
    /// Name of the token; none for `rouse mcp serve`, which has the token of the person.
    pub(crate) token_name: Option<String>,
    /// Name that the program claimed before this request.
    pub(crate) claimed_name: Option<String>,
    /// The tools that the program may call.
    pub(crate) scope: McpScope,
    /// Run of Rouse that started the program.
    pub(crate) run_id: Option<String>,
}

impl McpCaller {
    /// The name on a job: the claim, and the token that the person named.
    pub(super) fn label(&self, claim: Option<&str>) -> String {
        let claim = claim.or(self.claimed_name.as_deref()).map(bounded);
        let claim = claim.filter(|claim| !claim.is_empty());
        match (claim, &self.token_name) {
            (Some(claim), Some(token)) => format!("{claim} (token {token})"),
            (Some(claim), None) => claim,
            (None, Some(token)) => format!("token {token}"),
            (None, None) => "MCP client".to_owned(),
        }
    }

    /// Why the caller may not write; none if allowed.
    pub(super) fn write_refusal(&self) -> Option<String> {
        if let Some(run) = &self.run_id {
            let run = bounded(run);
            return Some(format!(
                "Nothing was changed: run {run} of Rouse started this program, and a run must not change or start jobs. Report the wish instead; the person can create the job."
            ));
        }
        (self.scope == McpScope::Read).then(|| {
            "Nothing was changed: the token of this program may only read. The person can create one that may write: rouse mcp tokens create NAME --write".to_owned()
        })
    }
}

fn bounded(name: &str) -> String {
    let name = escape_line(name.trim());
    match name.char_indices().nth(MAX_NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(token_name: Option<&str>) -> McpCaller {
        McpCaller {
            token_name: token_name.map(str::to_owned),
            claimed_name: Some("codex".to_owned()),
            scope: McpScope::Write,
            run_id: None,
        }
    }

    #[test]
    fn label_names_claim_and_token() {
        assert_eq!(caller(None).label(None), "codex");
        assert_eq!(caller(None).label(Some("claude-code")), "claude-code");
        assert_eq!(caller(Some("laptop")).label(Some("x")), "x (token laptop)");
        let unnamed = McpCaller { claimed_name: None, ..caller(Some("laptop")) };
        assert_eq!(unnamed.label(None), "token laptop");
    }

    #[test]
    fn claimed_name_is_bounded_and_visible() {
        let label = caller(None).label(Some("a\u{202e}b"));
        assert_eq!(label, "a⟨U+202E⟩b");
        let long = caller(None).label(Some(&"x".repeat(500)));
        assert_eq!(long.chars().count(), MAX_NAME_CHARS + 1);
    }

    #[test]
    fn read_token_and_run_may_not_write() {
        assert_eq!(caller(None).write_refusal(), None);
        let reader = McpCaller { scope: McpScope::Read, ..caller(Some("laptop")) };
        assert!(reader.write_refusal().expect("refused").contains("may only read"));
        let in_run = McpCaller { run_id: Some("r-1".to_owned()), ..caller(None) };
        assert!(in_run.write_refusal().expect("refused").contains("run r-1"));
    }
}
