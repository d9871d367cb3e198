//! One run: trigger, times, costs, steps, deliveries and pending approvals.
//!
//! Each step shows the gate's decision and the cost. Results are cut; `--full` prints whole results. Pitfall: a
//! line of untrusted text must not look like a fact, so continuation lines are indented.

use rouse_core::Clock as _;
use rouse_core::budget::MicroUsd;
use rouse_core::schedule::format_duration;
use rouse_core::text::group_thousands;
use rouse_gateway::wire::{
    ApprovalStateKind, CauseView, ChannelKind, DeliveryState, DeliveryView, RunDetail, RunView,
    StepAttachmentView, StepStatus, StepView, Usage,
};
use serde_json::Value;

use super::approval::request_text;
use super::run_state::{run_state, trigger_name};
use super::text::{escape, shorten};
use super::time::instant;
use crate::resolve::engine::EngineConnection;

/// Characters of a result without `--full`.
const RESULT_START: usize = 80;

/// Prints the run; with `full`, whole results.
pub(crate) fn print_run(engine: &EngineConnection, detail: &RunDetail, full: bool) {
    let run = &detail.run;
    let now = engine.clock.now().0;
    let at = |ms: i64| instant(ms, now, engine.clock.zone());
    anstream::println!("{}  {}", escape(&run.job_name), run_state(run));
    print_run_facts(run, &at);
    if let Some(cause) = &detail.cause {
        print_cause(cause);
    }
    for step in &detail.steps {
        print_step(step, full);
    }
    let is_cut = |step: &StepView| result_line(step).chars().count() > RESULT_START;
    if !full && detail.steps.iter().any(is_cut) {
        anstream::println!("  Whole results: rouse runs show {} --full", run.id);
    }
    let deliveries = detail.deliveries.iter().map(|delivery| delivery_line(delivery, &at));
    for line in merge_equal_lines(deliveries) {
        anstream::println!("{line}");
    }
    if let Some(summary) = &run.summary {
        anstream::println!("\n{}", escape(summary));
    }
    let is_pending = |state: ApprovalStateKind| state == ApprovalStateKind::Pending;
    for approval in detail.approvals.iter().filter(|approval| is_pending(approval.state)) {
        anstream::println!("\n{}", request_text(approval));
    }
}

fn print_run_facts(run: &RunView, at: &dyn Fn(i64) -> String) {
    let fact = |label: &str, text: Option<String>| {
        if let Some(text) = text {
            anstream::println!("{}", fact_line(label, &text));
        }
    };
    fact("trigger", Some(trigger_name(run.trigger)));
    fact("scheduled", slots_text(run, at));
    fact("catch-up of", run.catch_up_slot_at_ms.map(at));
    fact("started", run.started_at_ms.map(at));
    fact("late by", run.late_by_ms.filter(|late| *late >= 1_000).map(format_duration));
    fact("slots", (run.slot_count > 1).then(|| run.slot_count.to_string()));
    fact("duration", run.duration_ms.map(format_duration));
    let is_retry = run.waits_for.is_none();
    fact("next attempt", run.next_attempt_at_ms.filter(|_| is_retry).map(at));
    fact("resumes", run.next_attempt_at_ms.filter(|_| !is_retry).map(at));
    fact("model", run.model.as_deref().map(escape));
    fact("fallback", run.fallback_reason.as_deref().map(escape));
    let tokens = run.usage.input_tokens + run.usage.output_tokens;
    fact("tokens", (tokens > 0).then(|| group_thousands(tokens)));
    let cost = run.usage.cost_micro_usd.map(|cost| MicroUsd(cost).to_string());
    let unknown = || (tokens > 0).then(|| "not known".to_owned());
    fact("cost", cost.or_else(unknown));
    fact("reason", run.reason.as_deref().map(escape));
    fact("error", run.error.as_deref().map(escape));
}

/// Merges equal lines and appends their count.
fn merge_equal_lines(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for line in lines {
        match counted.iter_mut().find(|(seen, _)| *seen == line) {
            Some((_, count)) => *count += 1,
            None => counted.push((line, 1)),
        }
    }
    let text = |(line, count)| if count > 1 { format!("{line} (×{count})") } else { line };
    counted.into_iter().map(text).collect()
}

/// Label and text of a fact; continuation lines of the text are indented.
fn fact_line(label: &str, text: &str) -> String {
    format!("  {label:<12}  {}", text.replace('\n', &format!("\n{:16}", "")))
}

/// The slot, or the first and the last of several slots.
fn slots_text(run: &RunView, at: &dyn Fn(i64) -> String) -> Option<String> {
    let last = at(run.slot_at_ms?);
    Some(match run.first_slot_at_ms {
        Some(first) => format!("{} to {last}", at(first)),
        None => last,
    })
}

/// Prints the event that triggered the run: source, fields and the start of the text.
fn print_cause(cause: &CauseView) {
    let fields = cause.fields.iter().map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}={}", shorten(key, 60), shorten(&value, 60))
    });
    let fields = fields.collect::<Vec<_>>().join(" ");
    let event = escape(&format!("{} {fields}", cause.source));
    anstream::println!("{}", fact_line("event", &event));
    if !cause.text.is_empty() {
        anstream::println!("{}", fact_line("text", &shorten(&cause.text, 200)));
    }
}

