//! The job format as TypeScript sees it. Reading and writing live in `rouse_core::job`; a test holds the two together.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ts_rs::TS;

/// A job, as the store keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub struct Job {
    pub id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub enabled: bool,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
    pub schedule: Schedule,
    pub session_target: SessionTarget,
    pub wake_mode: WakeMode,
    pub payload: Payload,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Runtime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policies: Option<Policies>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_after_run: Option<bool>,
    /// Who made it: `{kind: "agent", runId, jobId?}` of one that a model has made. Any program may write here, so nothing
    /// about its shape is certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(type = "unknown", optional)]
    pub created_by: Option<serde_json::Value>,
    /// Who wrote its words last: the same of an agent, `{kind: "person"}` of a person where an agent did before. When
    /// absent, who made it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(type = "unknown", optional)]
    pub message_by: Option<serde_json::Value>,
    pub state: JobState,
}

/// A job to be made: everything but what the engine fills in. An `id` is kept when it is free (undo of a delete).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub struct JobDraft {
    pub id: Option<String>,
    pub name: String,
    pub description: Option<String>,
    pub enabled: Option<bool>,
    pub schedule: WrittenSchedule,
    pub session_target: Option<SessionTarget>,
    pub wake_mode: Option<WakeMode>,
    pub payload: Payload,
    pub isolation: Option<Isolation>,
    pub runtime: Option<Runtime>,
    pub policies: Option<Policies>,
    pub delete_after_run: Option<bool>,
    /// Who wrote its words, as in a job: of a copy or a proposal with the words of an agent.
    #[ts(type = "unknown", optional)]
    pub message_by: Option<serde_json::Value>,
}

/// When a job fires.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub enum Schedule {
    At {
        at_ms: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        tz: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter_ms: Option<u32>,
    },
    Every {
        every_ms: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        anchor_ms: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter_ms: Option<u32>,
    },
    Cron {
        expr: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        tz: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter_ms: Option<u32>,
    },
    Event {
        source: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        filters: Option<Map<String, Value>>,
    },
    Webhook {},
    Manual {},
}

/// A schedule as somebody writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(untagged)]
pub enum WrittenSchedule {
    /// As it is stored.
    Stored(Schedule),
    /// One instant, as a clock shows it.
    Clock(ClockTime),
}

/// A time on the wall clock of a zone, which the engine makes an instant by its own rules of that zone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
pub enum ClockTime {
    /// Once.
    At {
        /// `2026-12-24T18:00`. One that the zone skips is refused, one that comes twice is the first.
        at: String,
        /// The zone; the system's when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        tz: Option<String>,
        /// As in a stored schedule.
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter_ms: Option<u32>,
    },
}

