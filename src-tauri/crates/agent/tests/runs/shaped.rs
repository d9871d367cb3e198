//! Commands that hold what only looks like a key: the person is asked, and nothing else lets them through.

use std::sync::{Arc, Mutex};

use rouse_agent::{Secret, SecretValue};
use rouse_core::approval::{Answer, Cover, NewGrant};
use rouse_core::message::Message;
use rouse_core::run::{Outcome, Run};
use rouse_core::tool::{Annotations, ApprovalRule, Domain, ToolOutput};
use rouse_core::{Job, RunState, SessionKey};
use rouse_testkit::scripted_model::{Scripted, calls};
use serde_json::{Value, json};

use super::house::{House, TestTool, agent_job, tools, turn_of};

const VALUE: &str = "sunflower-42-Tango";

/// What looks like a key of Stripe.
fn shaped() -> String {
    format!("sk_{}_{}", "live", "4eC39HqLyjWDarjtT1zdp7dc")
}

fn call(command: &str) -> Scripted {
    calls([("c0", "run_command", json!({ "command": command }))])
}

fn done() -> Scripted {
    calls([("c9", "complete_run", json!({"outcome": "report", "summary": "Done."}))])
}

/// A house with a secret, and runs of a job whose commands reach a host.
struct Commands {
    house: House,
    job: Job,
    /// The commands that were run.
    made: Arc<Mutex<Vec<Value>>>,
}

impl Commands {
    async fn of(script: Vec<Scripted>, policies: Value) -> Self {
        let made: Arc<Mutex<Vec<Value>>> = Arc::default();
        let kept = Arc::clone(&made);
        let run_command = TestTool::new("run_command", move |call, _| {
            kept.lock().expect("not poisoned").push(call.arguments()["command"].clone());
            Box::pin(std::future::ready(ToolOutput::ok("ran")))
        });
        let mut all = tools();
        all.push(Arc::new(run_command.with(|spec| {
            spec.parameters = json!({"type": "object"});
            spec.annotations = Annotations::ANYTHING;
            spec.approval = ApprovalRule::UnlessGranted;
            spec.domain = Domain::Container;
            spec.shell_text = vec!["command".to_owned()];
        })));
        let value = SecretValue::new(VALUE).expect("a value");
        let hosts = ["api.example.com".to_owned()];
        let secrets = vec![Secret::new("mail", value, &hosts).expect("a secret")];
        let house = House::guarded(script, all, secrets, Vec::new()).await;
        let job = agent_job(json!({ "message": "Do it." }), policies);
        Self { house, job, made }
    }

    async fn begin(&self) -> (Run, Outcome) {
        let run = self.house.run_of(Some(&self.job)).await;
        let outcome = self.go_on(&run).await;
        (run, outcome)
    }

    async fn go_on(&self, run: &Run) -> Outcome {
        let (house, turn) = (&self.house, turn_of(&self.job));
        house.driver().run_turn(run, &self.job, turn, house.chosen(), &house.cancel).await
    }

    async fn answered(&self, run: &Run, outcome: &Outcome, answer: &Answer) -> Outcome {
        self.house.park(run, outcome).await;
        self.house.decide(&outcome.asks[0], answer).await;
        self.house.start_again(run).await;
        self.go_on(run).await
    }

    fn made(&self) -> Vec<Value> {
        self.made.lock().expect("not poisoned").clone()
    }

    /// What the model was told of its calls.
    async fn told(&self) -> String {
        let said = self.house.transcript(&SessionKey::of_job(&self.job.id)).await;
        let results = said.into_iter().filter_map(|message| match message {
            Message::ToolResult { text, .. } => Some(text),
            _ => None,
        });
        results.collect::<Vec<_>>().join("\n")
    }
}

fn hosts() -> Value {
    json!({ "hosts": ["api.example.com"] })
}

