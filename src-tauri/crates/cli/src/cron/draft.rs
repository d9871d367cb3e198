//! The flags that say what a job does and how it behaves, and what they make of a job. When it fires is in `trigger`.

use clap::{ArgGroup, Args, ValueEnum};
use rouse_core::schedule::parse_duration;
use serde_json::{Map, Value, json};

use super::budget::BudgetArgs;
use super::may::MayArgs;
use super::quiet::QuietArgs;
use crate::exit::Failure;

/// Takes a setting off.
pub(super) const NONE: &str = "none";

/// What the job does.
#[derive(Debug, Args)]
#[command(next_help_heading = "What", group = ArgGroup::new("payload").args(["system_event", "message", "tool"]))]
pub(crate) struct PayloadArgs {
    /// Queue this line for the main session.
    #[arg(long, value_name = "TEXT")]
    system_event: Option<String>,
    /// Let the agent work on this message.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Call this tool; no model, no cost.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// The tool's arguments as JSON.
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
    /// Which results of the tool are worth a notification; `always` when nothing is said.
    #[arg(long, value_enum, conflicts_with = "notify_if")]
    notify_when: Option<NotifyWhen>,
    /// Only results of which this CEL expression over `result`, `previous`, `state` and `event` holds: `"json(result.stdout) < 20"`.
    #[arg(long, value_name = "CEL")]
    notify_if: Option<String>,
    /// Hand the outcome to a channel.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    deliver: Option<bool>,
    /// Which channel: notification, or last (where you last wrote from); empty for the usual one.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// The recipient on that channel; empty for the usual one.
    #[arg(long, value_name = "DEST")]
    to: Option<String>,
    /// The model of this job; empty for the one of the settings.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Models that are asked in this order when that one does not answer, separated by commas; `none` for none. Name the
    /// provider where it matters: `openai:gpt-5.6-luna`.
    #[arg(long, value_name = "NAMES")]
    fallbacks: Option<String>,
    /// Offer only these tools, separated by commas; `all` for all that the gate lets it have, as without this, or `none`: it
    /// can only answer.
    #[arg(long, value_name = "NAMES")]
    tools: Option<String>,
    /// Most model turns of a run that may call tools (1: no chaining), or `none` for the usual number. After them the
    /// model says what came of it.
    #[arg(long, value_name = "N", value_parser = number)]
    max_steps: Option<Value>,
    /// Most tokens of one answer of the model, or `none`.
    #[arg(long, value_name = "N", value_parser = number)]
    max_tokens: Option<Value>,
    /// How much the model reasons: low, medium, high or max; `none` for the provider's setting
    #[arg(long, value_name = "LEVEL")]
    effort: Option<String>,
    /// Files of the workspace that stand in the context, separated by commas, or `none`.
    #[arg(long, value_name = "PATHS")]
    context_paths: Option<String>,
    /// Skills that the model is told of, by their names and separated by commas, or `none`. `rouse skills` lists them.
    #[arg(long, value_name = "NAMES")]
    skills: Option<String>,
}

