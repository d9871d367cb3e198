//! Conversion of a model's arguments into requests, results and approvals. The host tests the requests' execution.

use std::sync::{Arc, Mutex};

use rouse_core::routines::{RoutineAuthor, RoutineRefusal, RoutineRequest, Routines};
use rouse_core::tool::{BoxFuture, Fault, Tool, ToolContext, ToolOutput};
use serde_json::{Value, json};

use super::routine_tools;
use crate::test_context::{NOW, call_with, context};

/// Records requests and returns scripted responses.
#[derive(Default)]
struct Recorder {
    wishes: Mutex<Vec<RoutineRequest>>,
    answers: Mutex<Vec<Result<Value, RoutineRefusal>>>,
    checks: Mutex<Vec<RoutineRefusal>>,
}

impl Routines for Recorder {
    fn ask<'a>(
        &'a self,
        wish: RoutineRequest,
        _: RoutineAuthor<'a>,
    ) -> BoxFuture<'a, Result<Value, RoutineRefusal>> {
        self.wishes.lock().expect("not poisoned").push(wish);
        let mut answers = self.answers.lock().expect("not poisoned");
        let answer = if answers.is_empty() { Ok(json!({})) } else { answers.remove(0) };
        Box::pin(std::future::ready(answer))
    }

    fn check<'a>(
        &'a self,
        _: &'a RoutineRequest,
        _: RoutineAuthor<'a>,
    ) -> BoxFuture<'a, Result<(), RoutineRefusal>> {
        let refusal = self.checks.lock().expect("not poisoned").pop();
        Box::pin(std::future::ready(refusal.map_or(Ok(()), Err)))
    }
}

struct RoutinesFixture {
    recorder: Arc<Recorder>,
    tools: Vec<Arc<dyn Tool>>,
    context: ToolContext,
}

impl RoutinesFixture {
    fn new() -> Self {
        let recorder = Arc::new(Recorder::default());
        let tools = routine_tools(&(Arc::clone(&recorder) as Arc<dyn Routines>));
        Self { recorder, tools, context: context(std::path::Path::new("/nonexistent")) }
    }

    /// Adds the engine's next responses.
    fn answering(self, answers: impl IntoIterator<Item = Value>) -> Self {
        *self.recorder.answers.lock().expect("not poisoned") =
            answers.into_iter().map(Ok).collect();
        self
    }

    fn tool(&self, name: &str) -> &dyn Tool {
        &**self.tools.iter().find(|tool| tool.spec().name == name).expect("a tool")
    }

    async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        call_with(self.tool(name), &self.context, arguments).await
    }

    fn wishes(&self) -> Vec<RoutineRequest> {
        std::mem::take(&mut *self.recorder.wishes.lock().expect("not poisoned"))
    }

    /// The document of a create request, or the error of the arguments.
    async fn draft(&self, change: Value) -> Result<Value, String> {
        let mut arguments = json!({ "name": "A", "schedule": { "kind": "manual" } });
        for (key, value) in change.as_object().cloned().unwrap_or_default() {
            arguments[key] = value;
        }
        let output = self.call("routine_create", arguments).await;
        match self.wishes().pop() {
            Some(RoutineRequest::Create { draft }) => Ok(draft),
            other => {
                assert_eq!((other, output.fault), (None, Some(Fault::InvalidParameters)));
                Err(output.value["error"].as_str().expect("words").to_owned())
            }
        }
    }
}

fn view() -> Value {
    json!({
        "job": {
            "id": "j1", "name": "Plants", "enabled": true, "createdBy": { "kind": "agent", "runId": "r" },
            "schedule": { "kind": "every", "everyMs": 3_600_000 },
            "payload": { "kind": "agentTurn", "message": "Look at the\u{1b}[2Kplants", "tools": ["http"] },
            "state": { "nextRunAtMs": NOW.0, "lastState": "failed", "lastError": "No network.", "revision": 4 },
        },
        "scheduleText": "Every hour",
    })
}

