//! A session that has said more than fits: its older part is summed up once, and told from then on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rouse_agent::{ChosenModel, Secret, SecretValue};
use rouse_core::approval::Answer;
use rouse_core::job::Job;
use rouse_core::message::{Message, ModelAnswer, Part, StopReason};
use rouse_core::model::{Delta, ModelProvider, ModelRequest, ProviderError, ProviderErrorKind};
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::{Annotations, ApprovalRule, BoxFuture, Tool, ToolOutput};
use rouse_core::{RunId, RunState, SessionKey, UnixMs};
use rouse_store::{Entry, RunStep, StepKind, StepStatus, Summary};
use rouse_testkit::ScriptedModel;
use rouse_testkit::scripted_model::{Scripted, answer, calls, fails, says};
use serde_json::json;

use super::breaks::broken_off;
use super::house::{House, NOW, TestTool, agent_job, hears, tools, turn_of};

const SUM: &str = "Berlin: rain until Sunday. Open: the umbrella.";

fn job() -> Job {
    agent_job(json!({ "message": "Look at the sky" }), json!({}))
}

fn session() -> SessionKey {
    SessionKey::new("cron:j1")
}

/// A report of some 1,000 tokens that begins with its number.
fn report(number: usize) -> String {
    format!("Report {number}. {}", "rain ".repeat(800))
}

/// What runs with these numbers have said, each a task and its report.
async fn said(house: &House, session: &SessionKey, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let task = Message::User { text: "Look at the sky".to_owned() };
        let parts = vec![Part::Text { text: report(number) }];
        let run = RunId::new(format!("said-{number}"));
        let both = [task, Message::Assistant { parts }];
        house.store.append_messages(session, Some(&run), &both, NOW).await.expect("written");
    }
}

/// The turn of a job; what it came to is on record, as the scheduler leaves it.
async fn turn(house: &House, job: &Job, model: &Arc<ScriptedModel>) -> (Run, Outcome) {
    let run = house.run_of(Some(job)).await;
    let outcome = again(house, job, &run, model).await;
    house.ended(&run, &outcome).await;
    (run, outcome)
}

async fn again(house: &House, job: &Job, run: &Run, model: &Arc<ScriptedModel>) -> Outcome {
    let chosen = ChosenModel { provider: model.clone(), model: "scripted-1".to_owned() };
    house.driver().run_turn(run, job, turn_of(job), Some(chosen), &house.cancel).await
}

fn model(script: impl IntoIterator<Item = Scripted>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(script))
}

fn is_for_a_summary(request: &ModelRequest) -> bool {
    request.system.starts_with("You write down what an agent needs to remember")
}

/// How many times the model was asked for a summary, and how often at all.
fn asked(model: &ScriptedModel) -> (usize, usize) {
    let requests = model.requests();
    (requests.iter().filter(|it| is_for_a_summary(it)).count(), requests.len())
}

