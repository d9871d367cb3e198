//! The channels of the settings: their set-up, their services and their newest failure.
//!
//! Sends no message. Pitfall: reporting a failure that a later delivery has made obsolete.

use rouse_gateway::wire::{ChannelView, ChannelsListResult};
use serde_json::json;

use super::{Finding, healthy, unhealthy, with_fix};
use crate::render::channel::open_failure;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;

/// The channels; none without a channel.
pub(super) async fn check_channels(engine: &EngineConnection) -> Vec<Finding> {
    match engine.fetch("channels.check", json!({})).await {
        Ok(ChannelsListResult { channels, .. }) => channel_findings(&channels),
        Err(error) => error.lines().into_iter().map(unhealthy).collect(),
    }
}

fn channel_findings(channels: &[ChannelView]) -> Vec<Finding> {
    let failing: Vec<Finding> = channels.iter().filter_map(problem_of).collect();
    let ready = channels.len() - failing.len();
    let ready = (ready > 0).then(|| healthy(format!("Channels that are ready: {ready}")));
    ready.into_iter().chain(failing).collect()
}

/// Why a channel does not deliver, and the fix.
fn problem_of(channel: &ChannelView) -> Option<Finding> {
    let name = escape(&channel.name);
    if let Some(problem) = &channel.problem {
        return Some(with_fix(false, format!("The channel {name} cannot send"), escape(problem)));
    }
    if let Some(problem) = channel.receiving.as_ref().and_then(|view| view.problem.as_ref()) {
        let text = format!("The channel {name} receives no messages");
        return Some(with_fix(false, text, escape(problem)));
    }
    let failure = open_failure(channel)?;
    let text = format!("The newest message to {name} failed: {}", escape(&failure.reason));
    Some(with_fix(false, text, format!("Test it: rouse channels test {name}")))
}

#[cfg(test)]
mod tests {
    use rouse_gateway::wire::{ChannelDetails, ChannelFailure, ChannelKind};

    use super::*;

    #[test]
    fn channel_with_a_problem_has_a_fix() {
        let channel = |name: &str, problem: Option<&str>, failed_at: Option<i64>| ChannelView {
            name: name.to_owned(),
            kind: ChannelKind::Slack,
            label: "Slack".to_owned(),
            details: ChannelDetails::Full,
            recipients: Vec::new(),
            problem: problem.map(str::to_owned),
            receiving: None,
            newest_failure: failed_at
                .map(|at_ms| ChannelFailure { at_ms, reason: "Blocked.".to_owned() }),
            last_delivered_at_ms: Some(5),
        };
        let found = channel_findings(&[
            channel("desk", None, Some(4)),
            channel("mail", Some("No password. Store it."), None),
            channel("team", None, Some(6)),
        ]);
        let found = found.iter().map(|Finding { ok, text, fix }| (*ok, &**text, fix.as_deref()));
        let expected = [
            (true, "Channels that are ready: 1", None),
            (false, "The channel mail cannot send", Some("No password. Store it.")),
            (
                false,
                "The newest message to team failed: Blocked.",
                Some("Test it: rouse channels test team"),
            ),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert!(channel_findings(&[]).is_empty());
    }
}
