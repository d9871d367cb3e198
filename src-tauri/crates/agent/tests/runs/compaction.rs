//! Compaction of a long session.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rouse_agent::{ChosenModel, Secret, SecretValue};
use rouse_core::approval::ApprovalDecision;
use rouse_core::job::Job;
use rouse_core::message::{Message, ModelAnswer, Part, StopReason};
use rouse_core::model::{Delta, ModelProvider, ModelRequest, ProviderError, ProviderErrorKind};
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::{Annotations, ApprovalRule, BoxFuture, Tool, ToolOutput};
use rouse_core::{RunId, RunState, SessionKey, UnixMs};
use rouse_store::{RunStep, StepKind, StepStatus, TranscriptEntry, TranscriptSummary};
use rouse_testkit::ScriptedModel;
use rouse_testkit::scripted_model::{Scripted, answer, calls, fails, says};
use serde_json::json;

use super::resume::broken_off;
use super::run_fixture::{NOW, RunFixture, TestTool, agent_job, hears, tools, turn_of};

const SUM: &str = "Berlin: rain until Sunday. Open: the umbrella.";

fn job() -> Job {
    agent_job(json!({ "message": "Look at the sky" }), json!({}))
}

fn session() -> SessionKey {
    SessionKey::new("cron:j1")
}

/// A report of about 1,000 tokens that begins with the number.
fn report(number: usize) -> String {
    format!("Report {number}. {}", "rain ".repeat(800))
}

/// Stores the messages of runs with these numbers, each a task and a report.
async fn store_runs(fixture: &RunFixture, session: &SessionKey, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let task = Message::User { text: "Look at the sky".to_owned() };
        let parts = vec![Part::Text { text: report(number) }];
        let run = RunId::new(format!("said-{number}"));
        let both = [task, Message::Assistant { parts }];
        fixture.store.append_messages(session, Some(&run), &both, NOW).await.expect("written");
    }
}

/// A turn of a job with the stored outcome, as stored by the scheduler.
async fn turn(fixture: &RunFixture, job: &Job, model: &Arc<ScriptedModel>) -> (Run, Outcome) {
    let run = fixture.run_of(Some(job)).await;
    let outcome = again(fixture, job, &run, model).await;
    fixture.ended(&run, &outcome).await;
    (run, outcome)
}

async fn again(fixture: &RunFixture, job: &Job, run: &Run, model: &Arc<ScriptedModel>) -> Outcome {
    let chosen = ChosenModel { provider: model.clone(), model: "scripted-1".to_owned() };
    fixture.driver().run_turn(run, job, turn_of(job), Some(chosen), &fixture.cancel).await
}

fn model(script: impl IntoIterator<Item = Scripted>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(script))
}

fn is_for_a_summary(request: &ModelRequest) -> bool {
    request.system.starts_with("You write down what an agent needs to remember")
}

/// The number of summary calls, and of all calls.
fn call_counts(model: &ScriptedModel) -> (usize, usize) {
    let requests = model.requests();
    (requests.iter().filter(|it| is_for_a_summary(it)).count(), requests.len())
}