/// How it behaves. What can be set can be taken off again: by `none`, or by an empty text.
#[derive(Debug, Args)]
#[command(next_help_heading = "How")]
pub(crate) struct BehaviourArgs {
    /// What it is for; empty for nothing.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The session it works in; follows from what it does when absent.
    #[arg(long, value_enum)]
    session: Option<SessionTarget>,
    /// When the main session gets its turn.
    #[arg(long, value_enum)]
    wake: Option<Wake>,
    /// Stands before the summary in the main session; empty for the usual word.
    #[arg(long, value_name = "TEXT")]
    post_prefix: Option<String>,
    /// Delete the job after its first finished run.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    delete_after_run: Option<bool>,
    /// Slots that passed while nothing could fire, by more than a minute, and runs that waited longer than that for their
    /// place; `run-once` when nothing is said.
    #[arg(long, value_enum)]
    misfire: Option<Misfire>,
    /// How late a slot may be and still run, whatever --misfire says: `2h`, or `none`. Where one run stands for many
    /// slots, the newest counts.
    #[arg(long, value_name = "DURATION")]
    max_lateness: Option<String>,
    /// Most slots that --misfire run-all makes up for, or `none` for the usual 10.
    #[arg(long, value_name = "N", value_parser = number)]
    misfire_limit: Option<Value>,
    /// A slot that comes while a run is still going; `skip` when nothing is said. With `queue` at most 10 wait.
    #[arg(long, value_enum)]
    overlap: Option<Overlap>,
    /// Runs at the same time with --overlap parallel, or `none` for the usual 2.
    #[arg(long, value_name = "N", value_parser = number)]
    max_concurrent: Option<Value>,
    /// Least time between the starts of two runs: `5m`, or `none`.
    #[arg(long, value_name = "DURATION")]
    cooldown: Option<String>,
    /// Pause the job after so many failures in a row, or `none`: never, as when nothing is said.
    #[arg(long, value_name = "N", value_parser = number)]
    pause_after: Option<Value>,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Which outcomes are worth a notification; `findings` when nothing is said.
    #[arg(long, value_enum)]
    notify: Option<Notify>,
    #[command(flatten)]
    quiet: QuietArgs,
    #[command(flatten)]
    may: MayArgs,
    /// Time limit of each attempt of a run: `10m`, or `none` for that, the usual one. Waiting does not count: for the next
    /// attempt, a place, or your answer.
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    /// Attempts in all for failures that may pass (a service that is busy or not reached, a command that ended with a
    /// failure), or `none` for one. Each has the whole time limit; none begins while everything is paused, firing is off
    /// or the job is.
    #[arg(long, value_name = "N", value_parser = number)]
    max_attempts: Option<Value>,
    /// The pause before the second attempt, doubling from there: `30s`, or `none` for the usual 1s.
    #[arg(long, value_name = "DURATION")]
    retry_backoff: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SessionTarget {
    Main,
    Isolated,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Wake {
    Now,
    NextHeartbeat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum NotifyWhen {
    Always,
    Failure,
    Changed,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Notify {
    Always,
    Findings,
    Failure,
    Never,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Misfire {
    Skip,
    RunOnce,
    RunAll,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Overlap {
    Skip,
    Queue,
    Parallel,
    CancelOther,
}

impl Wake {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::NextHeartbeat => "next-heartbeat",
        }
    }
}

/// The job format's word for a choice: clap's `run-once` is the format's `runOnce`.
pub(super) fn word(choice: impl ValueEnum) -> Value {
    let dashed =
        choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let mut parts = dashed.split('-');
    let mut word = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (first, rest) = part.split_at(part.len().min(1));
        word.push_str(&first.to_ascii_uppercase());
        word.push_str(rest);
    }
    Value::String(word)
}

/// Sets `key` when there is a value.
pub(super) fn set(object: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value.into());
    }
}

/// Sets `key` when there is something in it.
pub(super) fn set_part(object: &mut Map<String, Value>, key: &str, part: Map<String, Value>) {
    set(object, key, (!part.is_empty()).then_some(Value::Object(part)));
}

/// A number, or `none`, which takes it off.
pub(super) fn number(text: &str) -> Result<Value, String> {
    if text == NONE {
        return Ok(Value::Null);
    }
    text.parse::<u32>().map(Value::from).map_err(|_| "expected a number, or none".to_owned())
}

/// A text; an empty one takes it off.
pub(super) fn text(given: Option<&str>) -> Option<Value> {
    given.map(|text| if text.is_empty() { Value::Null } else { json!(text) })
}

/// Names between commas; `all` stands for no list.
pub(super) fn names(given: Option<&str>, all: &str) -> Option<Value> {
    given.map(|text| match text == all {
        true => Value::Null,
        false => text.split(',').map(str::trim).collect(),
    })
}

/// A duration in milliseconds, or `none`, which takes it off.
pub(super) fn milliseconds(text: &str, flag: &str) -> Result<Value, Failure> {
    if text == NONE {
        return Ok(Value::Null);
    }
    let ms = parse_duration(text).map_err(|error| Failure::input(format!("--{flag}: {error}")))?;
    Ok(json!(ms))
}

pub(super) fn seconds(text: &str, flag: &str) -> Result<Value, Failure> {
    let ms = milliseconds(text, flag)?.as_i64();
    Ok(ms.map_or(Value::Null, |ms| json!((ms + 999) / 1_000)))
}

/// What RFC 7396 has to lay over `old` to make it `new`: keys that only `old` has go away.
pub(crate) fn replacing(old: &Value, new: Value) -> Value {
    match (old, new) {
        (Value::Object(old), Value::Object(mut new)) => {
            for (key, value) in old {
                let patched = new.remove(key).map_or(Value::Null, |new| replacing(value, new));
                new.insert(key.clone(), patched);
            }
            Value::Object(new)
        }
        (_, new) => new,
    }
}

impl PayloadArgs {
    /// The payload; none when no flag names its kind. For an edit, fields of the present kind may stand alone.
    pub(crate) fn to_json(&self) -> Result<Option<Value>, Failure> {
        let mut payload = Map::new();
        if let Some(text) = &self.system_event {
            payload.insert("kind".to_owned(), json!("systemEvent"));
            payload.insert("text".to_owned(), json!(text));
        }
        if let Some(message) = &self.message {
            payload.insert("kind".to_owned(), json!("agentTurn"));
            payload.insert("message".to_owned(), json!(message));
        }
        if let Some(tool) = &self.tool {
            payload.insert("kind".to_owned(), json!("toolCall"));
            payload.insert("tool".to_owned(), json!(tool));
        }
        if self.tool.is_some() || self.arguments.is_some() {
            payload.insert("arguments".to_owned(), self.tool_arguments()?);
        }
        set(&mut payload, "notifyWhen", self.notify_when.map(word));
        set(&mut payload, "notifyWhen", self.notify_if.as_ref().map(|cel| json!({ "cel": cel })));
        set(&mut payload, "deliver", self.deliver);
        set(&mut payload, "channel", text(self.channel.as_deref()));
        set(&mut payload, "to", text(self.to.as_deref()));
        set(&mut payload, "model", text(self.model.as_deref()));
        set(&mut payload, "fallbacks", names(self.fallbacks.as_deref(), NONE));
        if self.tools.as_deref().is_some_and(|tools| tools.trim().is_empty()) {
            return Err(Failure::input("--tools: name tools, or `all`, or `none`"));
        }
        let has_none = self.tools.as_deref().map(|tools| tools == NONE);
        set(&mut payload, "useTools", has_none.map(|has_none| has_none.then_some(false)));
        let named = self.tools.as_deref().filter(|tools| *tools != NONE);
        set(&mut payload, "tools", names(named, "all"));
        set(&mut payload, "maxSteps", self.max_steps.clone());
        set(&mut payload, "maxTokens", self.max_tokens.clone());
        let effort = self.effort.as_deref().map(|effort| if effort == NONE { "" } else { effort });
        set(&mut payload, "effort", text(effort));
        set(&mut payload, "contextPaths", names(self.context_paths.as_deref(), NONE));
        set(&mut payload, "skills", names(self.skills.as_deref(), NONE));
        Ok((!payload.is_empty()).then_some(Value::Object(payload)))
    }