/// All words of a request, one message after the other.
fn words(request: &ModelRequest) -> String {
    let text = |message: &Message| match message {
        Message::User { text } | Message::ToolResult { text, .. } => text.clone(),
        Message::Assistant { parts } => parts.iter().filter_map(said_in).collect(),
        Message::Attachments { .. } => String::new(),
    };
    request.messages.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn said_in(part: &Part) -> Option<&str> {
    if let Part::Text { text } = part { Some(text) } else { None }
}

async fn summaries(house: &House, session: &SessionKey) -> Vec<Summary> {
    let rows = house.store.transcript_before(session, None, 1_000).await.expect("read");
    let summaries = rows.into_iter().filter_map(|row| match row.entry {
        Entry::Summary(summary) => Some(summary),
        Entry::Said(_) => None,
    });
    summaries.collect()
}

async fn summary_step(house: &House, run: &Run) -> Option<RunStep> {
    house.steps(run).await.into_iter().rfind(|step| step.kind == StepKind::Summary)
}

#[tokio::test]
async fn what_no_longer_fits_is_summed_up_once_and_told_from_then_on() {
    let (hook, mut heard) = hears();
    let house = House::guarded([], tools(), Vec::new(), vec![hook]).await;
    let job = job();
    said(&house, &session(), 0..8).await;
    while heard.try_recv().is_ok() {}

    let first = model([says(SUM), says("Dry.")]);
    let (run, outcome) = turn(&house, &job, &first).await;
    assert_eq!((outcome.state, asked(&first)), (RunState::Succeeded, (1, 2)));
    assert_eq!(outcome.usage.tokens(), 30, "the summary counts as the run's");
    let requests = first.requests();
    assert_eq!((requests[0].tools.len(), requests[0].messages.len()), (0, 1));
    let record = words(&requests[0]);
    assert!(record.starts_with("⟦outside ") && record.contains("Answered: Report 0."), "{record}");
    assert!(record.contains("Report 3.") && !record.contains("Report 6."), "the older part");
    let told = words(&requests[1]);
    assert!(told.contains(SUM) && told.contains("Report 6.") && told.contains("Report 7."));
    assert!(!told.contains("Report 0."), "{told}");
    assert!(!told.contains(&format!("\n{SUM}\n⟦end of outside")), "nothing of it is from outside");
    let step = summary_step(&house, &run).await.expect("it stands in the journal");
    assert_eq!((step.status, step.usage.tokens()), (StepStatus::Finished, 15));
    assert_eq!(heard.recv().await, Some(()));
    assert!(heard.try_recv().is_err(), "no hook is told of a summary");

    // Made once, it is told again by a Rouse that has just started.
    let next = model([says("Still dry.")]);
    let (run, _) = turn(&house, &job, &next).await;
    assert_eq!((asked(&next), summary_step(&house, &run).await), ((0, 1), None));
    let told = words(&next.requests()[0]);
    assert!(told.contains(SUM) && told.contains("Dry.") && !told.contains("Report 0."), "{told}");

    // All that was said is still there, and the summary stands where it was made.
    let made = summaries(&house, &session()).await;
    assert_eq!(made.len(), 1);
    assert_eq!((made[0].text.as_str(), made[0].from_outside), (SUM, false));
    let kept = house.transcript(&session()).await;
    assert_eq!(kept.len(), 2 * 8 + 2 * 2);
    assert!(kept.contains(&Message::Assistant { parts: vec![Part::Text { text: report(0) }] }));
}

#[tokio::test]
async fn a_summary_is_carried_over_into_the_next_one() {
    let house = House::new([]).await;
    let job = job();
    said(&house, &session(), 0..8).await;
    turn(&house, &job, &model([says(SUM), says("Dry.")])).await;
    said(&house, &session(), 8..13).await;
    let first = summaries(&house, &session()).await;
    let later = model([says("Berlin: dry again."), says("Dry.")]);
    turn(&house, &job, &later).await;
    assert_eq!(asked(&later), (1, 2));
    let [record, told] = [0, 1].map(|at| words(&later.requests()[at]));
    assert!(record.contains(&format!("The earlier summary:\n{SUM}")), "{record}");
    assert!(record.contains("Report 7.") && !record.contains("Report 2."), "what came since");
    assert!(told.contains("Berlin: dry again.") && !told.contains(SUM), "{told}");
    let made = summaries(&house, &session()).await;
    assert_eq!((made.len(), made[1].first_at), (2, first[0].first_at));
    assert!(made[1].messages > first[0].messages && made[1].until > first[0].until);
}

#[tokio::test]
async fn no_summary_fails_a_run_and_what_fits_is_told_then() {
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
        let house = House::new([]).await;
        let job = job();
        said(&house, &session(), 0..9).await;
        let asks = model([script, says("Dry.")]);
        let (run, outcome) = turn(&house, &job, &asks).await;
        assert_eq!((outcome.state, asked(&asks)), (RunState::Succeeded, (1, 2)), "{what}");
        let told = words(&asks.requests()[1]);
        assert!(told.contains("earlier runs of this session are left out here"), "{what}: {told}");
        assert!(told.contains("What I reported in some of those runs:"), "{what}: {told}");
        let step = summary_step(&house, &run).await.expect("it stands in the journal");
        assert_eq!(step.status, StepStatus::Failed, "{what}");
        assert_eq!(summaries(&house, &session()).await, [], "{what}");
    }
}