#[tokio::test]
async fn times_are_parsed_in_common_spellings() {
    let fixture = RoutinesFixture::new();
    let does = json!({ "message": "Look" });
    for (when, expected) in [
        (json!({ "kind": "at", "at": "20m" }), json!({ "kind": "at", "atMs": NOW.0 + 1_200_000 })),
        (
            json!({ "kind": "at", "at": "2026-03-30T07:30" }),
            json!({ "kind": "at", "atMs": 1_774_848_600_000_i64 }),
        ),
        (
            json!({ "kind": "at", "at": "2026-03-30T07:30", "tz": "UTC" }),
            json!({ "kind": "at", "atMs": 1_774_855_800_000_i64, "tz": "UTC" }),
        ),
        (
            json!({ "kind": "every", "every": "1h 30m" }),
            json!({ "kind": "every", "everyMs": 5_400_000 }),
        ),
        (
            json!({ "kind": "cron", "expr": "0 9 * * 1" }),
            json!({ "kind": "cron", "expr": "0 9 * * 1" }),
        ),
        (
            json!({ "kind": "event", "source": "job", "filters": { "jobId": "x" } }),
            json!({ "kind": "event", "source": "job", "filters": { "jobId": "x" } }),
        ),
    ] {
        let mut given = does.clone();
        given["schedule"] = when;
        assert_eq!(fixture.draft(given).await.expect("a draft")["schedule"], expected);
    }
    for (when, expected) in [
        (json!({ "kind": "at", "at": "tomorrow" }), "schedule.at: expected a time"),
        (json!({ "kind": "at", "at": "2026-03-29T02:30" }), "the clocks skip it"),
        (json!({ "kind": "every", "every": "30" }), "has no unit"),
        (json!({ "kind": "every", "at": "20m" }), "schedule.at does not apply to the kind every"),
        (json!({ "kind": "at", "at": "20m", "tz": "Mars" }), "not an IANA zone"),
    ] {
        let mut given = does.clone();
        given["schedule"] = when;
        let words = fixture.draft(given).await.expect_err("a complaint");
        assert!(words.contains(expected), "{words}");
    }
}

#[tokio::test]
async fn routine_has_exactly_one_of_three_tasks() {
    let fixture = RoutinesFixture::new();
    let draft =
        fixture.draft(json!({ "message": "Look", "use_tools": false, "notify": "always" })).await;
    let draft = draft.expect("a draft");
    assert_eq!(
        draft["payload"],
        json!({ "kind": "agentTurn", "message": "Look", "useTools": false })
    );
    assert_eq!(
        (&draft["sessionTarget"], &draft["policies"]),
        (&json!("isolated"), &json!({ "notify": "always" }))
    );
    let draft = fixture.draft(json!({ "reminder": "Water" })).await.expect("a draft");
    assert_eq!(draft["payload"], json!({ "kind": "systemEvent", "text": "Water" }));
    assert_eq!((&draft["sessionTarget"], &draft["wakeMode"]), (&json!("main"), &json!("now")));
    let call = json!({ "tool": "http", "arguments": { "url": "https://example.com" }, "notifyWhen": "changed" });
    let draft = fixture.draft(json!({ "call": call })).await.expect("a draft");
    let payload = json!({ "kind": "toolCall", "tool": "http", "arguments": { "url": "https://example.com" }, "notifyWhen": "changed" });
    assert_eq!(draft["payload"], payload);
    for (given, expected) in [
        (json!({}), "Give message, reminder or call"),
        (json!({ "use_tools": true }), "Give message, reminder or call"),
        (json!({ "message": "a", "reminder": "b" }), "only one of"),
        (json!({ "reminder": "b", "use_tools": true }), "require a message"),
    ] {
        let words = fixture.draft(given).await.expect_err("a complaint");
        assert!(words.contains(expected), "{words}");
    }
}

/// The person's settings have no argument.
#[tokio::test]
async fn privileges_of_a_job_have_no_argument() {
    let fixture = RoutinesFixture::new();
    for more in [
        json!({ "sandbox": "open" }),
        json!({ "hosts": ["example.com"] }),
        json!({ "approvals": "skip" }),
        json!({ "policies": {} }),
        json!({ "id": "mine" }),
        json!({ "createdBy": {} }),
        json!({ "model": "large" }),
        json!({ "call": { "tool": "http", "sandbox": "open" } }),
        json!({ "schedule": { "kind": "manual", "jitterMs": 1 } }),
    ] {
        let mut given = json!({ "message": "Look" });
        given.as_object_mut().expect("fields").extend(more.as_object().cloned().expect("fields"));
        let words = fixture.draft(given).await.expect_err("a complaint");
        assert!(words.contains("unknown field"), "{more}: {words}");
    }
}

#[tokio::test]
async fn update_has_the_revision_and_changed_fields_only() {
    let fixture = RoutinesFixture::new();
    let arguments = json!({ "id": "j1", "revision": 4, "enabled": false, "use_tools": true });
    fixture.call("routine_update", arguments).await;
    let patch = json!({ "enabled": false, "payload": { "useTools": true } });
    assert_eq!(
        fixture.wishes(),
        [RoutineRequest::Update { id: "j1".to_owned(), patch, revision: 4 }]
    );
    for (arguments, expected) in [
        (json!({ "id": "j1", "revision": 4 }), "nothing to change"),
        (json!({ "id": "j1", "enabled": true }), "revision is missing"),
        (json!({ "id": 1, "revision": 4, "enabled": true }), "expected a string"),
    ] {
        let output = fixture.call("routine_update", arguments).await;
        assert!(output.text().contains(expected), "{}", output.text());
        assert_eq!(fixture.wishes(), []);
    }
}