    /// The change of a job's `present` payload. Arguments are named as a whole: those of before do not mix with them,
    /// and another tool begins without any.
    pub(crate) fn to_patch(&self, present: &Value) -> Result<Option<Value>, Failure> {
        let Some(mut patch) = self.to_json()? else { return Ok(None) };
        self.fits(patch.get("kind").unwrap_or(&present["kind"]))?;
        if self.arguments.is_none() && patch["tool"] == present["tool"] {
            patch.as_object_mut().map(|patch| patch.remove("arguments"));
        } else if let Some(arguments) = patch.get_mut("arguments") {
            *arguments = replacing(&present["arguments"], arguments.take());
        }
        Ok(Some(patch))
    }

    /// Refuses flags that mean nothing to a payload of this kind, and would be kept without an effect.
    pub(crate) fn fits(&self, kind: &Value) -> Result<(), Failure> {
        let (agent, tool) = (("agentTurn", "--message"), ("toolCall", "--tool"));
        let flags = [
            ("--deliver", self.deliver.is_some(), agent),
            ("--channel", self.channel.is_some(), agent),
            ("--to", self.to.is_some(), agent),
            ("--model", self.model.is_some(), agent),
            ("--fallbacks", self.fallbacks.is_some(), agent),
            ("--tools", self.tools.is_some(), agent),
            ("--max-steps", self.max_steps.is_some(), agent),
            ("--max-tokens", self.max_tokens.is_some(), agent),
            ("--effort", self.effort.is_some(), agent),
            ("--context-paths", self.context_paths.is_some(), agent),
            ("--skills", self.skills.is_some(), agent),
            ("--arguments", self.arguments.is_some(), tool),
            ("--notify-when", self.notify_when.is_some(), tool),
            ("--notify-if", self.notify_if.is_some(), tool),
        ];
        let misplaced = |(_, given, (of, _)): &&(_, bool, (&str, _))| *given && kind != of;
        match flags.iter().find(misplaced) {
            Some((flag, _, (_, with))) => Err(Failure::input(format!("{flag} goes with {with}"))),
            None => Ok(()),
        }
    }

