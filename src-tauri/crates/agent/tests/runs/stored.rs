//! Calls that write the value of a stored secret here: what hooks see of them, and what is made of them after a question.

use std::sync::Arc;

use rouse_agent::{CallAnswer, Hook, Secret, SecretValue};
use rouse_core::policy::ToolPolicy;
use rouse_core::tool::{Annotations, ApprovalRule};
use rouse_core::{Run, RunState};
use rouse_testkit::scripted_model::{Scripted, calls};
use serde_json::json;

use super::guarded::{Guard, Keeper, Reached, VALUE, done, echoing, reached};
use super::house::{House, agent_job, tools};

/// A house with two secrets and `keeper`, which writes here.
async fn house(script: Vec<Scripted>, hooks: Vec<Arc<dyn Hook>>) -> (House, Reached) {
    let made = Reached::default();
    let keeper = Keeper { inner: echoing("keeper", Annotations::OVERWRITES, &made) };
    let mut all = tools();
    all.push(Arc::new(keeper));
    let runner = echoing("runner", Annotations::OVERWRITES, &made);
    all.push(Arc::new(runner.with(|spec| spec.approval = ApprovalRule::UnlessGranted)));
    let secret = |name: &str, value: &str| {
        let value = SecretValue::new(value).expect("a value");
        Secret::new(name, value, &["api.example.com".to_owned()]).expect("a secret")
    };
    let secrets = vec![secret("mail", VALUE), secret("other", "harvest-17-Moon")];
    (House::guarded(script, all, secrets, hooks).await, made)
}

#[tokio::test]
async fn a_hook_sees_handles_and_what_it_makes_of_them_is_written_with_the_values() {
    let says = |text: &str| vec![CallAnswer::Rewrite(json!({ "text": text }))];
    for (made_of_it, written) in [
        ("key: {{secret:mail}}\n", format!("key: {VALUE}\n")),
        // It was not shown that one, so these are words.
        ("{{secret:mail}} {{secret:other}}", format!("{VALUE} {{{{secret:other}}}}")),
        ("nothing", "nothing".to_owned()),
    ] {
        let (guard, mut heard) = Guard::saying(says(made_of_it));
        let (house, made) = house(Vec::new(), vec![guard]).await;
        let arguments = json!({ "text": format!("key {VALUE}") });
        let (run, called) = house.pass(&ToolPolicy::default(), "keeper", arguments).await;
        assert!(called.reached_tool, "{called:?}");
        assert_eq!(reached(&made), [json!({ "text": written })]);
        let seen = heard.recv().await.expect("asked");
        assert_eq!(seen["before"], json!({ "text": "key {{secret:mail}}" }));
        let again = heard.recv().await.expect("asked about what it has made");
        assert!(!again.to_string().contains(VALUE), "{again}");
        assert!(!format!("{:?}", house.steps(&run).await).contains(VALUE));
    }
}

#[tokio::test]
async fn a_hook_sees_no_value_where_no_handle_can_stand_for_it() {
    let (guard, mut heard) = Guard::saying(Vec::new());
    let (house, made) = house(Vec::new(), vec![guard]).await;
    // A value beside the words of its handle, and one in another spelling.
    for text in [format!("{VALUE} {{{{secret:mail}}}}"), "c3VuZmxvd2VyLTQyLVRhbmdv".to_owned()] {
        let arguments = json!({ "text": text });
        let (_, called) = house.pass(&ToolPolicy::default(), "keeper", arguments.clone()).await;
        assert!(called.reached_tool, "{called:?}");
        assert_eq!(reached(&made).pop(), Some(arguments));
        let seen = heard.recv().await.expect("asked")["before"].to_string();
        assert!(seen.contains("[redacted: secret:mail]") && !seen.contains(&text), "{seen}");
        heard.recv().await.expect("told");
    }
}