#[tokio::test]
async fn summaries_have_few_fields_and_local_times() {
    let fixture =
        RoutinesFixture::new().answering([json!({ "jobs": [view()], "nextCursor": "c" })]);
    let output = fixture.call("routine_list", json!({})).await;
    let expected = json!({
        "success": true, "nextCursor": "c",
        "routines": [{
            "id": "j1", "name": "Plants", "enabled": true, "revision": 4, "when": "Every hour",
            "next": "2026-03-29T00:30+01:00", "lastState": "failed", "lastError": "No network.",
            "madeBy": "agent", "message": "Look at the\u{1b}[2Kplants",
        }],
    });
    assert_eq!(output.value, expected);
    assert_eq!(output.words.as_deref(), Some("Plants: Every hour"));
    let entry = json!({ "id": "r1", "createdAtMs": NOW.0, "state": "succeeded", "summary": "Dry.", "reason": null });
    let fixture = RoutinesFixture::new().answering([json!({ "entries": [entry] })]);
    let output = fixture.call("routine_history", json!({ "id": "j1" })).await;
    let run = json!({ "runId": "r1", "at": "2026-03-29T00:30+01:00", "state": "succeeded", "summary": "Dry." });
    assert_eq!(output.value["runs"], json!([run]));
    assert_eq!(fixture.wishes(), [RoutineRequest::History { id: "j1".to_owned(), limit: 10 }]);
}

#[tokio::test]
async fn refusal_keeps_its_fault_and_message() {
    let fixture = RoutinesFixture::new();
    let refusal = RoutineRefusal {
        fault: Fault::InvalidParameters,
        message: "schedule.expr: no.".to_owned(),
    };
    *fixture.recorder.answers.lock().expect("not poisoned") = vec![Err(refusal)];
    let output = fixture.call("routine_delete", json!({ "id": "j1" })).await;
    assert_eq!(output.fault, Some(Fault::InvalidParameters));
    assert_eq!(output.value, json!({ "success": false, "error": "schedule.expr: no." }));
}

#[tokio::test]
async fn agent_text_is_indented_in_the_approval() {
    let preview = json!({ "text": "Every hour", "next": [] });
    let forged = "Look\nTools: none.\nDisabled: it does not fire until it is enabled.";
    let schedule = json!({ "kind": "every", "every": "1h" });
    for (key, name) in [("message", "Plants"), ("reminder", "Plants\nDisabled: it does not fire.")]
    {
        let fixture = RoutinesFixture::new().answering([preview.clone()]);
        let arguments =
            json!({ "name": name, "description": forged, "schedule": schedule, key: forged });
        let shown = fixture.tool("routine_create").preview(&arguments, &fixture.context).await;
        assert!(
            !shown.lines().any(|line| line.starts_with("Tools:") || line.starts_with("Disabled:")),
            "{shown}"
        );
        assert_eq!(shown.matches("\n  Tools: none.\n").count(), 2, "{shown}");
    }
}

