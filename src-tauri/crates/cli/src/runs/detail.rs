//! One run in words: how it came, what it did step by step, whom it told, what it asks.
//!
//! Each step says what the gate decided about it and what it cost. It refuses to fill the terminal unasked: a result is
//! its first letters, and the way to all of it is told with it. One could get it wrong by letting a line of somebody
//! else's text look like a fact: what goes on is indented.

use rouse_core::Clock as _;
use rouse_core::money::MicroUsd;
use rouse_core::schedule::format_duration;
use rouse_core::words::grouped;
use rouse_gateway::wire::{
    ApprovalState, CauseView, DeliveryState, DeliveryView, RunDetail, RunView, StepStatus,
    StepView, UsageView,
};
use serde_json::Value;

use super::decision::decision;
use super::{state_of, trigger};
use crate::approvals::question;
use crate::output::{instant, plain, short};
use crate::session::Session;

/// Letters of a result that are shown unasked.
const CUT: usize = 80;

/// Prints the run; results whole when `full`, else the beginning of each.
pub(super) fn print(session: &Session, detail: &RunDetail, full: bool) {
    let run = &detail.run;
    let now = session.clock.now().0;
    let at = |ms: i64| instant(ms, now, session.clock.zone());
    anstream::println!("{}  {}", plain(&run.job_name), state_of(run));
    let fact = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            anstream::println!("{}", fact_line(name, &value));
        }
    };
    fact("why", Some(trigger(run.trigger).to_owned()));
    fact("scheduled", slots(run, at));
    fact("makes up for", run.makes_up_for_ms.map(at));
    fact("started", run.started_at_ms.map(at));
    fact("late by", run.late_by_ms.filter(|late| *late >= 1_000).map(format_duration));
    fact("stands for", (run.stands_for > 1).then(|| format!("{} slots", run.stands_for)));
    fact("took", run.duration_ms.map(format_duration));
    let is_retry = run.waits_for.is_none();
    fact("tries again", run.next_attempt_at_ms.filter(|_| is_retry).map(at));
    fact("goes on", run.next_attempt_at_ms.filter(|_| !is_retry).map(at));
    fact("model", run.model.as_deref().map(plain));
    let tokens = run.usage.input_tokens + run.usage.output_tokens;
    fact("instead of", run.fell_back.as_deref().map(plain));
    fact("tokens", (tokens > 0).then(|| grouped(tokens)));
    let cost = run.usage.cost_micro_usd.map(|cost| MicroUsd(cost).to_string());
    let unknown = || (tokens > 0).then(|| "not known".to_owned());
    fact("cost", cost.or_else(unknown));
    fact("reason", run.reason.as_deref().map(plain));
    fact("error", run.error.as_deref().map(plain));
    if let Some(cause) = &detail.cause {
        print_cause(cause);
    }
    for step in &detail.steps {
        print_step(step, full);
    }
    if !full && detail.steps.iter().any(|step| is_cut(&result(step))) {
        anstream::println!("  Results that end in … go on: rouse runs show {} --full", run.id);
    }
    for line in each_once(detail.deliveries.iter().map(|delivery| told(delivery, &at))) {
        anstream::println!("{line}");
    }
    if let Some(summary) = &run.summary {
        anstream::println!("\n{}", plain(summary));
    }
    for asked in detail.approvals.iter().filter(|one| one.state == ApprovalState::Pending) {
        anstream::println!("\n{}", question(asked));
    }
}

/// Every line once, with how often it came.
fn each_once(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for line in lines {
        match counted.iter_mut().find(|(seen, _)| *seen == line) {
            Some((_, count)) => *count += 1,
            None => counted.push((line, 1)),
        }
    }
    let words = |(line, count)| if count > 1 { format!("{line} (×{count})") } else { line };
    counted.into_iter().map(words).collect()
}

/// A fact and its name, the names in a column of their own. No line of a value can look like another fact.
fn fact_line(name: &str, value: &str) -> String {
    format!("  {name:<12}  {}", value.replace('\n', &format!("\n{:16}", "")))
}

/// The slot, or the first and the last of several.
fn slots(run: &RunView, at: impl Fn(i64) -> String) -> Option<String> {
    let last = at(run.slot_at_ms?);
    Some(
        run.first_slot_at_ms
            .map_or_else(|| last.clone(), |first| format!("{} to {last}", at(first))),
    )
}

/// The event that fired it: its source, its fields, the beginning of its text.
fn print_cause(cause: &CauseView) {
    let fields = cause.fields.iter().map(|(key, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}={}", short(key, 60), short(&value, 60))
    });
    let fields = fields.collect::<Vec<_>>().join(" ");
    let event = plain(&format!("{} {fields}", cause.source));
    anstream::println!("{}", fact_line("event", &event));
    if !cause.text.is_empty() {
        anstream::println!("{}", fact_line("said", &short(&cause.text, 200)));
    }
}

fn print_step(step: &StepView, full: bool) {
    let output = if full { String::new() } else { short(&result(step), CUT) };
    anstream::println!("{}", step_line(step, &output));
    if full {
        for line in whole(step).lines() {
            anstream::println!("       {line}");
        }
    }
}

