//! The test of a model, and the verdict.

use rouse_gateway::wire::{ModelTestVerdict, ModelTestView, ModelsTestParams};
use serde_json::json;

use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

/// Tests a model and prints the verdict.
pub(super) async fn test_model(
    params: ModelsTestParams,
    engine: &EngineConnection,
) -> Result<ModelTestView, CliError> {
    let answer = engine.call("models.test", json!(params)).await?;
    let result: ModelTestView = serde_json::from_value(answer.clone())?;
    engine.print_answer(answer, |_, test: ModelTestView| {
        let name = format!("{} · {}", test.model, test.provider);
        anstream::println!("{}: {}", escape(&name), verdict_text(test.verdict));
        anstream::println!("{} ({} tokens)", escape(&test.message), test.tokens);
    })?;
    Ok(result)
}

pub(super) fn check_verdict(verdict: ModelTestVerdict) -> Result<(), CliError> {
    match verdict {
        ModelTestVerdict::Failed => Err(CliError::Refused("The model does not answer.".to_owned())),
        _ => Ok(()),
    }
}

pub(super) const fn verdict_text(verdict: ModelTestVerdict) -> &'static str {
    match verdict {
        ModelTestVerdict::Works => "works",
        ModelTestVerdict::NoToolCall => "no tool calls",
        ModelTestVerdict::NeedlessToolCall => "needless tool calls",
        ModelTestVerdict::Failed => "no answer",
    }
}
