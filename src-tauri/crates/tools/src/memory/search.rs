//! `memory_search`: which files of the memory speak of something.

use std::sync::Arc;

use rouse_core::memory::{Hit, MemoryIndex};
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::upkeep::{Kept, failed, keep_up};
use super::{FOLDER, MemoryError};
use crate::{answer, arguments, spec};

/// Results when the caller names no number, and the most.
const USUAL: u32 = 8;
const MOST: u32 = 50;
/// The most files that are named although they are not searched.
const MOST_LEFT_OUT: usize = 20;

/// The tool.
pub(super) struct MemorySearch {
    spec: ToolSpec,
    index: Arc<dyn MemoryIndex>,
    /// Two searches at once would read the same files.
    keeping: Mutex<()>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    limit: Option<u32>,
}

impl MemorySearch {
    pub(super) fn new(index: Arc<dyn MemoryIndex>) -> Self {
        let description = "Finds memory files by words, the best first. Read one with memory_read.";
        let parameters = spec::object(
            &["query"],
            json!({
                "query": { "type": "string", "minLength": 1, "maxLength": 1_000 },
                "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": format!("Default: {USUAL}.") },
            }),
        );
        let harmless =
            spec::harmless(("memory_search", "Search the memory"), description, parameters);
        let spec = ToolSpec { untrusted_output: true, ..harmless };
        Self { spec, index, keeping: Mutex::new(()) }
    }

    async fn search(
        &self,
        Arguments { query, limit }: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolOutput> {
        if !query.chars().any(char::is_alphanumeric) {
            return Err(answer::refused(&MemoryError::NoWords));
        }
        let index = self.index.as_ref();
        let kept = {
            let _keeping = self.keeping.lock().await;
            keep_up(index, &context.workspace, context.clock.now()).await?
        };
        let most = limit.unwrap_or(USUAL).clamp(1, MOST);
        let hits = index.search(&query, most).await.map_err(failed)?;
        Ok(told(&hits, &kept))
    }
}

impl Tool for MemorySearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        call: ApprovedCall,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match arguments::read(call.arguments()) {
                Ok(arguments) => {
                    self.search(arguments, context).await.unwrap_or_else(|refusal| refusal)
                }
                Err(words) => answer::failed(rouse_core::tool::Fault::InvalidParameters, words),
            }
        })
    }
}

/// The results come last: whoever shows only the beginning of a long answer still shows what was not searched.
fn told(hits: &[Hit], kept: &Kept) -> ToolOutput {
    let mut value = json!({});
    if !kept.left_out.is_empty() {
        let shown = kept.left_out.iter().take(MOST_LEFT_OUT);
        let shown = shown.map(|(path, why)| json!({ "path": path, "why": why }));
        value["notSearched"] =
            json!({ "count": kept.left_out.len(), "files": shown.collect::<Vec<_>>() });
    }
    if kept.behind > 0 {
        value["notYetRead"] = kept.behind.into();
        value["hint"] = "So many files have changed that not all could be read at once. Search again for the rest.".into();
    }
    if kept.is_cut {
        value["tooManyFiles"] = true.into();
    }
    value["results"] = hits.iter().map(result).collect();
    let lines: Vec<String> =
        hits.iter().map(|hit| format!("{FOLDER}/{}: {}", hit.path, hit.snippet)).collect();
    let words = if lines.is_empty() { "Nothing was found.".to_owned() } else { lines.join("\n") };
    answer::done(value).in_words(&words)
}

fn result(hit: &Hit) -> Value {
    json!({
        "path": format!("{FOLDER}/{}", hit.path),
        "modified": hit.modified_at.to_utc().format("%Y-%m-%dT%H:%MZ").to_string(),
        "snippet": hit.snippet,
    })
}
