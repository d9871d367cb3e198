//! The search among the tools that a run may call and is not offered yet.
//!
//! Owns the score of a match and the form of a result, from which the run reads the tools that its next requests offer.
//! Never decides which tools are searchable, and never allows a call. Pitfall: a score by the description alone; a long
//! description has every word.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::text::{first_line, strip_invisible};

/// The tool that searches; offered only to a run with searchable tools.
pub const TOOL_SEARCH: &str = "tool_search";

/// The maximum tools of a result.
const MAX_FOUND: usize = 8;

/// The maximum characters of a description in a result.
const MAX_LINE: usize = 160;

/// The shortest word, in characters, that matches the beginning of a word or stands for a description.
const MIN_STEM: usize = 3;

/// A tool that a run may call and is not offered until a search finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchableTool {
    /// The name.
    pub name: String,
    /// The label for people; none when there is none.
    pub label: Option<String>,
    /// The whole description.
    pub description: String,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSearchResult {
    /// The tools, best match first.
    pub tools: Vec<FoundTool>,
    /// The number of matches beyond the maximum.
    pub more: usize,
}

/// A tool in a [`ToolSearchResult`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundTool {
    /// The name.
    pub name: String,
    /// The first line of the description.
    pub description: String,
}

/// The words of a query that a tool matches. More words of the name win, then more words of the description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MatchScore {
    name_words: usize,
    description_words: usize,
}

impl From<&SearchableTool> for FoundTool {
    fn from(tool: &SearchableTool) -> Self {
        let description = first_line(&tool.description, MAX_LINE, strip_invisible);
        Self { name: tool.name.clone(), description }
    }
}

/// The tools that match a word of `query`, best match first. Equal matches keep their order.
#[must_use]
pub fn search_tools(tools: &[SearchableTool], query: &str) -> ToolSearchResult {
    let mut query = words(query);
    query.sort();
    query.dedup();
    let mut matches: Vec<(MatchScore, &SearchableTool)> =
        tools.iter().filter_map(|tool| Some((score(tool, &query)?, tool))).collect();
    matches.sort_by_key(|(score, _)| Reverse(*score));
    let tools = matches.iter().take(MAX_FOUND).map(|(_, tool)| FoundTool::from(*tool)).collect();
    ToolSearchResult { tools, more: matches.len().saturating_sub(MAX_FOUND) }
}

/// The score of a tool; none without a match.
fn score(tool: &SearchableTool, query: &[String]) -> Option<MatchScore> {
    let mut name = words(&tool.name);
    name.extend(tool.label.iter().flat_map(|label| words(label)));
    let description = words(&tool.description);
    let mut score = MatchScore { name_words: 0, description_words: 0 };
    for word in query {
        if name.iter().any(|other| is_match(other, word)) {
            score.name_words += 1;
        } else if is_stem(word) && description.iter().any(|other| is_match(other, word)) {
            score.description_words += 1;
        }
    }
    (score.name_words + score.description_words > 0).then_some(score)
}

/// Whether two words are equal, or the shorter one begins the other: `event` matches `events`.
fn is_match(one: &str, other: &str) -> bool {
    one == other
        || (is_stem(one) && other.starts_with(one))
        || (is_stem(other) && one.starts_with(other))
}

fn is_stem(word: &str) -> bool {
    word.chars().nth(MIN_STEM - 1).is_some()
}

/// The words of a text in lowercase. A name divides at `_`, `-` and before a capital: `listEvents` has two words.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_after_small = false;
    for character in text.chars() {
        let is_letter = character.is_alphanumeric();
        if !is_letter || (character.is_uppercase() && is_after_small) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| is_letter) {
            word.extend(character.to_lowercase());
        }
        is_after_small = is_letter && !character.is_uppercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, label: Option<&str>, description: &str) -> SearchableTool {
        let label = label.map(str::to_owned);
        SearchableTool { name: name.to_owned(), label, description: description.to_owned() }
    }

    fn found(tools: &[SearchableTool], query: &str) -> Vec<String> {
        search_tools(tools, query).tools.into_iter().map(|tool| tool.name).collect()
    }

    #[test]
    fn words_of_the_name_win_over_the_description() {
        let tools = [
            tool("mail_send", None, "Sends a mail about an event of the calendar list."),
            tool("cal_list", None, "Lists."),
            tool("cal_listEvents", None, "Lists."),
            tool("fax_read", None, "Reads."),
        ];
        assert_eq!(found(&tools, "list the events"), ["cal_listEvents", "cal_list", "mail_send"]);
    }

    #[test]
    fn label_counts_as_name() {
        let tools = [tool("a_b", None, "Adds an invoice."), tool("a_c", Some("New invoice"), "")];
        assert_eq!(found(&tools, "invoice"), ["a_c", "a_b"]);
    }

    #[test]
    fn word_matches_its_longer_and_shorter_form() {
        let tools = [tool("cal_event", None, "")];
        for (query, is_found) in
            [("EVENTS", true), ("eve", true), ("ev", false), ("vent", false), ("cal", true)]
        {
            assert_eq!(!found(&tools, query).is_empty(), is_found, "{query}");
        }
    }

    #[test]
    fn short_word_does_not_match_a_description() {
        let tools = [tool("gh_pr", None, ""), tool("gh_issue", None, "Opens a PR, or an issue.")];
        assert_eq!(found(&tools, "pr"), ["gh_pr"]);
        assert_eq!(found(&tools, "or an"), [""; 0]);
    }

    #[test]
    fn result_has_eight_tools_and_counts_the_rest() {
        let tools: Vec<SearchableTool> =
            (0..11).map(|number| tool(&format!("gh_tool{number}"), None, "One.\nTwo.")).collect();
        let result = search_tools(&tools, "gh");
        assert_eq!((result.tools.len(), result.more), (8, 3));
        assert_eq!(result.tools[0].description, "One.…");
        assert_eq!(result.tools[7].name, "gh_tool7", "equal matches keep their order");
    }

    #[test]
    fn query_without_words_finds_nothing() {
        let tools = [tool("cal_list", None, "Lists.")];
        assert_eq!(search_tools(&tools, " ?! "), ToolSearchResult::default());
    }
}
