//! The decision about the tools that wait for a person: the page, the prompt and the acceptance.
//!
//! Owns the meaning of typed lines. The end of the input accepts nothing. Pitfall: accepting another page than the
//! printed page; every acceptance names the hash.

use std::collections::BTreeMap;

use rouse_core::extension::{ConsentPage, ExtensionName, ToolAccess};
use rouse_core::text::escape_line;
use rouse_core::text::quote_word;
use rouse_gateway::wire::{ExtensionDetail, ServerToolsPage};
use serde_json::{Value, json};

use super::prompt::{ask_line, is_interactive};
use crate::render::consent::{access_label, tools_lines};
use crate::render::package::component_lines;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

/// The chosen access by raw name.
pub(in crate::commands) type ToolChoices = BTreeMap<String, ToolAccess>;

/// Field paths of the gateway and their names on the command line.
const FIELD_NAMES: [(&str, &str); 3] =
    [("accept", "--accept"), ("access", "the tools"), ("name", "NAME")];

/// What to do with a page of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageDecision {
    Accept,
    Edit,
    Leave,
}

/// Prints the page and lets the person decide. Without a terminal, the error has the command that accepts the page.
pub(in crate::commands) async fn decide_tools(
    engine: &EngineConnection,
    answer: Value,
    choices: ToolChoices,
) -> Result<(), CliError> {
    let found: ServerToolsPage = serde_json::from_value(answer.clone())?;
    let name = &found.page.extension;
    if let Some(changes) = found.component_changes.as_ref().filter(|_| !engine.json) {
        for line in component_lines(changes) {
            anstream::println!("{line}");
        }
    }
    if engine.json {
        anstream::println!("{}", serde_json::to_string_pretty(&answer)?);
    } else if found.error.is_none() {
        for line in tools_lines(&found, &choices) {
            anstream::println!("{line}");
        }
    }
    if let Some(error) = &found.error {
        return Err(anyhow::anyhow!(
            "{name} is installed, but its server is not available. {} Then read its tools: rouse extensions accept {name}",
            escape(error)
        )
        .into());
    }
    if found.page.tools.is_empty() {
        return Ok(());
    }
    check_choices(&found.page, &choices)?;
    if !is_interactive(engine) {
        let command = accept_command(&found.page, &choices);
        return Err(CliError::Refused(format!(
            "The tools of {name} wait for you. To accept exactly this page: {command}"
        )));
    }
    let prompt = decision_prompt(!choices.is_empty());
    let mut access = found.proposals.clone();
    access.extend(choices);
    match ask_access(&found.page, prompt, access).await? {
        Some(access) => accept_tools(engine, name, &found.page.hash, access).await,
        None => {
            anstream::eprintln!("Nothing was accepted. Later: rouse extensions accept {name}");
            Ok(())
        }
    }
}

/// Accepts the page with this hash; tools without a choice get the proposed access.
pub(super) async fn accept_tools(
    engine: &EngineConnection,
    name: &ExtensionName,
    hash: &str,
    choices: ToolChoices,
) -> Result<(), CliError> {
    let params = json!({ "name": name, "accept": hash, "access": choices });
    let print = |_: &EngineConnection, detail: ExtensionDetail| {
        anstream::println!("Accepted. The tools of {}:", detail.name);
        for pin in &detail.extension.tools {
            let tool = escape_line(&pin.definition.name);
            anstream::println!("  {tool}: {}", access_label(pin.access));
        }
    };
    let accepted = engine.show("extensions.accept", params, print).await;
    accepted.map_err(|error| error.with_field_names(&FIELD_NAMES))
}

/// Refuses a choice for a tool that is not on the page.
fn check_choices(page: &ConsentPage, choices: &ToolChoices) -> Result<(), CliError> {
    let is_shown = |name: &String| page.tools.iter().any(|held| held.offered.name == *name);
    match choices.keys().find(|name| !is_shown(name)) {
        Some(name) => Err(CliError::input(format!(
            "No tool {} waits for you. For an accepted tool: rouse extensions access {} TOOL ACCESS",
            escape_line(name),
            page.extension
        ))),
        None => Ok(()),
    }
}

/// The question about the whole page.
const fn decision_prompt(has_choices: bool) -> &'static str {
    if has_choices {
        "\nAccept these tools? Enter accepts your choices and the other proposals, e edits each, n leaves them: "
    } else {
        "\nAccept these tools? Enter accepts the proposals, e edits each, n leaves them: "
    }
}