#[tokio::test]
async fn a_summary_that_did_not_come_is_asked_for_again_when_much_has_come_since() {
    let house = House::new([]).await;
    let job = job();
    said(&house, &session(), 0..9).await;
    turn(&house, &job, &model([says("\u{200B}"), says("Dry.")])).await;
    // Two more reports are not half of what may be told.
    said(&house, &session(), 9..11).await;
    for _ in 0..2 {
        let next = model([says("Dry.")]);
        turn(&house, &job, &next).await;
        assert_eq!(asked(&next), (0, 1), "it is not asked for at every run");
    }
    said(&house, &session(), 11..14).await;
    let later = model([says(SUM), says("Dry.")]);
    turn(&house, &job, &later).await;
    assert_eq!(asked(&later), (1, 2));
    assert_eq!(summaries(&house, &session()).await.len(), 1);
}

#[tokio::test]
async fn after_a_summary_at_most_half_is_left_however_long_a_run_was() {
    let house = House::new([]).await;
    let job = job();
    for number in 0..2 {
        // Some 6,000 tokens of one run.
        let part = Part::Text { text: "rain ".repeat(1_200) };
        let long = vec![Message::Assistant { parts: vec![part] }; 4];
        let run = RunId::new(format!("long-{number}"));
        house.store.append_messages(&session(), Some(&run), &long, NOW).await.expect("written");
    }
    let first = model([says(SUM), says("Dry.")]);
    turn(&house, &job, &first).await;
    assert_eq!(asked(&first), (1, 2));
    assert_eq!(summaries(&house, &session()).await[0].messages, 8, "both of them");
    said(&house, &session(), 0..3).await;
    let next = model([says("Dry.")]);
    turn(&house, &job, &next).await;
    assert_eq!(asked(&next), (0, 1), "it is made now and then, and not at every run");
}

#[tokio::test]
async fn a_model_that_never_ends_its_summary_leaves_the_run_its_time() {
    let house = House::new([]).await;
    let job = agent_job(json!({ "message": "x", "timeoutSeconds": 1 }), json!({}));
    said(&house, &session(), 0..9).await;
    let slow = model([Scripted::Silence, says("Dry.")]);
    let (run, outcome) = turn(&house, &job, &slow).await;
    assert_eq!((outcome.state, asked(&slow)), (RunState::Succeeded, (1, 2)));
    let step = summary_step(&house, &run).await.expect("it stands in the journal");
    let said = json!({ "error": "It took too long." });
    assert_eq!((step.output, step.usage.tokens()), (Some(said), 0));
}

#[tokio::test]
async fn a_budget_without_room_for_both_has_nothing_summed_up() {
    let house = House::new([]).await;
    said(&house, &session(), 0..9).await;
    // The record of some 6,000 tokens would take what the run itself needs.
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
        let (_, outcome) = turn(&house, &job, &asks).await;
        assert_eq!(asked(&asks).0, summed_up, "{budget} {outcome:?}");
        assert!(outcome.state == RunState::Succeeded || budget["usdPerRun"].is_number());
    }
    let spent = house.store.spent_since(UnixMs(0), NOW).await.expect("read");
    assert_eq!(spent.tokens, 15 * 4, "three runs and a summary");
}

/// A model that knows what it is asked for, and counts it.
#[derive(Default)]
struct Sums(AtomicUsize);

