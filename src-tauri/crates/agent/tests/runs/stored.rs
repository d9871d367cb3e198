//! Calls that write the value of a stored secret here: what hooks see of them, and what is made of them after a question.

use std::sync::Arc;

use rouse_agent::{CallAnswer, Hook, Secret, SecretValue};
use rouse_core::RunState;
use rouse_core::policy::ToolPolicy;
use rouse_core::tool::Annotations;
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
