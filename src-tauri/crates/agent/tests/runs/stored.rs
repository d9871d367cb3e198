//! Calls that write the value of a stored secret here: what hooks see of them.

use std::sync::Arc;

use rouse_agent::{CallAnswer, Hook, Secret, SecretValue};
use rouse_core::policy::ToolPolicy;
use rouse_core::tool::Annotations;
use rouse_testkit::scripted_model::Scripted;
use serde_json::json;

use super::guarded::{Guard, Keeper, Reached, VALUE, echoing, reached};
use super::house::{House, tools};

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
