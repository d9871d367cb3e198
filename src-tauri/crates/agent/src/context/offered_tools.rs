//! The tools of a run: those in each request, and those that a search adds.
//!
//! Owns the size of the offer. Built-in tools and tools that the job names are in each request. Of the other tools of
//! servers, whole servers stay in the requests as long as they fit; the rest is searchable. Found tools follow at the
//! end in the order of their discovery and stay, so that a provider's cached prefix stays valid. Never allows a call:
//! `core::policy` does.
//! Pitfall: found tools as state beside the transcript; the results of the run name them, so that a resumed run offers
//! the same tools.

use std::sync::Arc;

use rouse_core::extension::ExtensionName;
use rouse_core::message::Message;
use rouse_core::policy::ToolPolicy;
use rouse_core::tool::ToolSpec;
use rouse_core::tool_search::{SearchableTool, TOOL_SEARCH, ToolSearchResult};

use crate::tool_registry::ToolSet;

const SEARCH_PROMPT: &str = include_str!("../../prompts/tool_search.md");

/// The most tools of a request without a search.
const MAX_OFFERED: usize = 40;

/// The tools of servers fill at most this part of the context window, 5 %.
const WINDOW_SHARE: u32 = 20;

/// The tools of a run.
#[derive(Debug, Clone, Default)]
pub struct OfferedTools {
    /// In each request; the search last.
    fixed: Vec<ToolSpec>,
    /// In no request until a search finds them. Empty without a search.
    searchable: Vec<ToolSpec>,
}

/// The tools of a server that the job does not name one by one.
struct ServerOffer<'t> {
    server: &'t ExtensionName,
    tools: usize,
    tokens: usize,
}

impl OfferedTools {
    /// Divides the tools `offered` under `policy` for a model with a context window of `context` tokens. `set` has the
    /// search; without it, all tools are in each request.
    #[must_use]
    pub fn new(
        set: &ToolSet,
        mut offered: Vec<ToolSpec>,
        policy: &ToolPolicy,
        context: u32,
    ) -> Self {
        let Some(search) = set.get(TOOL_SEARCH) else {
            return Self { fixed: offered, searchable: Vec::new() };
        };
        // A list that names the search gets it only where it finds something.
        offered.retain(|tool| tool.name != TOOL_SEARCH);
        let servers = searchable_servers(&offered, policy, context);
        let is_searchable = |tool: &ToolSpec| {
            let server = server_of(tool, policy);
            server.is_some_and(|server| servers.contains(server))
        };
        let (searchable, mut fixed): (Vec<_>, Vec<_>) =
            offered.into_iter().partition(is_searchable);
        if !searchable.is_empty() {
            fixed.push(search.spec().clone());
        }
        Self { fixed, searchable }
    }

    /// The tools in no request until a search finds them.
    #[must_use]
    pub fn searchable(&self) -> &[ToolSpec] {
        &self.searchable
    }

    /// Whether a search adds tools.
    pub(crate) const fn has_search(&self) -> bool {
        !self.searchable.is_empty()
    }

    /// The tools in each request.
    pub(crate) fn fixed(&self) -> &[ToolSpec] {
        &self.fixed
    }

    /// All tools of the run, found or not.
    pub(crate) fn all(&self) -> impl Iterator<Item = &ToolSpec> {
        self.fixed.iter().chain(&self.searchable)
    }

    /// The texts of the searchable tools, for the search.
    pub(crate) fn searchable_texts(&self) -> Arc<[SearchableTool]> {
        let searchable = self.searchable.iter().map(|spec| SearchableTool {
            name: spec.name.clone(),
            label: spec.label.clone(),
            description: spec.description.clone(),
        });
        searchable.collect()
    }

    /// Keeps only the tools that `is_allowed` accepts.
    pub(crate) fn retain(&mut self, is_allowed: impl Fn(&ToolSpec) -> bool) {
        self.fixed.retain(&is_allowed);
        self.searchable.retain(&is_allowed);
        if self.searchable.is_empty() {
            self.fixed.retain(|tool| tool.name != TOOL_SEARCH);
        }
    }