/// What a run does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub enum Payload {
    SystemEvent {
        text: String,
    },
    AgentTurn {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        deliver: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout_seconds: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        fallbacks: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        use_tools: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_steps: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_tokens: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        effort: Option<Effort>,
        #[serde(skip_serializing_if = "Option::is_none")]
        context_paths: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        skills: Option<Vec<String>>,
    },
    ToolCall {
        tool: String,
        #[serde(default)]
        arguments: Map<String, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        notify_when: Option<NotifyWhen>,
    },
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$rename:meta])* $variant:ident),+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
        #[serde(rename_all = "camelCase")]
        #[expect(missing_docs, reason = "the words are the job format's, documented in rouse_core::job")]
        pub enum $name { $($(#[$rename])* $variant),+ }
    };
}

words!(/// How much the model of a job reasons.
    Effort { Low, Medium, High, Max });
words!(/// Which session a job works in.
    SessionTarget { Main, Isolated });
words!(/// When the main session gets its turn.
    WakeMode { Now, #[serde(rename = "next-heartbeat")] NextHeartbeat });
/// Which results of a tool call are worth a notification: a word, or a condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(untagged)]
pub enum NotifyWhen {
    /// A word.
    Word(NotifyWord),
    /// A CEL expression over `result`, `previous` and `state`.
    Condition {
        /// The expression.
        cel: String,
    },
}

words!(/// Which results of a tool call are worth a notification.
    NotifyWord { Always, Failure, Changed });
words!(/// Whether notifications wait for the end of quiet hours.
    QuietWord { Respect, Ignore });

/// What a job says about quiet hours: a word, or hours of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(untagged)]
pub enum QuietPolicy {
    /// Those of the settings, or none.
    Word(QuietWord),
    /// Its own.
    Own(QuietHours),
}

/// When notifications wait for the morning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct QuietHours {
    /// The first time of day, such as `22:00`.
    pub from: String,
    /// The time of day at which it ends; over midnight when it is the earlier one.
    pub to: String,
    /// The zone; the system's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tz: Option<String>,
    /// The days on which it begins, `mon` to `sun`; every day when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<Vec<String>>,
}

words!(/// Which outcomes are worth a notification.
    Notify { Always, Findings, Failure, Never });
words!(/// What becomes of calls that need a person's yes and have none.
    Approvals { Ask, Deny, Skip });
words!(/// How what a model has chosen to run is confined.
    Sandbox { Required, Open });
words!(/// A slot that comes while a run is still going.
    Overlap { Skip, Queue, Parallel, CancelOther });
words!(/// What happens with slots that passed.
    MisfireMode { Skip, RunOnce, RunAll });

/// Settings of the isolated session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Isolation {
    /// Stands before the summary in main.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_to_main_prefix: Option<String>,
}

/// Retries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Runtime {
    /// Attempts in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Pause before the second attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_backoff_ms: Option<u64>,
}

/// Policies; every one has a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub struct Policies {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misfire: Option<Misfire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_after_failures: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notify: Option<Notify>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_hours: Option<QuietPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals: Option<Approvals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folders: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
}

/// Slots that passed while nothing could fire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub struct Misfire {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<MisfireMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lateness_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Spending limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
pub struct Budget {
    /// Tokens of one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_run: Option<u64>,
    /// Tokens of all its runs of a day, in its zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// Dollars of one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_run: Option<f64>,
    /// Dollars of all its runs of a day, in its zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_day: Option<f64>,
}

/// What the engine knows about a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
#[ts(optional_fields)]
#[expect(missing_docs, reason = "the fields are the job format's, documented in rouse_core::job")]
pub struct JobState {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_run_at_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_run_at_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_status: Option<RfcStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_state: Option<super::RunState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_duration_ms: Option<i64>,
    pub consecutive_failures: u32,
    pub revision: i64,
}

words!(/// The RFC's three words.
    RfcStatus { Ok, Error, Skipped });

#[cfg(test)]
mod tests {
    use rouse_core::job::{self as core_job, job_from_json, job_to_json, stored_job_from_json};
    use rouse_core::money::MicroUsd;
    use rouse_core::{JobId, RunState, UnixMs};
    use serde_json::json;

    use super::*;

    const NOW: UnixMs = UnixMs(1_795_262_400_000);

    /// What TypeScript is told about a job must be all that a job can say.
    fn assert_told_whole<T: serde::de::DeserializeOwned + Serialize>(original: &Value) {
        let told: T = serde_json::from_value(original.clone())
            .unwrap_or_else(|error| panic!("{error} in {original:#}"));
        assert_eq!(&serde_json::to_value(&told).expect("JSON"), original);
    }