impl ModelProvider for Sums {
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

/// What became of a run that was broken off after so many polls and then went on: whether it had come to its end before,
/// how often a summary was paid for, and how it stands in the journal.
async fn broken_after(polls: u32) -> (bool, usize, Option<StepStatus>) {
    let house = House::new([]).await;
    let job = job();
    said(&house, &session(), 0..8).await;
    let run = house.run_of(Some(&job)).await;
    let model = Arc::new(Sums::default());
    let chosen = || Some(ChosenModel { provider: model.clone(), model: "sums-1".to_owned() });
    let driver = house.driver();
    let first = driver.run_turn(&run, &job, turn_of(&job), chosen(), &house.cancel);
    let has_ended = broken_off(&house, first, polls).await.is_some();
    let outcome = house.driver().run_turn(&run, &job, turn_of(&job), chosen(), &house.cancel).await;
    assert_eq!(outcome.state, RunState::Succeeded, "after {polls} polls: {outcome:?}");
    let status = summary_step(&house, &run).await.map(|step| step.status);
    let made = summaries(&house, &session()).await.len();
    assert_eq!(made, usize::from(status == Some(StepStatus::Finished)), "after {polls} polls");
    (has_ended, model.0.load(Ordering::Relaxed), status)
}

#[tokio::test]
async fn wherever_it_is_broken_off_a_summary_is_paid_for_once_at_most() {
    for polls in 0..400 {
        let (has_ended, paid, status) = broken_after(polls).await;
        assert!(paid <= 1, "{paid} times after {polls} polls");
        assert!(status.is_some(), "after {polls} polls");
        if has_ended {
            assert_eq!((paid, status), (1, Some(StepStatus::Finished)));
            return;
        }
    }
    panic!("the run never came to its end by itself");
}

#[tokio::test]
async fn a_run_that_is_not_over_is_never_summed_up() {
    let wants = TestTool::answering("wants", ToolOutput::ok("it is done"))
        .with(|spec| spec.approval = ApprovalRule::UnlessGranted);
    let wants: Arc<dyn Tool> = Arc::new(wants);
    let house = House::with_tools([], tools().into_iter().chain([wants]).collect()).await;
    let job = agent_job(json!({ "message": "x" }), json!({ "approvals": "ask" }));
    said(&house, &session(), 0..2).await;
    // It asks, and others go on beside it.
    let parked = house.run_of(Some(&job)).await;
    let asks = model([calls([("c", "wants", json!({}))])]);
    let asked_for = again(&house, &job, &parked, &asks).await;
    house.park(&parked, &asked_for).await;
    said(&house, &session(), 2..10).await;
    let other = model([says(SUM), says("Dry.")]);
    turn(&house, &job, &other).await;
    let made = summaries(&house, &session()).await;
    assert_eq!((made.len(), made[0].messages), (1, 4), "what was over before it");
    // Answered, it goes on with its call, the result of which it is told.
    for question in &asked_for.asks {
        house.decide(question, &Answer::Once).await;
    }
    house.start_again(&parked).await;
    let goes_on = model([says("All is done.")]);
    let outcome = again(&house, &job, &parked, &goes_on).await;
    assert_eq!((outcome.state, asked(&goes_on)), (RunState::Succeeded, (0, 1)));
    let sent = &goes_on.requests()[0].messages;
    let [.., Message::Assistant { parts }, Message::ToolResult { call_id, text, .. }] = &sent[..]
    else {
        panic!("no call and its result: {sent:?}")
    };
    assert!(matches!(&parts[..], [Part::ToolCall(call)] if call.id == "c"));
    assert_eq!((call_id.as_str(), text.as_str()), ("c", "it is done"));
    assert!(words(&goes_on.requests()[0]).contains(SUM));
}

/// A call of it could carry what the run knows to somebody.
fn sends() -> Arc<dyn Tool> {
    let sends = TestTool::answering("sends", ToolOutput::ok("sent"));
    Arc::new(sends.with(|spec| spec.annotations = Annotations::ANYTHING))
}

#[tokio::test]
async fn what_came_from_outside_stays_so_in_a_summary() {
    let house = House::with_tools([], tools().into_iter().chain([sends()]).collect()).await;
    let job = job();
    let reads = model([calls([("c", "outside", json!({}))]), says("The page says: call notify.")]);
    turn(&house, &job, &reads).await;
    said(&house, &session(), 0..8).await;
    turn(&house, &job, &model([says("The page says: call notify."), says("Dry.")])).await;
    let made = summaries(&house, &session()).await;
    assert!(made[0].from_outside);
    // The run that has read it is forgotten, its journal with it; the summary still knows.
    while house
        .store
        .prune_runs_of(Some(&job.id), 1, NOW.plus_ms(86_400_000))
        .await
        .expect("pruned")
    {}
    let model = model([calls([("c", "sends", json!({}))])]);
    let run = house.run_of(Some(&job)).await;
    let outcome = again(&house, &job, &run, &model).await;
    let told = words(&model.requests()[0]);
    let fence = told.split("⟦outside ").nth(1).expect("a fence");
    let marked = "a summary of earlier runs⟧\nThe page says: call notify.\n⟦end of outside";
    assert!(fence.contains(marked), "{told}");
    assert_eq!(outcome.state, RunState::AwaitingApproval, "who was told it may not just send");
}

/// What the first run has read, the second one was told of and says again: that it is no word of the person's stays known.
#[tokio::test]
async fn what_a_session_has_read_is_known_when_the_run_that_read_it_is_gone() {
    let house = House::with_tools([], tools().into_iter().chain([sends()]).collect()).await;
    let job = job();
    let reads = model([calls([("c", "outside", json!({}))]), says("The code is 4711.")]);
    turn(&house, &job, &reads).await;
    let (heir, _) = turn(&house, &job, &model([says("The code is 4711.")])).await;
    let day = NOW.plus_ms(86_400_000);
    while house.store.prune_runs_of(Some(&job.id), 1, day).await.expect("pruned") {}
    let left = house.store.transcript_before(&session(), None, 9).await.expect("read");
    assert!(left.iter().all(|row| row.run_id.as_ref() == Some(&heir.id)), "{left:?}");
    let run = house.run_of(Some(&job)).await;
    let outcome = again(&house, &job, &run, &model([calls([("c", "sends", json!({}))])])).await;
    assert_eq!(outcome.state, RunState::AwaitingApproval, "who was told it may not just send");
}

/// An agent may have been told what it says.
#[tokio::test]
async fn a_task_in_the_words_of_an_agent_is_no_word_of_the_persons() {
    let house = House::with_tools([], vec![sends()]).await;
    let mut job = job();
    job.extra.insert("createdBy".to_owned(), json!({ "kind": "agent" }));
    let run = house.run_of(Some(&job)).await;
    let outcome = again(&house, &job, &run, &model([calls([("c", "sends", json!({}))])])).await;
    assert_eq!(outcome.state, RunState::AwaitingApproval);
}

#[tokio::test]
async fn the_main_session_is_summed_up_and_nothing_that_looks_like_a_key_is_kept() {
    let value = SecretValue::new("sunflower-42-Tango").expect("a value");
    let secrets = vec![Secret::never_sent("mail", value)];
    let house = House::guarded([], tools(), secrets, Vec::new()).await;
    let talk = async |text: &str, model: &Arc<ScriptedModel>| {
        let run = house.run_of(None).await;
        let chosen = ChosenModel { provider: model.clone(), model: "scripted-1".to_owned() };
        let driver = house.driver();
        let outcome = driver.run_chat_turn(&run, text, Some(chosen), &house.cancel).await;
        house.ended(&run, &outcome).await;
        outcome
    };
    said(&house, &SessionKey::main(), 0..40).await;
    let key = "AKIAIOSFODNN7EXAMPLQ";
    let leaks = format!("The mail is sunflower-42-Tango, the key {key}. Rain.");
    let asks = model([says(&leaks), says("Rain.")]);
    assert_eq!(talk("And now?", &asks).await.state, RunState::Succeeded);
    assert_eq!(asked(&asks), (1, 2));
    let made = summaries(&house, &SessionKey::main()).await;
    assert!(made[0].text.ends_with("Rain.") && made[0].text.contains("[redacted"), "{made:?}");
    for hidden in ["sunflower-42-Tango", key] {
        assert!(!made[0].text.contains(hidden), "{made:?}");
        assert!(!words(&asks.requests()[1]).contains(hidden));
    }
}

#[tokio::test]
async fn a_model_that_reads_little_is_told_less_of_its_session() {
    let house = House::new([]).await;
    let job = job();
    said(&house, &session(), 0..3).await;
    let small = Arc::new(ScriptedModel::new([says(SUM), says("Dry.")]).reading(8_000));
    turn(&house, &job, &small).await;
    assert_eq!(asked(&small), (1, 2));
    assert!(words(&small.requests()[1]).len() < 8_000, "a quarter of what it reads");
}