    fn tool_arguments(&self) -> Result<Value, Failure> {
        let Some(text) = &self.arguments else { return Ok(json!({})) };
        serde_json::from_str(text).map_err(|error| Failure::input(not_json(&error)))
    }
}

/// Where arguments end to be JSON, and what would be some. The parser's own words are about its tokens.
fn not_json(error: &serde_json::Error) -> String {
    let place = match (error.is_eof(), error.line(), error.column()) {
        (true, ..) => "it ends too early".to_owned(),
        (false, 1, column) => format!("see character {column}"),
        (false, line, column) => format!("see line {line}, character {column}"),
    };
    format!(
        r#"--arguments: this is not JSON ({place}); write it like '{{"text": "Hello"}}', in single quotes"#
    )
}

impl BehaviourArgs {
    /// Lays what is named over `job`, which is new, or changes a job whose policies are `present`.
    pub(crate) fn apply(
        &self,
        job: &mut Map<String, Value>,
        present: &Value,
    ) -> Result<(), Failure> {
        set(job, "description", text(self.description.as_deref()));
        set(job, "sessionTarget", self.session.map(word));
        set(job, "wakeMode", self.wake.map(Wake::name));
        set(
            job,
            "isolation",
            text(self.post_prefix.as_deref()).map(|prefix| json!({ "postToMainPrefix": prefix })),
        );
        set(job, "deleteAfterRun", self.delete_after_run);
        set_part(job, "runtime", self.runtime()?);
        set_part(job, "policies", self.policies()?);
        self.quiet.settle(job, present)
    }

    fn runtime(&self) -> Result<Map<String, Value>, Failure> {
        let mut runtime = Map::new();
        set(&mut runtime, "maxAttempts", self.max_attempts.clone());
        if let Some(backoff) = &self.retry_backoff {
            runtime.insert("retryBackoffMs".to_owned(), milliseconds(backoff, "retry-backoff")?);
        }
        Ok(runtime)
    }