    /// The instructions about the search; empty without one.
    pub(crate) fn search_instructions(&self) -> String {
        if !self.has_search() {
            return String::new();
        }
        let mut servers: Vec<(&str, usize)> = Vec::new();
        for origin in self.searchable.iter().filter_map(|tool| tool.origin.as_ref()) {
            let name = origin.extension.as_str();
            match servers.iter_mut().find(|(server, _)| *server == name) {
                Some((_, tools)) => *tools += 1,
                None => servers.push((name, 1)),
            }
        }
        let servers: Vec<String> =
            servers.into_iter().map(|(name, tools)| format!("{name} ({tools} tools)")).collect();
        SEARCH_PROMPT.replace("{servers}", &servers.join(", "))
    }

    /// The tools that the searches of a run have found, by the run's messages. A result that was cut or redacted names
    /// no tools.
    pub(crate) fn found(&self, messages: &[Message]) -> Vec<&ToolSpec> {
        let mut found: Vec<&ToolSpec> = Vec::new();
        if !self.has_search() {
            return found;
        }
        let texts = messages.iter().filter_map(|message| match message {
            Message::ToolResult { tool, text, is_error: false, .. } if tool == TOOL_SEARCH => {
                Some(text)
            }
            _ => None,
        });
        for text in texts {
            let result: ToolSearchResult = serde_json::from_str(text).unwrap_or_default();
            for name in result.tools.iter().map(|tool| &tool.name) {
                let spec = self.searchable.iter().find(|spec| spec.name == *name);
                found.extend(spec.filter(|_| found.iter().all(|known| known.name != *name)));
            }
        }
        found
    }
}

/// The estimated tokens of a tool in a request. Providers receive a shorter schema.
pub(crate) fn tool_tokens(tool: &ToolSpec) -> usize {
    (tool.name.len() + tool.description.len() + tool.parameters.to_string().len()) / 4
}

/// The server of a tool that may become searchable; none for a built-in tool and for a tool that the job names.
fn server_of<'t>(tool: &'t ToolSpec, policy: &ToolPolicy) -> Option<&'t ExtensionName> {
    tool.origin.as_ref().filter(|_| !policy.names(tool)).map(|origin| &origin.extension)
}

/// The servers whose tools do not fit.
fn searchable_servers(
    offered: &[ToolSpec],
    policy: &ToolPolicy,
    context: u32,
) -> Vec<ExtensionName> {
    let max_tokens = usize::try_from(context / WINDOW_SHARE).unwrap_or(usize::MAX);
    let of_servers = offered.iter().filter(|tool| tool.origin.is_some());
    let server_tokens: usize = of_servers.map(tool_tokens).sum();
    if offered.len() <= MAX_OFFERED && server_tokens <= max_tokens {
        return Vec::new();
    }
    let servers = server_offers(offered, policy);
    // The tools that stay in any case, with the search, and their tokens.
    let kept = offered.len() + 1 - servers.iter().map(|server| server.tools).sum::<usize>();
    let kept_tokens = server_tokens - servers.iter().map(|server| server.tokens).sum::<usize>();
    let mut tools_left = MAX_OFFERED.saturating_sub(kept);
    let mut tokens_left = max_tokens.saturating_sub(kept_tokens);
    let mut searchable = Vec::new();
    for ServerOffer { server, tools, tokens } in servers {
        if tools <= tools_left && tokens <= tokens_left {
            tools_left -= tools;
            tokens_left -= tokens;
        } else {
            searchable.push(server.clone());
        }
    }
    searchable
}

/// The servers in the order of the catalogue.
fn server_offers<'t>(offered: &'t [ToolSpec], policy: &ToolPolicy) -> Vec<ServerOffer<'t>> {
    let mut offers: Vec<ServerOffer<'t>> = Vec::new();
    for tool in offered {
        let Some(server) = server_of(tool, policy) else { continue };
        let tokens = tool_tokens(tool);
        match offers.iter_mut().find(|offer| offer.server == server) {
            Some(offer) => {
                offer.tools += 1;
                offer.tokens += tokens;
            }
            None => offers.push(ServerOffer { server, tools: 1, tokens }),
        }
    }
    offers
}
