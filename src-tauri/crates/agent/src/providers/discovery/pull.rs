//! Pulls of models into Ollama on this computer.
//!
//! Owns the request, the progress, and the suggested models with size and licence. Never starts a pull without a
//! request.
//! Pitfall: Ollama reports each layer separately and sometimes twice; the sum counts each layer once.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};

/// The longest silence of Ollama, which verifies large files without progress.
const SILENT_FOR: Duration = Duration::from_secs(600);
/// The most bytes of a progress line.
const LINE_BYTES: usize = 64 << 10;

/// A suggested model for an empty Ollama.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuggestedModel {
    /// The name in Ollama's library.
    pub name: &'static str,
    /// Size of the download in bytes.
    pub bytes: u64,
    /// The licence.
    pub licence: &'static str,
    /// The required memory in GB.
    pub memory_gb: u8,
}

/// Small models that call tools, as of November 2026. Sizes are of the default 4-bit files.
pub const SUGGESTED_MODELS: [SuggestedModel; 3] = [
    SuggestedModel {
        name: "qwen3.5:4b",
        bytes: 3_400_000_000,
        licence: "Apache 2.0",
        memory_gb: 8,
    },
    SuggestedModel {
        name: "qwen3.5:9b",
        bytes: 6_600_000_000,
        licence: "Apache 2.0",
        memory_gb: 16,
    },
    SuggestedModel {
        name: "qwen3.5:2b",
        bytes: 2_700_000_000,
        licence: "Apache 2.0",
        memory_gb: 6,
    },
];

/// The progress of a pull.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullProgress {
    /// Ollama's name of the current step.
    pub step: String,
    /// Downloaded bytes.
    pub bytes: u64,
    /// Total bytes, as far as reported.
    pub total_bytes: u64,
}

/// Why a pull ended without the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PullError {
    /// Ollama does not answer.
    #[error("Ollama does not answer. Start Ollama, and try again.")]
    NoAnswer,
    /// The connection to Ollama broke.
    #[error("The connection to Ollama broke. Try again: the pull resumes.")]
    Broken,
    /// Ollama cannot pull the model.
    #[error("Ollama cannot pull the model: {0}")]
    Refused(String),
}

/// Pulls `model` into the Ollama at `root` (`http://127.0.0.1:11434`). Dropping the future cancels the pull.
///
/// # Errors
/// When the pull fails.
pub async fn pull(
    root: &str,
    model: &str,
    mut on_progress: impl FnMut(PullProgress),
) -> Result<(), PullError> {
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .read_timeout(SILENT_FOR)
        .build()
        .map_err(|_| PullError::NoAnswer)?;
    let url = format!("{}/api/pull", root.trim_end_matches('/'));
    let request = http.post(url).json(&json!({ "model": model, "stream": true }));
    let response = request.send().await.map_err(|_| PullError::NoAnswer)?;
    let mut pieces = response.bytes_stream();
    let mut reader = ProgressReader::default();
    while let Some(piece) = pieces.next().await {
        for line in reader.lines(&piece.map_err(|_| PullError::Broken)?)? {
            if reader.read(&line)? {
                return Ok(());
            }
            on_progress(reader.progress.clone());
        }
    }
    Err(PullError::Broken)
}

/// Reads the lines of a pull.
#[derive(Default)]
struct ProgressReader {
    rest: Vec<u8>,
    /// By digest: downloaded and total bytes.
    layers: BTreeMap<String, [u64; 2]>,
    progress: PullProgress,
}

impl ProgressReader {
    /// The lines that `piece` completes.
    fn lines(&mut self, piece: &[u8]) -> Result<Vec<Value>, PullError> {
        self.rest.extend_from_slice(piece);
        let mut lines = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            // silent-ok: an empty line, or a line of a later Ollama version.
            lines.extend(serde_json::from_slice::<Value>(&line).ok());
        }
        if self.rest.len() > LINE_BYTES { Err(PullError::Broken) } else { Ok(lines) }
    }

    /// Reads a line; whether the pull is complete.
    fn read(&mut self, line: &Value) -> Result<bool, PullError> {
        if let Some(error) = line["error"].as_str() {
            return Err(PullError::Refused(error.chars().take(300).collect()));
        }
        let step = line["status"].as_str().unwrap_or_default();
        step.clone_into(&mut self.progress.step);
        if let (Some(digest), Some(total)) = (line["digest"].as_str(), line["total"].as_u64()) {
            let here = line["completed"].as_u64().unwrap_or(0).min(total);
            self.layers.insert(digest.to_owned(), [here, total]);
            self.progress.bytes = self.layers.values().map(|[here, _]| here).sum();
            self.progress.total_bytes = self.layers.values().map(|[_, total]| total).sum();
        }
        Ok(step == "success")
    }
}

#[cfg(test)]
mod tests {
    use rouse_testkit::fake_model::{FakeModel, Reply};

    use super::*;

    const LINES: &str = "{\"status\":\"pulling manifest\"}\n\
        {\"status\":\"pulling aa\",\"digest\":\"sha256:aa\",\"total\":1000,\"completed\":250}\n\
        {\"status\":\"pulling aa\",\"digest\":\"sha256:aa\",\"total\":1000,\"completed\":1000}\n\
        {\"status\":\"pulling bb\",\"digest\":\"sha256:bb\",\"total\":24,\"completed\":24}\n\
        {\"status\":\"verifying sha256 digest\"}\n";

    #[tokio::test]
    async fn pull_counts_each_layer_once() {
        let whole = Reply::json(200, format!("{LINES}{{\"status\":\"success\"}}\n")).dripped(7);
        let server = FakeModel::replying([whole]);
        let mut seen = Vec::new();
        pull(&server.url(), "qwen3.5:4b", |now| seen.push([now.bytes, now.total_bytes]))
            .await
            .expect("pulled");
        assert_eq!(seen, [[0, 0], [250, 1000], [1000, 1000], [1024, 1024], [1024, 1024]]);
        let asked = &server.requests()[0];
        assert_eq!(asked.path, "/api/pull");
        assert_eq!(asked.json(), json!({ "model": "qwen3.5:4b", "stream": true }));
    }

    #[tokio::test]
    async fn pull_without_success_is_an_error() {
        let no_such = r#"{"error":"pull model manifest: file does not exist"}"#;
        let server = FakeModel::replying([
            Reply::json(200, format!("{no_such}\n")),
            Reply::json(200, LINES),
            Reply::json(200, LINES).cut_after("\"completed\":250}\n"),
        ]);
        let refused = PullError::Refused("pull model manifest: file does not exist".to_owned());
        for expected in [refused, PullError::Broken, PullError::Broken] {
            assert_eq!(pull(&server.url(), "x", |_| ()).await, Err(expected));
        }
        let url = server.url();
        drop(server);
        assert_eq!(pull(&url, "x", |_| ()).await, Err(PullError::NoAnswer));
    }
}
