//! `memory_search`: full-text search in the memory.

use std::sync::Arc;

use rouse_core::memory::{MemoryHit, MemoryIndex};
use rouse_core::policy::ApprovedCall;
use rouse_core::tool::{BoxFuture, Fault, Tool, ToolContext, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::folder::{FOLDER, MemoryError};
use super::index_update::{IndexStatus, index_error, update_index};
use crate::spec::{object_schema, read_only_spec};
use crate::{arguments, output};

const DEFAULT_RESULTS: u32 = 8;
const MAX_RESULTS: u32 = 50;
/// Limit of skipped files in an output.
const MAX_SKIPPED_NAMED: usize = 20;

pub(super) struct MemorySearch {
    spec: ToolSpec,
    index: Arc<dyn MemoryIndex>,
    /// Serialises index updates, which would read the same files.
    update_lock: Mutex<()>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    limit: Option<u32>,
}

impl MemorySearch {
    pub(super) fn new(index: Arc<dyn MemoryIndex>) -> Self {
        let description =
            "Finds memory files by words, the best match first. Read one with memory_read.";
        let parameters = object_schema(
            &["query"],
            json!({
                "query": { "type": "string", "minLength": 1, "maxLength": 1_000 },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "description": format!("Default: {DEFAULT_RESULTS}.") },
            }),
        );
        let base = read_only_spec("memory_search", "Search the memory", description, parameters);
        let spec = ToolSpec { untrusted_output: true, ..base };
        Self { spec, index, update_lock: Mutex::new(()) }
    }

    async fn search(
        &self,
        Arguments { query, limit }: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolOutput> {
        if !query.chars().any(char::is_alphanumeric) {
            return Err(output::error_output(&MemoryError::NoWords));
        }
        let index = self.index.as_ref();
        let status = {
            let _update = self.update_lock.lock().await;
            update_index(index, &context.workspace, context.clock.now()).await?
        };
        let limit = limit.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
        let hits = index.search(&query, limit).await.map_err(index_error)?;
        Ok(search_output(&hits, &status))
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
            match arguments::parse(call.arguments()) {
                Ok(arguments) => {
                    self.search(arguments, context).await.unwrap_or_else(|refusal| refusal)
                }
                Err(message) => output::failure(Fault::InvalidParameters, message),
            }
        })
    }
}

/// The results are the last field, so that a truncated value keeps the notes about skipped files.
fn search_output(hits: &[MemoryHit], status: &IndexStatus) -> ToolOutput {
    let mut value = json!({});
    if !status.skipped.is_empty() {
        let named = status.skipped.iter().take(MAX_SKIPPED_NAMED);
        let named = named.map(|file| json!({ "path": file.path, "why": file.reason }));
        value["notSearched"] =
            json!({ "count": status.skipped.len(), "files": named.collect::<Vec<_>>() });
    }
    if status.pending > 0 {
        value["notYetRead"] = status.pending.into();
        value["hint"] =
            "Too many files have changed to read all of them at once. Search again for the rest."
                .into();
    }
    if status.is_truncated {
        value["tooManyFiles"] = true.into();
    }
    value["results"] = hits.iter().map(describe_hit).collect();
    let lines: Vec<String> =
        hits.iter().map(|hit| format!("{FOLDER}/{}: {}", hit.path, hit.snippet)).collect();
    let summary = if lines.is_empty() { "No results.".to_owned() } else { lines.join("\n") };
    output::success(value).in_words(&summary)
}

fn describe_hit(hit: &MemoryHit) -> Value {
    json!({
        "path": format!("{FOLDER}/{}", hit.path),
        "modified": hit.modified_at.to_utc().format("%Y-%m-%dT%H:%MZ").to_string(),
        "snippet": hit.snippet,
    })
}