#[tokio::test]
async fn a_command_that_holds_what_only_looks_like_a_key_is_asked_about_and_made_after_a_yes() {
    let command = format!("date\ngrep {} notes.md", shaped());
    for policies in [hosts(), json!({ "sandbox": "open" })] {
        let commands = Commands::of(vec![call(&command), done()], policies).await;
        let (run, outcome) = commands.begin().await;
        assert_eq!(outcome.state, RunState::AwaitingApproval, "{}", commands.told().await);
        let why = &outcome.asks[0].why;
        let shape = "It holds what looks like a key (stripe-access-token in command, line 2)";
        assert!(why.contains(shape), "{why}");
        assert_eq!(
            (commands.made(), &outcome.asks[0].arguments["command"]),
            (vec![], &json!(command))
        );
        let outcome = commands.answered(&run, &outcome, &Answer::Once).await;
        assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
        assert_eq!(commands.made(), [json!(command)]);
    }
}

#[tokio::test]
async fn a_command_that_holds_a_stored_value_is_refused_whatever_else_it_holds() {
    for command in [format!("echo {VALUE}"), format!("echo {VALUE} {}", shaped())] {
        let commands = Commands::of(vec![call(&command), done()], hosts()).await;
        let (_, outcome) = commands.begin().await;
        assert_eq!((outcome.state, commands.made()), (RunState::Succeeded, vec![]), "{outcome:?}");
        let told = commands.told().await;
        assert!(told.contains("Not sent:") && told.contains("secret:mail"), "{told}");
    }
}

#[tokio::test]
async fn a_job_that_asks_nobody_refuses_it_at_once_and_says_what_it_holds() {
    let policies = json!({ "hosts": ["api.example.com"], "approvals": "deny" });
    let commands = Commands::of(vec![call(&format!("echo {}", shaped())), done()], policies).await;
    let (_, outcome) = commands.begin().await;
    assert_eq!((outcome.state, commands.made()), (RunState::Succeeded, vec![]), "{outcome:?}");
    let told = commands.told().await;
    assert!(told.contains("needs a person's yes, and this job does not ask for it"), "{told}");
    assert!(told.contains("looks like a key (stripe-access-token in command)"), "{told}");
}

#[tokio::test]
async fn only_a_grant_for_exactly_this_command_covers_it() {
    let (one, other) = (format!("echo {}", shaped()), format!("echo {} more", shaped()));
    let script = vec![call(&one), done(), call(&one), done(), call(&other)];
    let commands = Commands::of(script, hosts()).await;
    let (run, outcome) = commands.begin().await;
    assert_eq!(outcome.state, RunState::AwaitingApproval, "{}", commands.told().await);
    let covers = Cover::exactly(&outcome.asks[0]);
    let grant = Answer::Always(NewGrant { covers, expires_at: None, uses: None });
    commands.answered(&run, &outcome, &grant).await;
    let (_, again) = commands.begin().await;
    assert_eq!((again.state, commands.made().len()), (RunState::Succeeded, 2), "{again:?}");
    let (_, other) = commands.begin().await;
    assert_eq!((other.state, commands.made().len()), (RunState::AwaitingApproval, 2), "{other:?}");
}

#[tokio::test]
async fn a_request_that_holds_one_is_refused_as_before() {
    let sends = calls([("c0", "send", json!({ "body": shaped() }))]);
    let open = Annotations { open_world: true, ..Annotations::READS };
    let send = TestTool::answering("send", ToolOutput::ok("sent")).with(|spec| {
        spec.parameters = json!({"type": "object"});
        spec.annotations = open;
    });
    let mut all = tools();
    all.push(Arc::new(send));
    let house = House::with_tools([sends, done()], all).await;
    let (run, outcome) = house.turn(json!({ "message": "Send it." })).await;
    assert_eq!(outcome.state, RunState::Succeeded, "{outcome:?}");
    let steps = house.steps(&run).await;
    let sent = steps.iter().find(|step| step.name == "send").expect("journalled");
    assert!(json!(sent.output).to_string().contains("Not sent:"), "{sent:?}");
}