fn print_step(step: &StepView, full: bool) {
    let result = if full { String::new() } else { shorten(&result_line(step), RESULT_START) };
    anstream::println!("{}", step_line(step, &result));
    if !step.attachments.is_empty() {
        anstream::println!("       {}", files_line(&step.attachments));
    }
    if full {
        for line in full_result(step).lines() {
            anstream::println!("       {line}");
        }
    }
}

/// Number, name and status of a step, the gate's decision, the cost and `result`. A result is JSON and starts as JSON,
/// so no tool output can imitate a decision.
fn step_line(step: &StepView, result: &str) -> String {
    let took = step.duration_ms.map(format_duration).unwrap_or_else(|| "…".to_owned());
    let mark = match step.status {
        _ if step.is_error => "error",
        StepStatus::Failed => "error",
        StepStatus::Unknown => "?",
        StepStatus::Started => "…",
        StepStatus::Finished => "ok",
        StepStatus::InputRequired => "input",
    };
    let (seq, name) = (step.seq, escape(&step.name));
    let facts = [step.gate_text.clone(), cost_text(&step.usage)];
    let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let gap = if facts.is_empty() || result.is_empty() { "" } else { "  " };
    let line = format!("  {seq:>3}. {name:<14} {mark:<5} {took:<8} {facts}{gap}{result}");
    line.trim_end().to_owned()
}

/// The files of a step, such as `files: chart.png (image/png, 12 kB)`.
fn files_line(files: &[StepAttachmentView]) -> String {
    let file = |file: &StepAttachmentView| {
        let StepAttachmentView { name, media_type, bytes, is_kept } = file;
        let note = if *is_kept { "" } else { ", not kept: over 20 MB in this run" };
        format!("{} ({media_type}, {} kB{note})", shorten(name, 100), bytes.div_ceil(1_000))
    };
    format!("files: {}", files.iter().map(file).collect::<Vec<_>>().join(", "))
}

/// The cost of a step; none for a step without a price.
fn cost_text(usage: &Usage) -> Option<String> {
    let has_tokens = usage.input_tokens + usage.output_tokens > 0;
    match usage.cost_micro_usd {
        None => has_tokens.then(|| "cost not known".to_owned()),
        Some(0) if !has_tokens => None,
        Some(cost) => Some(MicroUsd(cost).to_string()),
    }
}

/// The result of a step as JSON on one line.
fn result_line(step: &StepView) -> String {
    step.output.as_ref().map(|output| escape(&output.to_string())).unwrap_or_default()
}

/// The whole result of a step: text as it is, other values as indented JSON.
fn full_result(step: &StepView) -> String {
    match &step.output {
        None => String::new(),
        Some(Value::String(text)) => escape(text),
        Some(other) => escape(&format!("{other:#}")),
    }
}