#[tokio::test]
async fn a_write_that_waits_behind_another_call_s_question_is_made_as_it_was_written() {
    let held = json!({ "text": format!("key {VALUE}\n") });
    // What a model has written itself stands for nothing.
    let mark = json!({ "text": "key [redacted: secret:mail]" });
    let script = vec![
        calls([
            ("c0", "asks", json!({})),
            ("c1", "keeper", held.clone()),
            ("c2", "keeper", mark.clone()),
        ]),
        done(),
    ];
    let (house, made) = house(script, Vec::new()).await;
    let job = agent_job(json!({ "message": "Do it." }), json!({}));
    let run = house.run_of(Some(&job)).await;
    let outcome = house.go(&run, &job).await;
    assert_eq!(outcome.asks.len(), 1, "{outcome:?}");
    house.say_yes(&run, &outcome).await;
    assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
    assert_eq!(reached(&made), [held, mark]);
    assert!(!format!("{:?}", house.steps(&run).await).contains(VALUE));
}

/// The second park keeps what the first has kept.
#[tokio::test]
async fn nor_does_it_matter_how_often_its_run_has_waited() {
    let held = json!({ "text": format!("key {VALUE}") });
    let script = vec![
        calls([
            ("c0", "asks", json!({})),
            ("c1", "keeper", held.clone()),
            // The same question, which is asked when its turn comes.
            ("c2", "asks", json!({})),
            ("c3", "keeper", held.clone()),
        ]),
        done(),
    ];
    let (house, made) = house(script, Vec::new()).await;
    let job = agent_job(json!({ "message": "Do it." }), json!({}));
    let run = house.run_of(Some(&job)).await;
    for _ in 0..2 {
        let outcome = house.go(&run, &job).await;
        assert_eq!(outcome.asks.len(), 1, "{outcome:?}");
        house.say_yes(&run, &outcome).await;
    }
    assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
    assert_eq!(reached(&made), [held.clone(), held]);
}

/// Alone it would be refused, because the question would be written down; what waits is no other call.
#[tokio::test]
async fn a_call_that_cannot_be_kept_by_handles_is_refused_when_its_run_goes_on_and_never_made_with_a_mark()
 {
    let held = json!({ "text": format!("echo {VALUE} > .env") });
    let alone = vec![calls([("c0", "runner", held.clone())]), done()];
    let behind = vec![
        calls([
            ("c0", "asks", json!({})),
            ("c1", "runner", held.clone()),
            // The same question, behind which it is not asked about either.
            ("c2", "asks", json!({})),
            ("c3", "runner", held),
        ]),
        done(),
    ];
    let job = agent_job(json!({ "message": "Do it." }), json!({}));
    let (single, made) = house(alone, Vec::new()).await;
    let run = single.run_of(Some(&job)).await;
    assert_eq!(single.go(&run, &job).await.state, RunState::Succeeded);
    let refused = async |house: &House, run: &Run| {
        let steps = house.steps(run).await;
        let of_runner = steps.into_iter().filter(|step| step.name == "runner");
        of_runner.map(|step| step.output.expect("words").to_string()).collect::<Vec<_>>()
    };
    let words = refused(&single, &run).await;
    assert!(words[0].contains("the value of a stored secret"), "{words:?}");
    assert!(reached(&made).is_empty());

    let (house, made) = house(behind, Vec::new()).await;
    let run = house.run_of(Some(&job)).await;
    for _ in 0..2 {
        let outcome = house.go(&run, &job).await;
        let asked: Vec<&str> = outcome.asks.iter().map(|asked| asked.tool.as_str()).collect();
        assert_eq!(asked, ["asks"], "{outcome:?}");
        house.say_yes(&run, &outcome).await;
    }
    assert_eq!(house.go(&run, &job).await.state, RunState::Succeeded);
    assert!(reached(&made).is_empty(), "{:?}", reached(&made));
    assert_eq!(refused(&house, &run).await, [words[0].clone(), words[0].clone()]);
}