/// Asks for the whole page, then for each tool if wanted. None leaves the tools held.
async fn ask_access(
    page: &ConsentPage,
    prompt: &str,
    proposals: ToolChoices,
) -> Result<Option<ToolChoices>, CliError> {
    let decision = loop {
        match parse_decision(&ask_line(prompt).await?) {
            Some(decision) => break decision,
            None => anstream::eprintln!("Press Enter, e or n."),
        }
    };
    match decision {
        PageDecision::Accept => Ok(Some(proposals)),
        PageDecision::Leave => Ok(None),
        PageDecision::Edit => edit_access(page, proposals).await,
    }
}

/// Asks for the access of each tool. None at the end of the input.
async fn edit_access(
    page: &ConsentPage,
    mut access: ToolChoices,
) -> Result<Option<ToolChoices>, CliError> {
    anstream::eprintln!("r reads only, a ask, A always ask, o off, Enter the proposal in brackets");
    for held in &page.tools {
        let name = &held.offered.name;
        let proposal =
            access.get(name).copied().unwrap_or_else(|| ToolAccess::suggested(held.offered.hints));
        let prompt = format!("  {} [{}]: ", escape_line(name), access_label(proposal));
        let chosen = loop {
            let line = ask_line(&prompt).await?;
            if line.is_empty() {
                return Ok(None);
            }
            match parse_access(&line, proposal) {
                Some(chosen) => break chosen,
                None => anstream::eprintln!("Press r, a, A, o or Enter."),
            }
        };
        access.insert(name.clone(), chosen);
    }
    Ok(Some(access))
}

/// The decision of a typed line; none for another key. The end of the input leaves the tools held.
fn parse_decision(line: &str) -> Option<PageDecision> {
    match line.trim().to_lowercase().as_str() {
        "" if line.is_empty() => Some(PageDecision::Leave),
        "" => Some(PageDecision::Accept),
        "e" | "edit" => Some(PageDecision::Edit),
        "n" | "no" => Some(PageDecision::Leave),
        _ => None,
    }
}

/// The access of a typed line; none for another key.
fn parse_access(line: &str, proposal: ToolAccess) -> Option<ToolAccess> {
    match line.trim() {
        "" => Some(proposal),
        "r" => Some(ToolAccess::ReadsOnly),
        "a" => Some(ToolAccess::Ask),
        "A" => Some(ToolAccess::AlwaysAsk),
        "o" => Some(ToolAccess::Off),
        _ => None,
    }
}

/// The command that accepts exactly this page with these choices.
fn accept_command(page: &ConsentPage, choices: &ToolChoices) -> String {
    let mut command = format!("rouse extensions accept {} --accept {}", page.extension, page.hash);
    for (name, access) in choices {
        let flag: &str = access.into();
        command.push_str(&format!(" --{flag} {}", quote_word(name)));
    }
    escape_line(&command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_input_accepts_nothing() {
        let decisions = ["", "\n", "e\n", " N \n", "y\n"].map(parse_decision);
        let [leave, accept, edit, no, other] = decisions;
        assert_eq!((leave, no), (Some(PageDecision::Leave), Some(PageDecision::Leave)));
        assert_eq!((accept, edit), (Some(PageDecision::Accept), Some(PageDecision::Edit)));
        assert_eq!(other, None);
    }

    #[test]
    fn prompt_names_choices_only_when_there_are_some() {
        assert!(decision_prompt(true).contains("Enter accepts your choices"));
        assert!(decision_prompt(false).contains("Enter accepts the proposals"));
    }

    #[test]
    fn keys_of_an_access_are_case_sensitive() {
        let access = |line| parse_access(line, ToolAccess::Off);
        assert_eq!(access("a\n"), Some(ToolAccess::Ask));
        assert_eq!(access("A\n"), Some(ToolAccess::AlwaysAsk));
        assert_eq!(access("\n"), Some(ToolAccess::Off));
        assert_eq!(access("R\n"), None);
    }

    #[test]
    fn accept_command_names_page_and_choices() {
        let server = serde_json::from_value(json!({
            "transport": { "kind": "http", "url": "https://a.example" },
        }));
        let name = "cal".parse().expect("a name");
        let page = ConsentPage::new(name, server.expect("a definition"), None, Vec::new());
        let choices = ToolChoices::from([
            ("send".to_owned(), ToolAccess::AlwaysAsk),
            ("two words".to_owned(), ToolAccess::Off),
        ]);
        assert_eq!(
            accept_command(&page, &choices),
            format!(
                "rouse extensions accept cal --accept {} --always-ask send --off 'two words'",
                page.hash
            )
        );
        let error = check_choices(&page, &choices).expect_err("no such tool");
        assert!(error.lines()[0].starts_with("No tool send waits for you."), "{error:?}");
    }
}