/// Channel and state of a delivery.
fn delivery_line(delivery: &DeliveryView, at: &dyn Fn(i64) -> String) -> String {
    let reason = delivery.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let state = match (delivery.state, delivery.held_until_ms) {
        (DeliveryState::Held, Some(until)) => {
            format!("held by quiet hours until {}", at(until))
        }
        (DeliveryState::Held, None) => "held by quiet hours".to_owned(),
        (DeliveryState::Pending, _) if delivery.attempts > 0 => match delivery.next_attempt_at_ms {
            Some(next) => format!("next attempt {}{reason}", at(next)),
            None => format!("retry pending{reason}"),
        },
        (DeliveryState::Pending, _) => "pending".to_owned(),
        (DeliveryState::Sending, _) => "being sent".to_owned(),
        (DeliveryState::Unknown, _) => match delivery.next_attempt_at_ms {
            Some(next) => format!("unconfirmed, repeated {}{reason}", at(next)),
            None => format!("unconfirmed{reason}"),
        },
        (DeliveryState::Delivered, _) if delivery.channel_kind == Some(ChannelKind::Whatsapp) => {
            "accepted by WhatsApp".to_owned()
        }
        (DeliveryState::Delivered, _) => "delivered".to_owned(),
        (DeliveryState::Failed, _) => format!("failed{reason}"),
        (DeliveryState::Suppressed, _) => format!("not sent{reason}"),
    };
    let place = match &delivery.to {
        Some(to) => format!("{} ({to})", delivery.channel),
        None => delivery.channel.clone(),
    };
    fact_line(&escape(&place), &escape(&state))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_lines_are_merged() {
        let lines = ["a", "b", "a"].map(str::to_owned);
        assert_eq!(merge_equal_lines(lines.into_iter()), ["a (×2)", "b"]);
    }

    #[test]
    fn labels_and_texts_do_not_touch() {
        assert_eq!(fact_line("notification", "delivered"), "  notification  delivered");
        assert_eq!(fact_line("trigger", "schedule"), "  trigger       schedule");
        assert_eq!(fact_line("error", "a\nb"), "  error         a\n                b");
    }

    #[test]
    fn step_line_shows_decision_and_cost() {
        let line = |name: &str, gate: Value, usage: [u64; 2], cost: Option<u64>| {
            let step = json!({
                "seq": 2, "kind": "toolCall", "name": name, "status": "finished", "input": {}, "output": null,
                "isError": false, "startedAtMs": 0, "durationMs": 12, "gate": Value::Null, "gateText": gate,
                "usage": {
                    "inputTokens": usage[0], "cachedInputTokens": 0, "outputTokens": usage[1], "costMicroUsd": cost,
                },
            });
            step_line(&serde_json::from_value(step).expect("a step"), "{\"a\":1}")
        };
        let granted = json!("covered by a grant");
        for (line, expected) in [
            (
                line("image_make", granted, [0, 0], Some(20_000)),
                "    2. image_make     ok    12 ms    covered by a grant · 0.02 USD  {\"a\":1}",
            ),
            (
                line("http", json!("refused"), [0, 0], Some(0)),
                "    2. http           ok    12 ms    refused  {\"a\":1}",
            ),
            (
                line("http", json!("refused: invalid arguments"), [0, 0], Some(0)),
                "    2. http           ok    12 ms    refused: invalid arguments  {\"a\":1}",
            ),
            (
                line("claude", Value::Null, [3_120, 80], Some(4_200)),
                "    2. claude         ok    12 ms    0.0042 USD  {\"a\":1}",
            ),
            (
                line("claude", Value::Null, [3_120, 80], None),
                "    2. claude         ok    12 ms    cost not known  {\"a\":1}",
            ),
            (
                line("echo", Value::Null, [0, 0], None),
                "    2. echo           ok    12 ms    {\"a\":1}",
            ),
        ] {
            assert_eq!(line, expected);
        }
    }

    #[test]
    fn files_line_names_kept_and_other_files() {
        let file = |name: &str, bytes, is_kept| StepAttachmentView {
            name: name.to_owned(),
            media_type: "image/png".to_owned(),
            bytes,
            is_kept,
        };
        let line = files_line(&[file("a\u{202e}b.png", 70, true), file("c.png", 3_750_000, false)]);
        let kept = "files: a⟨U+202E⟩b.png (image/png, 1 kB)";
        let other = "c.png (image/png, 3750 kB, not kept: over 20 MB in this run)";
        assert_eq!(line, format!("{kept}, {other}"));
    }

    #[test]
    fn failed_step_is_marked_as_error() {
        let mark = |status: &str, is_error: bool| {
            let step = json!({
                "seq": 1, "kind": "modelTurn", "name": "claude", "status": status, "input": {},
                "output": null, "isError": is_error, "startedAtMs": 0, "durationMs": 12, "gate": null,
                "usage": {
                    "inputTokens": 0, "cachedInputTokens": 0, "outputTokens": 0, "costMicroUsd": null,
                },
            });
            let line = step_line(&serde_json::from_value(step).expect("a step"), "");
            line.split_whitespace().nth(2).expect("a mark").to_owned()
        };
        assert_eq!(
            ["finished", "failed", "unknown", "started"].map(|status| mark(status, false)),
            ["ok", "error", "?", "…"]
        );
        assert_eq!(mark("finished", true), "error");
    }

    fn delivery(state: DeliveryState, reason: Option<&str>) -> DeliveryView {
        DeliveryView {
            id: "d".to_owned(),
            run_id: None,
            channel: "notification".to_owned(),
            channel_kind: None,
            to: None,
            title: "T".to_owned(),
            body: "B".to_owned(),
            state,
            attempts: 1,
            reason: reason.map(str::to_owned),
            created_at_ms: 0,
            next_attempt_at_ms: Some(5),
            settled_at_ms: None,
            held_until_ms: Some(7),
            digest_id: None,
        }
    }

    fn line_of(delivery: &DeliveryView) -> String {
        delivery_line(delivery, &|at| format!("at {at}"))
    }

    #[test]
    fn whatsapp_accepts_and_other_channels_deliver() {
        let text = |channel_kind| {
            line_of(&DeliveryView { channel_kind, ..delivery(DeliveryState::Delivered, None) })
        };
        assert_eq!(text(Some(ChannelKind::Whatsapp)), "  notification  accepted by WhatsApp");
        assert_eq!(text(Some(ChannelKind::Telegram)), "  notification  delivered");
        assert_eq!(text(None), "  notification  delivered");
    }

    #[test]
    fn waiting_delivery_shows_reason_and_time() {
        let text = |state, reason| line_of(&delivery(state, reason));
        assert_eq!(
            text(DeliveryState::Held, None),
            "  notification  held by quiet hours until at 7"
        );
        assert_eq!(
            text(DeliveryState::Pending, Some("no route")),
            "  notification  next attempt at 5: no route"
        );
        assert_eq!(
            text(DeliveryState::Suppressed, Some("switched off")),
            "  notification  not sent: switched off"
        );
    }
}
