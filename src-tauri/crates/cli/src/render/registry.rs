//! Servers and skills of a registry.
//!
//! Pitfall: a text of the registry in a command to copy; words and cursors are quoted and escaped.

use rouse_core::text::quote_word;
use rouse_gateway::wire::{RegistrySearchResult, SkillSearchResult};

use super::table::{new_table, print_rows};
use super::text::{escape, shorten};

/// Maximum characters of a source or a problem.
const MAX_SOURCE: usize = 80;
/// Maximum characters of a description.
const MAX_ABOUT: usize = 80;

/// Prints a page of servers, and the next commands.
pub(crate) fn print_registry_servers(query: &str, page: &RegistrySearchResult) {
    if page.servers.is_empty() {
        anstream::println!("{} has no server for `{}`.", escape(&page.registry), escape(query));
    } else {
        let mut table = new_table(&["NAME", "VERSION", "INSTALLS FROM", "ABOUT"]);
        for server in &page.servers {
            let source = server.source.as_ref().or(server.problem.as_ref());
            let mark = if server.is_deprecated { "deprecated: " } else { "" };
            table.add_row([
                escape(&server.name),
                escape(&server.version),
                source.map(|text| shorten(text, MAX_SOURCE)).unwrap_or_default(),
                shorten(&format!("{mark}{}", server.description), MAX_ABOUT),
            ]);
        }
        print_rows(&table);
    }
    if let Some(next) = &page.next {
        let (query, next) = (quote_word(query), quote_word(next));
        anstream::println!("More: rouse mcp search {} --cursor {}", escape(&query), escape(&next));
    }
    if !page.servers.is_empty() {
        anstream::println!("Install one: rouse mcp add NAME --entry ENTRY@VERSION");
    }
}

/// Prints the skills, and the next command.
pub(crate) fn print_registry_skills(query: &str, found: &SkillSearchResult) {
    if found.skills.is_empty() {
        anstream::println!("{} has no skill for `{}`.", escape(&found.registry), escape(query));
        return;
    }
    let mut table = new_table(&["SKILL", "VERSION", "NAME", "ABOUT"]);
    for skill in &found.skills {
        table.add_row([
            escape(&skill.slug),
            skill.version.as_deref().map(escape).unwrap_or_default(),
            shorten(&skill.name, MAX_SOURCE),
            shorten(&skill.description, MAX_ABOUT),
        ]);
    }
    print_rows(&table);
    anstream::println!("Read and install one: rouse skills add --slug SKILL@VERSION");
}
