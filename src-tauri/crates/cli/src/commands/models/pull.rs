//! `rouse models pull`.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::Duration;

use rouse_gateway::wire::{ModelsProvidersResult, ModelsPullStatusResult, PullState, PullView};
use serde_json::json;

use crate::render::table::{new_table, print_rows};
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Pulls a model and prints the progress. Ctrl+C cancels the pull.
#[expect(clippy::disallowed_methods, reason = "the progress is polled")]
pub(super) async fn pull_model(model: &str, engine: &EngineConnection) -> Result<(), CliError> {
    let started = engine.call("models.pull", json!({ "model": model })).await;
    let started = started.map_err(|error| error.with_field_names(&[("model", "MODEL")]))?;
    let mut view: PullView = serde_json::from_value(started)?;
    let mut progress = ProgressLine::default();
    while view.state == PullState::Running {
        if !engine.json {
            progress.print(&view);
        }
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {
                engine.call("models.cancelPull", json!({})).await?;
            }
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
        let status: ModelsPullStatusResult = engine.fetch("models.pullStatus", json!({})).await?;
        view = status.pull.ok_or_else(|| {
            CliError::Refused("The pull has ended: Rouse was restarted.".to_owned())
        })?;
    }
    progress.finish();
    let answer = serde_json::to_value(&view)?;
    engine.print_answer(answer, |_, view: PullView| {
        if view.state == PullState::Done {
            let model = &view.model;
            anstream::println!("Pulled {model}. Use it: rouse models add ollama --model {model}");
        }
    })?;
    match view.state {
        PullState::Done | PullState::Running => Ok(()),
        PullState::Cancelled => {
            Err(CliError::Refused("Cancelled. The next pull resumes the download.".to_owned()))
        }
        PullState::Failed => Err(CliError::Refused(view.problem.unwrap_or_default())),
    }
}

pub(super) fn print_suggestions(_: &EngineConnection, known: ModelsProvidersResult) {
    let mut rows = new_table(&["MODEL", "DOWNLOAD", "LICENCE", "MEMORY"]);
    for model in known.suggested {
        let memory = format!("{} GB", model.memory_gb);
        rows.add_row([model.name, gigabytes(model.bytes), model.licence, memory]);
    }
    print_rows(&rows);
    anstream::println!(
        "Pull one: rouse models pull NAME. Size and licence of others: https://ollama.com/library"
    );
}

/// The progress on one line of standard error.
#[derive(Default)]
struct ProgressLine {
    last: String,
}

impl ProgressLine {
    fn print(&mut self, view: &PullView) {
        let line = progress_text(view);
        if line != self.last {
            let is_terminal = stderr().is_terminal();
            let (start, end) = if is_terminal { ("\r\u{1b}[K", "") } else { ("", "\n") };
            anstream::eprint!("{start}{line}{end}");
            // silent-ok: the progress is only information.
            let _ = stderr().flush();
            self.last = line;
        }
    }

    fn finish(&self) {
        if !self.last.is_empty() && stderr().is_terminal() {
            anstream::eprintln!();
        }
    }
}

fn progress_text(view: &PullView) -> String {
    if view.total_bytes == 0 {
        return format!("{}: {}", escape(&view.model), escape(&view.step));
    }
    let percent = view.bytes.saturating_mul(100) / view.total_bytes;
    format!("{}: {percent} % of {}", escape(&view.model), gigabytes(view.total_bytes))
}

pub(super) fn gigabytes(bytes: u64) -> String {
    let tenths = bytes.saturating_add(50_000_000) / 100_000_000;
    format!("{}.{} GB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_percentage() {
        let view = PullView {
            model: "qwen3.5:4b".to_owned(),
            state: PullState::Running,
            step: "pulling manifest".to_owned(),
            bytes: 850_000_000,
            total_bytes: 3_400_000_000,
            problem: None,
        };
        assert_eq!(progress_text(&view), "qwen3.5:4b: 25 % of 3.4 GB");
        let started = PullView { total_bytes: 0, ..view };
        assert_eq!(progress_text(&started), "qwen3.5:4b: pulling manifest");
    }
}