    /// A job in which everything is set. Without `..`: a field that is new in the core has to be met here.
    fn full(spec: core_job::ScheduleSpec, payload: core_job::Payload) -> core_job::Job {
        let has_slots = !matches!(
            spec,
            core_job::ScheduleSpec::Event(_)
                | core_job::ScheduleSpec::Webhook
                | core_job::ScheduleSpec::Manual
        );
        let jitter_ms = has_slots.then_some(5_000);
        core_job::Job {
            id: JobId::new("9f1c2d3e-0000-4000-8000-000000000001"),
            name: "Full".to_owned(),
            description: Some("Everything is set.".to_owned()),
            enabled: true,
            created_at: NOW,
            updated_at: NOW.plus_ms(1),
            schedule: core_job::Schedule { spec, jitter_ms, extra: Map::new() },
            session_target: match payload {
                core_job::Payload::SystemEvent { .. } => core_job::SessionTarget::Main,
                _ => core_job::SessionTarget::Isolated,
            },
            wake_mode: core_job::WakeMode::NextHeartbeat,
            payload,
            isolation: Some(core_job::Isolation {
                post_to_main_prefix: Some("News".to_owned()),
                extra: Map::new(),
            }),
            runtime: Some(core_job::Runtime {
                max_attempts: Some(3),
                retry_backoff_ms: Some(60_000),
                extra: Map::new(),
            }),
            policies: policies(),
            delete_after_run: true,
            state: state(),
            extra: Map::new(),
        }
    }

    fn policies() -> core_job::Policies {
        core_job::Policies {
            misfire: core_job::Misfire {
                mode: core_job::MisfireMode::RunAll,
                max_lateness_seconds: Some(3_600),
                limit: Some(5),
                extra: Map::new(),
            },
            overlap: core_job::Overlap::CancelOther,
            max_concurrent: Some(2),
            cooldown_seconds: Some(10),
            timeout_seconds: Some(120),
            pause_after_failures: Some(4),
            budget: Some(core_job::Budget {
                tokens_per_run: Some(10_000),
                tokens_per_day: Some(100_000),
                usd_per_run: Some(MicroUsd(250_000)),
                usd_per_day: Some(MicroUsd(1_500_000)),
                extra: Map::new(),
            }),
            notify: Some(core_job::Notify::Failure),
            quiet_hours: rouse_core::quiet::QuietPolicy::Ignore,
            approvals: core_job::Approvals::Deny,
            approval_seconds: Some(600),
            hosts: vec!["example.org".to_owned(), "nas:8080".to_owned()],
            folders: vec!["~/Notes:write".parse().expect("a folder")],
            sandbox: core_job::Sandbox::Open,
            extra: Map::new(),
        }
    }

    fn state() -> core_job::JobState {
        core_job::JobState {
            next_run_at: Some(NOW.plus_ms(60_000)),
            decided: rouse_core::slots::DecidedSlots::default(),
            last_run_at: Some(NOW),
            last_state: Some(RunState::TimedOut),
            last_error: Some("It took too long.".to_owned()),
            last_duration_ms: Some(120_000),
            consecutive_failures: 1,
            revision: 7,
            extra: Map::new(),
        }
    }

    fn specs() -> [core_job::ScheduleSpec; 6] {
        let tz = "Europe/Berlin".to_owned();
        [
            core_job::ScheduleSpec::At { at: NOW, tz: Some(tz.clone()) },
            core_job::ScheduleSpec::Every { every_ms: 600_000, anchor: NOW },
            core_job::ScheduleSpec::Cron { expr: "30 7 * * 1-5".to_owned(), tz },
            core_job::ScheduleSpec::Event(core_job::EventTrigger {
                source: "job".to_owned(),
                pattern: Some("^Done".to_owned()),
                filters: Map::from_iter([("jobId".to_owned(), json!("other"))]),
            }),
            core_job::ScheduleSpec::Webhook,
            core_job::ScheduleSpec::Manual,
        ]
    }

    fn payloads() -> [core_job::Payload; 3] {
        let turn = core_job::AgentTurn {
            message: "Look around.".to_owned(),
            deliver: Some(true),
            channel: Some("last".to_owned()),
            to: Some("somebody".to_owned()),
            timeout_seconds: Some(60),
            model: Some("tiny".to_owned()),
            fallbacks: vec!["ollama:small".to_owned()],
            use_tools: Some(true),
            tools: Some(vec!["echo".to_owned()]),
            max_steps: Some(4),
            max_tokens: Some(1_000),
            effort: Some(rouse_core::model::Effort::High),
            context_paths: vec!["notes.md".to_owned()],
            skills: vec!["weekly-report".to_owned()],
            extra: Map::new(),
        };
        let call = core_job::ToolCall {
            tool: "echo".to_owned(),
            arguments: json!({ "text": "hello", "deep": [{ "er": 1.5 }] }),
            notify_when: core_job::NotifyWhen::Changed,
            extra: Map::new(),
        };
        [
            core_job::Payload::SystemEvent { text: "Tea.".to_owned(), extra: Map::new() },
            core_job::Payload::AgentTurn(Box::new(turn)),
            core_job::Payload::ToolCall(call),
        ]
    }