/// The text of a request, message by message.
fn request_text(request: &ModelRequest) -> String {
    let text = |message: &Message| match message {
        Message::User { text } | Message::ToolResult { text, .. } => text.clone(),
        Message::Assistant { parts } => parts.iter().filter_map(part_text).collect(),
        Message::Attachments { .. } => String::new(),
    };
    request.messages.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn part_text(part: &Part) -> Option<&str> {
    if let Part::Text { text } = part { Some(text) } else { None }
}

async fn summaries(fixture: &RunFixture, session: &SessionKey) -> Vec<TranscriptSummary> {
    let rows = fixture.store.transcript_before(session, None, 1_000).await.expect("read");
    let summaries = rows.into_iter().filter_map(|row| match row.entry {
        TranscriptEntry::Summary(summary) => Some(summary),
        TranscriptEntry::Message(_) => None,
    });
    summaries.collect()
}

async fn summary_step(fixture: &RunFixture, run: &Run) -> Option<RunStep> {
    fixture.steps(run).await.into_iter().rfind(|step| step.kind == StepKind::Summary)
}

#[tokio::test]
async fn long_history_is_summed_up_once() {
    let (hook, mut heard) = hears();
    let fixture = RunFixture::guarded([], tools(), Vec::new(), vec![hook]).await;
    let job = job();
    store_runs(&fixture, &session(), 0..8).await;
    while heard.try_recv().is_ok() {}

    let first = model([says(SUM), says("Dry.")]);
    let (run, outcome) = turn(&fixture, &job, &first).await;
    assert_eq!((outcome.state, call_counts(&first)), (RunState::Succeeded, (1, 2)));
    assert_eq!(outcome.usage.tokens(), 30, "the summary counts as the run's");
    let requests = first.requests();
    assert_eq!((requests[0].tools.len(), requests[0].messages.len()), (0, 1));
    let record = request_text(&requests[0]);
    assert!(record.starts_with("⟦outside ") && record.contains("Answered: Report 0."), "{record}");
    assert!(record.contains("Report 3.") && !record.contains("Report 6."), "the older part");
    let told = request_text(&requests[1]);
    assert!(told.contains(SUM) && told.contains("Report 6.") && told.contains("Report 7."));
    assert!(!told.contains("Report 0."), "{told}");
    assert!(!told.contains(&format!("\n{SUM}\n⟦end of outside")), "no part is untrusted input");
    let step = summary_step(&fixture, &run).await.expect("a journal step");
    assert_eq!((step.status, step.usage.tokens()), (StepStatus::Finished, 15));
    assert_eq!(heard.recv().await, Some(()));
    assert!(heard.try_recv().is_err(), "no hook is notified of a summary");

    // A restarted process reuses the summary.
    let next = model([says("Still dry.")]);
    let (run, _) = turn(&fixture, &job, &next).await;
    assert_eq!((call_counts(&next), summary_step(&fixture, &run).await), ((0, 1), None));
    let told = request_text(&next.requests()[0]);
    assert!(told.contains(SUM) && told.contains("Dry.") && !told.contains("Report 0."), "{told}");

    // The transcript is complete, with the summary in place.
    let made = summaries(&fixture, &session()).await;
    assert_eq!(made.len(), 1);
    assert_eq!((made[0].text.as_str(), made[0].is_tainted), (SUM, false));
    let kept = fixture.transcript(&session()).await;
    assert_eq!(kept.len(), 2 * 8 + 2 * 2);
    assert!(kept.contains(&Message::Assistant { parts: vec![Part::Text { text: report(0) }] }));
}

#[tokio::test]
async fn earlier_summary_goes_into_the_next() {
    let fixture = RunFixture::new([]).await;
    let job = job();
    store_runs(&fixture, &session(), 0..8).await;
    turn(&fixture, &job, &model([says(SUM), says("Dry.")])).await;
    store_runs(&fixture, &session(), 8..13).await;
    let first = summaries(&fixture, &session()).await;
    let later = model([says("Berlin: dry again."), says("Dry.")]);
    turn(&fixture, &job, &later).await;
    assert_eq!(call_counts(&later), (1, 2));
    let [record, told] = [0, 1].map(|at| request_text(&later.requests()[at]));
    assert!(record.contains(&format!("The earlier summary:\n{SUM}")), "{record}");
    assert!(
        record.contains("Report 7.") && !record.contains("Report 2."),
        "the reports since the summary"
    );
    assert!(told.contains("Berlin: dry again.") && !told.contains(SUM), "{told}");
    let made = summaries(&fixture, &session()).await;
    assert_eq!((made.len(), made[1].first_at), (2, first[0].first_at));
    assert!(made[1].messages > first[0].messages && made[1].until > first[0].until);
}

#[tokio::test]
async fn failed_summary_leaves_the_messages_that_fit() {
    let no = vec![Part::Text { text: "No.".to_owned() }];
    let refused = Scripted::Answer(answer(no, StopReason::Refusal));
    let fail = fails(ProviderErrorKind::Overloaded, "come back later");
    let calls_a_tool = calls([("c", "echo", json!({ "text": "rain" }))]);
    for (what, script) in [
        ("fails", fail),
        ("says nothing", says(" \n")),
        ("says nothing that can be seen", says("\u{200B}\u{2060}\n\u{FEFF}\u{200E}")),
        ("calls a tool", calls_a_tool),
        ("refuses", refused),
    ] {
        let fixture = RunFixture::new([]).await;
        let job = job();
        store_runs(&fixture, &session(), 0..9).await;
        let asks = model([script, says("Dry.")]);
        let (run, outcome) = turn(&fixture, &job, &asks).await;
        assert_eq!((outcome.state, call_counts(&asks)), (RunState::Succeeded, (1, 2)), "{what}");
        let told = request_text(&asks.requests()[1]);
        assert!(told.contains("earlier runs of this session are left out here"), "{what}: {told}");
        assert!(told.contains("What I reported in some of those runs:"), "{what}: {told}");
        let step = summary_step(&fixture, &run).await.expect("a journal step");
        assert_eq!(step.status, StepStatus::Failed, "{what}");
        assert_eq!(summaries(&fixture, &session()).await, [], "{what}");
    }
}

#[tokio::test]
async fn failed_summary_is_retried_after_growth() {
    let fixture = RunFixture::new([]).await;
    let job = job();
    store_runs(&fixture, &session(), 0..9).await;
    turn(&fixture, &job, &model([says("\u{200B}"), says("Dry.")])).await;
    // Two more reports are less than half of the limit.
    store_runs(&fixture, &session(), 9..11).await;
    for _ in 0..2 {
        let next = model([says("Dry.")]);
        turn(&fixture, &job, &next).await;
        assert_eq!(call_counts(&next), (0, 1), "no summary call at every run");
    }
    store_runs(&fixture, &session(), 11..14).await;
    let later = model([says(SUM), says("Dry.")]);
    turn(&fixture, &job, &later).await;
    assert_eq!(call_counts(&later), (1, 2));
    assert_eq!(summaries(&fixture, &session()).await.len(), 1);
}

#[tokio::test]
async fn compaction_leaves_at_most_half() {
    let fixture = RunFixture::new([]).await;
    let job = job();
    for number in 0..2 {
        // About 6,000 tokens of a run.
        let part = Part::Text { text: "rain ".repeat(1_200) };
        let long = vec![Message::Assistant { parts: vec![part] }; 4];
        let run = RunId::new(format!("long-{number}"));
        fixture.store.append_messages(&session(), Some(&run), &long, NOW).await.expect("written");
    }
    let first = model([says(SUM), says("Dry.")]);
    turn(&fixture, &job, &first).await;
    assert_eq!(call_counts(&first), (1, 2));
    assert_eq!(summaries(&fixture, &session()).await[0].messages, 8, "both runs");
    store_runs(&fixture, &session(), 0..3).await;
    let next = model([says("Dry.")]);
    turn(&fixture, &job, &next).await;
    assert_eq!(call_counts(&next), (0, 1), "no summary call at every run");
}

#[tokio::test]
async fn endless_summary_leaves_time_for_the_run() {
    let fixture = RunFixture::new([]).await;
    let job = agent_job(json!({ "message": "x", "timeoutSeconds": 1 }), json!({}));
    store_runs(&fixture, &session(), 0..9).await;
    let slow = model([Scripted::Silence, says("Dry.")]);
    let (run, outcome) = turn(&fixture, &job, &slow).await;
    assert_eq!((outcome.state, call_counts(&slow)), (RunState::Succeeded, (1, 2)));
    let step = summary_step(&fixture, &run).await.expect("a journal step");
    let said = json!({ "error": "Timed out." });
    assert_eq!((step.output, step.usage.tokens()), (Some(said), 0));
}

#[tokio::test]
async fn small_budget_skips_the_summary() {
    let fixture = RunFixture::new([]).await;
    store_runs(&fixture, &session(), 0..9).await;
    // The record of about 6,000 tokens would leave too little for the run.
    for (budget, summed_up) in [
        (json!({ "tokensPerRun": 12_000 }), 0),
        (json!({ "tokensPerDay": 12_000 }), 0),
        (json!({ "usdPerRun": 1.0 }), 0),
        (json!({ "tokensPerRun": 40_000 }), 1),
    ] {
        let job = agent_job(json!({ "message": "x" }), json!({ "budget": budget }));
        let asks = match summed_up {
            0 => model([says("Dry.")]),
            _ => model([says(SUM), says("Dry.")]),
        };
        let (_, outcome) = turn(&fixture, &job, &asks).await;
        assert_eq!(call_counts(&asks).0, summed_up, "{budget} {outcome:?}");
        assert!(outcome.state == RunState::Succeeded || budget["usdPerRun"].is_number());
    }
    let spent = fixture.store.spent_since(UnixMs(0), NOW).await.expect("read");
    assert_eq!(spent.tokens, 15 * 4, "three runs and a summary");
}

/// A model that answers and counts summary calls.
#[derive(Default)]
struct SummaryModel(AtomicUsize);

impl ModelProvider for SummaryModel {
    fn name(&self) -> &str {
        "sums"
    }

    fn stream<'a>(
        &'a self,
        request: ModelRequest,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<ModelAnswer, ProviderError>> {
        let is_summary = is_for_a_summary(&request);
        self.0.fetch_add(usize::from(is_summary), Ordering::Relaxed);
        let text = if is_summary { SUM } else { "Dry." }.to_owned();
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(answer(vec![Part::Text { text }], StopReason::End))
        })
    }
}