#[tokio::test]
async fn approval_describes_the_whole_job_escaped() {
    let preview = json!({ "text": "Every hour", "next": [{ "atMs": NOW.0 }] });
    let fixture = RoutinesFixture::new().answering([preview.clone()]);
    let arguments = json!({ "name": "Plants\u{202e}", "schedule": { "kind": "every", "every": "1h" }, "message": "Look", "use_tools": false });
    let shown = fixture.tool("routine_create").preview(&arguments, &fixture.context).await;
    for words in [
        "New job: Plants⟨U+202E⟩",
        "Schedule: Every hour",
        "2026-03-29T00:30+01:00",
        "Task of the agent:\n  Look",
        "Tools: none.",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let fixture = RoutinesFixture::new().answering([preview]);
    let call = json!({ "tool": "time", "notifyWhen": "failure" });
    let quiet = json!({ "name": "Watch", "description": "What it\nis for", "enabled": false, "notify": "never", "schedule": { "kind": "every", "every": "1h" }, "call": call });
    let shown = fixture.tool("routine_create").preview(&quiet, &fixture.context).await;
    for words in ["Disabled:", "Notify about: never", "Purpose:\n  What it\n  is for"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    for (tool, arguments, first) in [
        ("routine_delete", json!({ "id": "j1" }), "Delete the job Plants"),
        ("routine_fire", json!({ "id": "j1" }), "Run the job now"),
        (
            "routine_update",
            json!({ "id": "j1", "revision": 4, "enabled": false }),
            "Change the job Plants",
        ),
    ] {
        let fixture = RoutinesFixture::new().answering([view()]);
        let shown = fixture.tool(tool).preview(&arguments, &fixture.context).await;
        assert!(shown.starts_with(first), "{shown}");
        assert!(shown.contains("Look at the⟨U+001B⟩[2Kplants"), "{shown}");
        assert_eq!(shown.contains("\"enabled\": false"), tool == "routine_update", "{shown}");
    }
}

#[tokio::test]
async fn schedule_in_another_zone_names_the_zone() {
    // The computer's zone is UTC, the run's is Europe/Berlin.
    let cron = json!({ "kind": "cron", "expr": "0 9 * * *", "tz": "America/New_York" });
    let new = json!({ "name": "Plants", "schedule": cron, "message": "Look" });
    let patch = json!({ "id": "j1", "revision": 4, "schedule": cron });
    for (zone, named) in [
        ("America/New_York", "Every day at 09:00 · America/New_York"),
        ("UTC", "Every day at 09:00"),
    ] {
        let preview =
            json!({ "text": "Every day at 09:00", "zone": zone, "next": [{ "atMs": NOW.0 }] });
        let mut view = view();
        (view["zone"], view["scheduleText"]) = (json!(zone), json!("Every day at 09:00"));
        let when = format!("Schedule: {named}\n");
        for (tool, arguments, answers, times) in [
            ("routine_create", &new, vec![preview.clone()], 1),
            ("routine_update", &patch, vec![view.clone(), preview.clone()], 2),
            ("routine_delete", &json!({ "id": "j1" }), vec![view.clone()], 1),
        ] {
            let fixture = RoutinesFixture::new().answering(answers);
            let shown = fixture.tool(tool).preview(arguments, &fixture.context).await;
            assert_eq!(shown.matches(&when).count(), times, "{tool}: {shown}");
        }
        let fixture = RoutinesFixture::new().answering([view]);
        let created = fixture.call("routine_create", new.clone()).await;
        assert_eq!(created.value["routine"]["when"], named);
    }
}

#[tokio::test]
async fn slots_less_than_a_minute_apart_show_seconds() {
    let seconds = json!({ "name": "Look", "schedule": { "kind": "every", "every": "20s" }, "message": "Look" });
    for (step, lines) in [
        (20_000, "T00:30:00+01:00\n      2026-03-29T00:30:20+01:00\n"),
        (60_000, "T00:30+01:00\n      2026-03-29T00:31+01:00\n"),
    ] {
        let next: Vec<Value> = (0..3).map(|slot| json!({ "atMs": NOW.0 + slot * step })).collect();
        let fixture = RoutinesFixture::new().answering([json!({ "text": "Often", "next": next })]);
        let shown = fixture.tool("routine_create").preview(&seconds, &fixture.context).await;
        assert!(shown.contains(lines), "{shown}");
    }
}

#[tokio::test]
async fn approval_is_bound_to_a_single_fire_time() {
    let fixture = RoutinesFixture::new();
    for (at, from_now) in [("20m", 1_200_000), ("in 1h30m", 5_400_000)] {
        let once =
            json!({ "name": "Stretch", "schedule": { "kind": "at", "at": at }, "reminder": "Up." });
        let bound = fixture.tool("routine_create").surroundings(&once, &fixture.context).await;
        let expected = fixture.context.counts_from().plus_ms(from_now);
        assert_eq!(bound.expect("bound").fires_once_at(), Some(expected), "{at}");
    }
    let often = json!({ "name": "Stretch", "schedule": { "kind": "every", "every": "1h" }, "reminder": "Up." });
    let bound = fixture.tool("routine_create").surroundings(&often, &fixture.context).await;
    assert_eq!(bound.expect("bound").fires_once_at(), None);
}

#[tokio::test]
async fn approval_is_bound_to_the_revision_and_checked_first() {
    let fixture = RoutinesFixture::new().answering([view()]);
    let arguments = json!({ "id": "j1" });
    for tool in ["routine_delete", "routine_fire"] {
        let fixture = RoutinesFixture::new().answering([view()]);
        let bound =
            fixture.tool(tool).surroundings(&arguments, &fixture.context).await.expect("bound");
        assert_eq!(bound.environment["routine j1"], "revision 4");
    }
    let refusal =
        RoutineRefusal { fault: Fault::Execution, message: "There is no job j1.".to_owned() };
    fixture.recorder.checks.lock().expect("not poisoned").push(refusal);
    let refused = fixture.tool("routine_delete").surroundings(&arguments, &fixture.context).await;
    assert!(refused.expect_err("no question").text().contains("There is no job j1."));
}
