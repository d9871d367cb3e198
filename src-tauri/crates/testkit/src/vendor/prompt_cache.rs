//! Prompt caching as Anthropic does it, on every wire that carries `cache_control`.
//!
//! A mark caches the prefix up to it. A later request reads the longest cached prefix that ends at most 20 blocks before one of
//! its marks, and writes the rest up to its last mark. Shorter prefixes than 1,024 tokens are not cached. Pitfall: the same
//! block may be a string on one request and a list with a mark on the next, so prefixes are compared without marks and shapes.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

/// The maximum number of blocks between the end of a cached prefix and a mark.
const LOOKBACK: usize = 20;
/// The minimum length of a cached prefix.
const MIN_PREFIX_TOKENS: u64 = 1_024;
/// The bytes of a token.
const TOKEN_BYTES: u64 = 4;

/// The tokens of one or more answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptUsage {
    /// Uncached input.
    pub fresh: u64,
    /// Input written to the cache.
    pub written: u64,
    /// Input read from the cache.
    pub read: u64,
    /// Output.
    pub output: u64,
}

impl PromptUsage {
    /// The sum.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            fresh: self.fresh + other.fresh,
            written: self.written + other.written,
            read: self.read + other.read,
            output: self.output + other.output,
        }
    }

    /// All input.
    #[must_use]
    pub const fn input(self) -> u64 {
        self.fresh + self.written + self.read
    }

    /// The bill in millionths of a dollar, at the list prices of Claude Sonnet 5.5 per million tokens: input 2 USD, cache
    /// write 2.50 USD, cache read 0.20 USD, output 10 USD.
    #[must_use]
    pub const fn micro_usd(self) -> u64 {
        (self.fresh * 20 + self.written * 25 + self.read * 2 + self.output * 100) / 10
    }
}

/// The cached prefixes.
#[derive(Debug, Default)]
pub(super) struct PrefixCache(HashSet<u64>);

struct Block {
    text: String,
    is_marked: bool,
}

impl PrefixCache {
    /// The usage of a request with an answer of `output` tokens. Caches its marked prefixes.
    pub(super) fn charge(&mut self, body: &Value, output: u64) -> PromptUsage {
        let blocks = blocks_of(body);
        let (mut hasher, mut bytes) = (DefaultHasher::new(), 0);
        let mut prefixes = Vec::with_capacity(blocks.len());
        for block in &blocks {
            block.text.hash(&mut hasher);
            bytes += block.text.len() as u64;
            prefixes.push((hasher.finish(), bytes / TOKEN_BYTES));
        }
        let marks: Vec<usize> = (0..blocks.len()).filter(|at| blocks[*at].is_marked).collect();
        let near = marks.iter().flat_map(|mark| mark.saturating_sub(LOOKBACK)..=*mark);
        let cached = near.filter(|at| self.0.contains(&prefixes[*at].0));
        let read = cached.map(|at| prefixes[at].1).max().unwrap_or(0);
        let long =
            marks.iter().map(|at| prefixes[*at]).filter(|(_, tokens)| *tokens >= MIN_PREFIX_TOKENS);
        let long: Vec<(u64, u64)> = long.collect();
        self.0.extend(long.iter().map(|(hash, _)| *hash));
        let end = long.last().map_or(read, |(_, tokens)| read.max(*tokens));
        PromptUsage { fresh: bytes / TOKEN_BYTES - end, written: end - read, read, output }
    }
}

/// The number of marks in a request.
pub(super) fn marks_in(body: &Value) -> usize {
    match body {
        Value::Object(fields) => {
            let own = usize::from(fields.get("cache_control").is_some_and(Value::is_object));
            own + fields.values().map(marks_in).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(marks_in).sum(),
        _ => 0,
    }
}

/// The blocks of a request in the order of the prompt: tools, instructions, conversation.
fn blocks_of(body: &Value) -> Vec<Block> {
    let mut blocks = Vec::new();
    items(&body["tools"]).for_each(|tool| blocks.push(block_of(tool)));
    add_content(&mut blocks, &body["system"]);
    add_content(&mut blocks, &body["instructions"]);
    for message in items(&body["messages"]).chain(items(&body["input"])) {
        add_content(&mut blocks, &message["content"]);
        items(&message["tool_calls"]).for_each(|call| blocks.push(block_of(call)));
        if message["content"].is_null() && message["tool_calls"].is_null() {
            blocks.push(block_of(message));
        }
    }
    if body["cache_control"].is_object()
        && let Some(last) = blocks.last_mut()
    {
        last.is_marked = true;
    }
    blocks
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn add_content(blocks: &mut Vec<Block>, content: &Value) {
    match content {
        Value::String(text) => blocks.push(Block { text: text.clone(), is_marked: false }),
        list => blocks.extend(items(list).map(block_of)),
    }
}

fn block_of(value: &Value) -> Block {
    let mut text = String::new();
    add_text(&mut text, value);
    Block { text, is_marked: value["cache_control"].is_object() }
}

/// Appends all strings of a value; the field names differ by wire, the prompt does not.
fn add_text(text: &mut String, value: &Value) {
    match value {
        Value::String(words) => text.push_str(words),
        Value::Array(items) => items.iter().for_each(|item| add_text(text, item)),
        Value::Object(fields) => {
            let known = fields.iter().filter(|(name, _)| {
                !matches!(name.as_str(), "cache_control" | "type" | "id" | "tool_use_id" | "role")
            });
            known.for_each(|(name, value)| {
                if !matches!(
                    name.as_str(),
                    "text" | "function" | "input_schema" | "parameters" | "content"
                ) {
                    text.push_str(name);
                }
                add_text(text, value);
            });
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(turns: usize, is_marked: bool) -> Value {
        let turn = |number: usize| {
            let text = format!("{number} {}", "word ".repeat(400));
            let mut block = json!({ "type": "text", "text": text });
            if is_marked && number + 1 == turns {
                block["cache_control"] = json!({ "type": "ephemeral" });
            }
            json!({ "role": "user", "content": [block] })
        };
        json!({ "messages": (0..turns).map(turn).collect::<Vec<_>>() })
    }

    #[test]
    fn marked_prefix_is_written_once_and_read_later() {
        let mut cache = PrefixCache::default();
        let first = cache.charge(&body(3, true), 1);
        assert_eq!((first.read, first.written, first.fresh), (0, first.input(), 0));
        let second = cache.charge(&body(4, true), 1);
        assert_eq!((second.read, second.fresh), (first.input(), 0));
        assert_eq!(second.written, second.input() - first.input());
    }

    #[test]
    fn prefix_without_mark_or_below_minimum_is_not_cached() {
        let mut cache = PrefixCache::default();
        for (turns, is_marked) in [(3, false), (1, true)] {
            for _ in 0..2 {
                let usage = cache.charge(&body(turns, is_marked), 1);
                assert_eq!((usage.read, usage.written), (0, 0));
            }
        }
    }
}