/// Interrupts a run after so many polls and resumes the run. Returns whether the run had ended before, the number of
/// summary calls, and the summary's status in the journal.
async fn broken_after(polls: u32) -> (bool, usize, Option<StepStatus>) {
    let fixture = RunFixture::new([]).await;
    let job = job();
    store_runs(&fixture, &session(), 0..8).await;
    let run = fixture.run_of(Some(&job)).await;
    let model = Arc::new(SummaryModel::default());
    let chosen = || Some(ChosenModel { provider: model.clone(), model: "sums-1".to_owned() });
    let driver = fixture.driver();
    let first = driver.run_turn(&run, &job, turn_of(&job), chosen(), &fixture.cancel);
    let has_ended = broken_off(&fixture, first, polls).await.is_some();
    let outcome =
        fixture.driver().run_turn(&run, &job, turn_of(&job), chosen(), &fixture.cancel).await;
    assert_eq!(outcome.state, RunState::Succeeded, "after {polls} polls: {outcome:?}");
    let status = summary_step(&fixture, &run).await.map(|step| step.status);
    let made = summaries(&fixture, &session()).await.len();
    assert_eq!(made, usize::from(status == Some(StepStatus::Finished)), "after {polls} polls");
    (has_ended, model.0.load(Ordering::Relaxed), status)
}