/// A step, what the gate decided about it, what it cost, and `output`. What a tool said cannot pass for a decision: an
/// output is JSON and begins as such.
fn step_line(step: &StepView, output: &str) -> String {
    let took = step.duration_ms.map(format_duration).unwrap_or_else(|| "…".to_owned());
    let mark = match step.status {
        _ if step.is_error => "error",
        StepStatus::Failed => "error",
        StepStatus::Unknown => "?",
        StepStatus::Started => "…",
        StepStatus::Finished => "ok",
    };
    let (seq, name) = (step.seq, plain(&step.name));
    let facts = [step.gate.as_ref().map(decision), cost(&step.usage)];
    let facts = facts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let gap = if facts.is_empty() || output.is_empty() { "" } else { "  " };
    let line = format!("  {seq:>3}. {name:<14} {mark:<5} {took:<8} {facts}{gap}{output}");
    line.trim_end().to_owned()
}

/// What a step cost; nothing for one that nobody is paid for.
fn cost(usage: &UsageView) -> Option<String> {
    let has_tokens = usage.input_tokens + usage.output_tokens > 0;
    match usage.cost_micro_usd {
        None => has_tokens.then(|| "cost not known".to_owned()),
        Some(0) if !has_tokens => None,
        Some(cost) => Some(MicroUsd(cost).to_string()),
    }
}

/// What came of a step, on one line.
fn result(step: &StepView) -> String {
    step.output.as_ref().map(|output| plain(&output.to_string())).unwrap_or_default()
}

fn is_cut(result: &str) -> bool {
    result.chars().count() > CUT
}

/// What came of a step: text as it reads, anything else as JSON with a line for each of its parts.
fn whole(step: &StepView) -> String {
    match &step.output {
        None => String::new(),
        Some(Value::String(text)) => plain(text),
        Some(other) => plain(&format!("{other:#}")),
    }
}

/// Where a message to the outside stands; of one that waits, until when.
fn told(delivery: &DeliveryView, at: &dyn Fn(i64) -> String) -> String {
    let reason = delivery.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let words = match (delivery.state, delivery.held_until_ms) {
        (DeliveryState::Held, Some(until)) => {
            format!("held by quiet hours until {}", at(until))
        }
        (DeliveryState::Held, None) => "held by quiet hours".to_owned(),
        (DeliveryState::Pending, _) if delivery.attempts > 0 => match delivery.next_attempt_at_ms {
            Some(next) => format!("is tried again {}{reason}", at(next)),
            None => format!("is tried again{reason}"),
        },
        (DeliveryState::Pending, _) => "waits".to_owned(),
        (DeliveryState::Delivered, _) => "delivered".to_owned(),
        (DeliveryState::Failed, _) => format!("failed{reason}"),
        (DeliveryState::Suppressed, _) => format!("not sent{reason}"),
    };
    fact_line(&plain(&delivery.channel), &plain(&words))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_said_twice_is_shown_once() {
        let lines = ["a", "b", "a"].map(str::to_owned);
        assert_eq!(each_once(lines.into_iter()), ["a (×2)", "b"]);
    }

    #[test]
    fn no_name_touches_its_fact() {
        assert_eq!(fact_line("notification", "delivered"), "  notification  delivered");
        assert_eq!(fact_line("why", "schedule"), "  why           schedule");
        assert_eq!(fact_line("error", "a\nb"), "  error         a\n                b");
    }

    #[test]
    fn a_step_says_what_the_gate_decided_and_what_it_cost() {
        let line = |name: &str, gate: Value, usage: [u64; 2], cost: Option<u64>| {
            let step = json!({
                "seq": 2, "kind": "toolCall", "name": name, "status": "finished", "input": {}, "output": null,
                "isError": false, "startedAtMs": 0, "durationMs": 12, "gate": gate,
                "usage": {
                    "inputTokens": usage[0], "cachedInputTokens": 0, "outputTokens": usage[1], "costMicroUsd": cost,
                },
            });
            step_line(&serde_json::from_value(step).expect("a step"), "{\"a\":1}")
        };
        let granted = json!({ "decision": "granted", "grantId": "g" });
        for (said, shown) in [
            (
                line("image_make", granted, [0, 0], Some(20_000)),
                "    2. image_make     ok    12 ms    covered by a grant · 0.02 USD  {\"a\":1}",
            ),
            (
                line("http", json!({ "decision": "refused" }), [0, 0], Some(0)),
                "    2. http           ok    12 ms    refused  {\"a\":1}",
            ),
            (
                line(
                    "http",
                    json!({ "decision": "refused", "why": { "kind": "misfit" } }),
                    [0, 0],
                    Some(0),
                ),
                "    2. http           ok    12 ms    refused: did not fit the tool's parameters  {\"a\":1}",
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
            assert_eq!(said, shown);
        }
    }

    #[test]
    fn a_step_that_went_wrong_is_not_called_ok() {
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

    #[test]
    fn what_waits_says_why_and_until_when() {
        let words = |state: DeliveryState, reason: Option<&str>| {
            let delivery = DeliveryView {
                id: "d".to_owned(),
                run_id: None,
                channel: "notification".to_owned(),
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
            };
            told(&delivery, &|at| format!("at {at}"))
        };
        assert_eq!(
            words(DeliveryState::Held, None),
            "  notification  held by quiet hours until at 7"
        );
        assert_eq!(
            words(DeliveryState::Pending, Some("no route")),
            "  notification  is tried again at 5: no route"
        );
        assert_eq!(
            words(DeliveryState::Suppressed, Some("switched off")),
            "  notification  not sent: switched off"
        );
    }
}