    #[test]
    fn a_job_with_everything_set_is_told_whole() {
        for spec in specs() {
            for payload in payloads() {
                let job = full(spec.clone(), payload);
                let written = job_to_json(&job);
                assert_told_whole::<Job>(&written);
                assert_eq!(stored_job_from_json(written).expect("its own writing"), job);
            }
        }
    }

    #[test]
    fn a_job_with_nothing_but_the_necessary_is_told_whole() {
        let schedules = [
            json!({ "kind": "at", "atMs": NOW.0 + 1 }),
            json!({ "kind": "at", "at": "2096-12-24T18:00", "tz": "Europe/Berlin" }),
            json!({ "kind": "every", "everyMs": 1_000 }),
            json!({ "kind": "cron", "expr": "@daily" }),
            json!({ "kind": "event", "source": "wake" }),
            json!({ "kind": "webhook" }),
            json!({ "kind": "manual" }),
        ];
        let payloads = [
            json!({ "kind": "systemEvent", "text": "Tea." }),
            json!({ "kind": "agentTurn", "message": "Look around." }),
            json!({ "kind": "toolCall", "tool": "time" }),
        ];
        for schedule in &schedules {
            for payload in &payloads {
                let draft = json!({ "name": "Bare", "schedule": schedule, "payload": payload });
                let job = job_from_json(draft.clone(), NOW, chrono_tz::UTC).expect("a job");
                assert_told_whole::<Job>(&job_to_json(&job));
                serde_json::from_value::<JobDraft>(draft).expect("a draft");
            }
        }
    }

    #[test]
    fn every_word_of_the_job_format_is_a_word_of_the_wire() {
        let drafts = [
            ("wakeMode", json!(["now", "next-heartbeat"])),
            ("notify", json!(["always", "findings", "failure", "never"])),
            ("overlap", json!(["queue", "parallel", "cancelOther"])),
            ("mode", json!(["skip", "runAll"])),
            ("approvals", json!(["deny", "skip"])),
            ("sandbox", json!(["open"])),
            ("notifyWhen", json!(["always", "failure", "changed", { "cel": "result < 20" }])),
            ("quietHours", json!(["ignore", { "from": "22:00", "to": "07:00", "days": ["fri"] }])),
        ];
        for (key, words) in drafts {
            for word in words.as_array().expect("a list") {
                let mut draft = json!({
                    "name": "Words",
                    "schedule": { "kind": "manual" },
                    "payload": { "kind": "toolCall", "tool": "time" },
                    "policies": { "misfire": { "limit": 1 } },
                });
                match key {
                    "wakeMode" => draft[key] = word.clone(),
                    "notifyWhen" => draft["payload"][key] = word.clone(),
                    "mode" => draft["policies"]["misfire"][key] = word.clone(),
                    _ => draft["policies"][key] = word.clone(),
                }
                let job = job_from_json(draft, NOW, chrono_tz::UTC).expect("a job");
                let written = job_to_json(&job);
                assert!(written.to_string().contains(&format!("\"{key}\":{word}")), "{written}");
                assert_told_whole::<Job>(&written);
            }
        }
    }

    #[test]
    fn every_final_state_is_told() {
        use RunState::*;
        let states =
            [Succeeded, NothingToReport, Failed, TimedOut, Cancelled, Skipped, Missed, Interrupted];
        for last_state in states {
            let mut job = full(specs()[3].clone(), payloads()[0].clone());
            job.state.last_state = Some(last_state);
            assert_told_whole::<Job>(&job_to_json(&job));
        }
    }
}