#[tokio::test]
async fn interrupted_summary_is_paid_once() {
    for polls in 0..400 {
        let (has_ended, paid, status) = broken_after(polls).await;
        assert!(paid <= 1, "{paid} times after {polls} polls");
        assert!(status.is_some(), "after {polls} polls");
        if has_ended {
            assert_eq!((paid, status), (1, Some(StepStatus::Finished)));
            return;
        }
    }
    panic!("the run never ended");
}

#[tokio::test]
async fn open_run_is_not_summed_up() {
    let wants = TestTool::answering("wants", ToolOutput::ok("it is done"))
        .with(|spec| spec.approval = ApprovalRule::UnlessGranted);
    let wants: Arc<dyn Tool> = Arc::new(wants);
    let fixture = RunFixture::with_tools([], tools().into_iter().chain([wants]).collect()).await;
    let job = agent_job(json!({ "message": "x" }), json!({ "approvals": "ask" }));
    store_runs(&fixture, &session(), 0..2).await;
    // The run waits for an approval while others run.
    let parked = fixture.run_of(Some(&job)).await;
    let asks = model([calls([("c", "wants", json!({}))])]);
    let parked_again = again(&fixture, &job, &parked, &asks).await;
    fixture.park(&parked, &parked_again).await;
    store_runs(&fixture, &session(), 2..10).await;
    let other = model([says(SUM), says("Dry.")]);
    turn(&fixture, &job, &other).await;
    let made = summaries(&fixture, &session()).await;
    assert_eq!((made.len(), made[0].messages), (1, 4), "only runs before the open run");
    // After the approval the run resumes with the call.
    for approval in &parked_again.approvals {
        fixture.decide(approval, &ApprovalDecision::Once).await;
    }
    fixture.start_again(&parked).await;
    let goes_on = model([says("All is done.")]);
    let outcome = again(&fixture, &job, &parked, &goes_on).await;
    assert_eq!((outcome.state, call_counts(&goes_on)), (RunState::Succeeded, (0, 1)));
    let sent = &goes_on.requests()[0].messages;
    let [.., Message::Assistant { parts }, Message::ToolResult { call_id, text, .. }] = &sent[..]
    else {
        panic!("no call with a result: {sent:?}")
    };
    assert!(matches!(&parts[..], [Part::ToolCall(call)] if call.id == "c"));
    assert_eq!((call_id.as_str(), text.as_str()), ("c", "it is done"));
    assert!(request_text(&goes_on.requests()[0]).contains(SUM));
}

/// A tool with egress.
fn sends() -> Arc<dyn Tool> {
    let sends = TestTool::answering("sends", ToolOutput::ok("sent"));
    Arc::new(sends.with(|spec| spec.annotations = Annotations::ANYTHING))
}