    fn policies(&self) -> Result<Map<String, Value>, Failure> {
        let mut misfire = Map::new();
        set(&mut misfire, "mode", self.misfire.map(word));
        set(&mut misfire, "limit", self.misfire_limit.clone());
        let mut policies = Map::new();
        set(&mut policies, "overlap", self.overlap.map(word));
        set(&mut policies, "maxConcurrent", self.max_concurrent.clone());
        set(&mut policies, "pauseAfterFailures", self.pause_after.clone());
        self.budget.apply(&mut policies);
        set(&mut policies, "notify", self.notify.map(word));
        set(&mut policies, "quietHours", self.quiet.to_json());
        self.may.apply(&mut policies)?;
        for (object, key, flag, given) in [
            (&mut misfire, "maxLatenessSeconds", "max-lateness", &self.max_lateness),
            (&mut policies, "cooldownSeconds", "cooldown", &self.cooldown),
        ] {
            if let Some(text) = given {
                object.insert(key.to_owned(), seconds(text, flag)?);
            }
        }
        if let Some(text) = &self.timeout {
            policies.insert("timeoutSeconds".to_owned(), seconds(text, "timeout")?);
        }
        set_part(&mut policies, "misfire", misfire);
        Ok(policies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_replaces_takes_away_what_was_there() {
        let old = json!({ "a": 1, "b": { "c": 2, "d": 3 }, "e": [1] });
        assert_eq!(
            replacing(&old, json!({ "b": { "c": 4 }, "e": {} })),
            json!({ "a": null, "b": { "c": 4, "d": null }, "e": {} })
        );
        assert_eq!(replacing(&Value::Null, json!({ "a": 1 })), json!({ "a": 1 }));
    }

    #[test]
    fn what_a_call_is_given_needs_no_name_of_its_tool_in_an_edit() {
        use clap::Parser as _;

        #[derive(clap::Parser)]
        struct Edit {
            #[command(flatten)]
            payload: PayloadArgs,
        }

        let present = json!({ "kind": "toolCall", "tool": "echo", "arguments": { "text": "a" } });
        let change = |flags: &[&str], present: &Value| {
            let flags = [&["edit"], flags].concat();
            Edit::try_parse_from(flags).expect("flags").payload.to_patch(present)
        };
        for (flags, patch) in [
            (
                &["--arguments", r#"{"tz":"UTC"}"#][..],
                json!({ "arguments": { "text": null, "tz": "UTC" } }),
            ),
            (&["--notify-when", "changed"], json!({ "notifyWhen": "changed" })),
            (&["--tool", "echo"], json!({ "kind": "toolCall", "tool": "echo" })),
            (
                &["--tool", "time"],
                json!({ "kind": "toolCall", "tool": "time", "arguments": { "text": null } }),
            ),
        ] {
            assert_eq!(change(flags, &present).expect("it fits"), Some(patch), "{flags:?}");
        }
        let agent = json!({ "kind": "agentTurn", "message": "Look" });
        for flags in [["--arguments", "{}"], ["--notify-when", "changed"]] {
            let refused = change(&flags, &agent).expect_err("no tool");
            let refused = format!("{refused:?}");
            assert!(refused.contains("goes with --tool"), "{refused}");
        }
    }

    #[test]
    fn what_is_no_json_is_told_with_what_would_be() {
        let said =
            |text: &str| not_json(&serde_json::from_str::<Value>(text).expect_err("no JSON"));
        let example = r#"write it like '{"text": "Hello"}', in single quotes"#;
        assert_eq!(
            said("text=x"),
            format!("--arguments: this is not JSON (see character 2); {example}")
        );
        assert_eq!(
            said(r#"{"text":"#),
            format!("--arguments: this is not JSON (it ends too early); {example}")
        );
    }

    #[test]
    fn choices_are_spelled_as_in_the_job_format() {
        assert_eq!(word(Misfire::RunOnce), json!("runOnce"));
        assert_eq!(word(Overlap::CancelOther), json!("cancelOther"));
        assert_eq!(word(Notify::Never), json!("never"));
    }
}