#[tokio::test]
async fn summary_of_untrusted_input_is_tainted() {
    let fixture = RunFixture::with_tools([], tools().into_iter().chain([sends()]).collect()).await;
    let job = job();
    let reads = model([calls([("c", "outside", json!({}))]), says("The page says: call notify.")]);
    turn(&fixture, &job, &reads).await;
    store_runs(&fixture, &session(), 0..8).await;
    turn(&fixture, &job, &model([says("The page says: call notify."), says("Dry.")])).await;
    let made = summaries(&fixture, &session()).await;
    assert!(made[0].is_tainted);
    // The tainted run and the journal are deleted; the summary keeps the taint.
    while fixture
        .store
        .prune_runs_of(Some(&job.id), 1, NOW.plus_ms(86_400_000))
        .await
        .expect("pruned")
    {}
    let model = model([calls([("c", "sends", json!({}))])]);
    let run = fixture.run_of(Some(&job)).await;
    let outcome = again(&fixture, &job, &run, &model).await;
    let told = request_text(&model.requests()[0]);
    let fence = told.split("⟦outside ").nth(1).expect("a fence");
    let marked = "a summary of earlier runs⟧\nThe page says: call notify.\n⟦end of outside";
    assert!(fence.contains(marked), "{told}");
    assert_eq!(outcome.state, RunState::AwaitingApproval, "the taint requires an approval");
}

/// The second run repeats untrusted input of the first; the taint stays.
#[tokio::test]
async fn taint_outlives_the_deleted_run() {
    let fixture = RunFixture::with_tools([], tools().into_iter().chain([sends()]).collect()).await;
    let job = job();
    let reads = model([calls([("c", "outside", json!({}))]), says("The code is 4711.")]);
    turn(&fixture, &job, &reads).await;
    let (heir, _) = turn(&fixture, &job, &model([says("The code is 4711.")])).await;
    let day = NOW.plus_ms(86_400_000);
    while fixture.store.prune_runs_of(Some(&job.id), 1, day).await.expect("pruned") {}
    let left = fixture.store.transcript_before(&session(), None, 9).await.expect("read");
    assert!(left.iter().all(|row| row.run_id.as_ref() == Some(&heir.id)), "{left:?}");
    let run = fixture.run_of(Some(&job)).await;
    let outcome = again(&fixture, &job, &run, &model([calls([("c", "sends", json!({}))])])).await;
    assert_eq!(outcome.state, RunState::AwaitingApproval, "the taint requires an approval");
}

/// An agent may have written the task on untrusted input.
#[tokio::test]
async fn task_written_by_an_agent_is_untrusted() {
    let fixture = RunFixture::with_tools([], vec![sends()]).await;
    let mut job = job();
    job.created_by = Some(json!({ "kind": "agent" }));
    let run = fixture.run_of(Some(&job)).await;
    let outcome = again(&fixture, &job, &run, &model([calls([("c", "sends", json!({}))])])).await;
    assert_eq!(outcome.state, RunState::AwaitingApproval);
}

#[tokio::test]
async fn main_session_summary_is_redacted() {
    let value = SecretValue::new("sunflower-42-Tango").expect("a value");
    let secrets = vec![Secret::redacted_only("mail", value)];
    let fixture = RunFixture::guarded([], tools(), secrets, Vec::new()).await;
    let talk = async |text: &str, model: &Arc<ScriptedModel>| {
        let run = fixture.run_of(None).await;
        let chosen = ChosenModel { provider: model.clone(), model: "scripted-1".to_owned() };
        let driver = fixture.driver();
        let outcome = driver.run_chat_turn(&run, text, Some(chosen), &fixture.cancel).await;
        fixture.ended(&run, &outcome).await;
        outcome
    };
    store_runs(&fixture, &SessionKey::main(), 0..40).await;
    let key = "AKIAIOSFODNN7EXAMPLQ";
    let leaks = format!("The mail is sunflower-42-Tango, the key {key}. Rain.");
    let asks = model([says(&leaks), says("Rain.")]);
    assert_eq!(talk("And now?", &asks).await.state, RunState::Succeeded);
    assert_eq!(call_counts(&asks), (1, 2));
    let made = summaries(&fixture, &SessionKey::main()).await;
    assert!(made[0].text.ends_with("Rain.") && made[0].text.contains("[redacted"), "{made:?}");
    for hidden in ["sunflower-42-Tango", key] {
        assert!(!made[0].text.contains(hidden), "{made:?}");
        assert!(!request_text(&asks.requests()[1]).contains(hidden));
    }
}

#[tokio::test]
async fn small_context_window_gets_less_history() {
    let fixture = RunFixture::new([]).await;
    let job = job();
    store_runs(&fixture, &session(), 0..3).await;
    let small = Arc::new(ScriptedModel::new([says(SUM), says("Dry.")]).reading(8_000));
    turn(&fixture, &job, &small).await;
    assert_eq!(call_counts(&small), (1, 2));
    assert!(request_text(&small.requests()[1]).len() < 8_000, "a quarter of the context window");
}
