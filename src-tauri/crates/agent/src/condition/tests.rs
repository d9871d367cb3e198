use serde_json::json;

use super::*;

async fn judge(source: &str, result: Value) -> Verdict {
    let subject = Subject {
        result,
        previous: json!({ "level": 30 }),
        state: json!({ "consecutiveFailures": 2 }),
        event: json!({ "source": "webhook", "text": "It broke", "fields": { "level": "red" } }),
    };
    Conditions::default().judge(source, subject).await
}

async fn refusal(source: &str) -> String {
    Conditions::default().check(source).await.expect_err(source)
}

#[tokio::test]
async fn the_battery_is_told_only_when_it_is_low() {
    let check = json!({ "status": 200, "body": "{\"battery\": {\"level\": 17}}\n" });
    for (source, result) in [
        ("result.level < 20", json!({ "level": 17 })),
        ("result.level < 20", json!({ "level": 19.5 })),
        ("json(result.body).battery.level < 20", check),
        ("json(result.content) < 20", json!({ "size": 3, "content": "17\n" })),
        ("int(result) < 20", json!("17")),
        ("event.fields.level == 'red' && event.text.contains('broke')", json!(1)),
        ("result < 20", json!(17)),
    ] {
        assert_eq!(judge(source, result.clone()).await, Verdict::Met, "{source} of {result}");
    }
    assert_eq!(judge("result.level < 20", json!({ "level": 80 })).await, Verdict::NotMet);
}

#[tokio::test]
async fn what_a_person_would_try_works() {
    let result = json!({
        "level": 17, "name": "Main", "plugged": false, "big": u64::MAX,
        "cells": [{ "volt": 3.9 }, { "volt": 2.1 }],
    });
    for source in [
        "previous == null || result.level < previous.level",
        "result.level - previous.level < -10",
        "!result.plugged && result.name.startsWith('Ma')",
        "result.name.matches('^M[a-z]+$')",
        "result.cells.exists(cell, cell.volt < 3)",
        "result.cells.filter(cell, cell.volt > 3).size() == 1",
        "result.cells.all(a, result.cells.exists(b, a.volt != b.volt))",
        "has(result.level) && !has(result.other)",
        "size(result.cells) == 2 && 'level' in result",
        "result.level in [16, 17]",
        "state.consecutiveFailures >= 2",
        "type(result.level) == int",
        "result.big > 0",
        "result.level == 17.0 ? true : false",
        "result['name'] == \"Main\"",
        "timestamp('2026-01-01T00:00:00Z').getFullYear() == 2026",
    ] {
        assert_eq!(Conditions::default().check(source).await, Ok(()), "{source}");
        assert_eq!(judge(source, result.clone()).await, Verdict::Met, "{source}");
    }
    assert_eq!(
        Conditions::default()
            .judge(
                "previous == null && event == null",
                Subject {
                    result: json!(1),
                    previous: Value::Null,
                    state: json!({}),
                    event: Value::Null
                }
            )
            .await,
        Verdict::Met
    );
}

#[tokio::test]
async fn what_can_never_be_true_or_false_is_refused_when_it_is_written() {
    for (source, kind) in [
        ("1 + 1", "a number or a text"),
        ("result.level * 2", "a number"),
        ("'low'", "a text"),
        ("null", "nothing"),
        ("[result]", "a list"),
        ("{'level': result}", "an object"),
        ("size(result)", "a number"),
        ("result.cells.filter(cell, cell.volt > 3)", "a list"),
        ("result.cells.map(cell, cell.volt)", "a list"),
        ("result.plugged ? 1 : 'low'", "a number"),
        ("timestamp(result.at).getHours()", "a number"),
    ] {
        assert_eq!(refusal(source).await, answers::no_condition(kind), "{source}");
    }
    for source in ["result", "true", "result.plugged ? 1 : result.low", "max(result.a, result.b)"] {
        assert_eq!(Conditions::default().check(source).await, Ok(()), "{source}");
    }
}

#[tokio::test]
async fn what_means_nothing_is_refused_by_name() {
    for (source, said) in [
        ("", "at character 1: it ends here, and something is missing"),
        ("result.foo <", "at character 13: it ends here, and something is missing"),
        ("(result.level < 20", "it ends here, and something is missing"),
        ("result.level < < 20", "at character 16: `<` does not fit there"),
        ("result.level < 20)", "at character 18: `)` does not fit there"),
        ("level < 20", "there is no `level` here; there are result, previous, state, event"),
        ("result.cells.exists(c, d.volt < 3)", "there is no `d` here"),
        ("lower(result)", "there is no function `lower`"),
        ("result.level.toUpperCase() == 1", "there is no function `toUpperCase`"),
        ("Thing{a: 1} == result", "there is no type `Thing`"),
    ] {
        let refusal = refusal(source).await;
        assert!(refusal.contains(said), "{source}: {refusal}");
    }
    for source in ["", "result.foo <", "result.level < < 20", "1 2", "'open", "a ? b", "#", "x..y"]
    {
        let refusal = refusal(source).await;
        let is_of_the_parser = ["expecting", "<EOF>", "IDENTIFIER", "token", "input"];
        assert!(!is_of_the_parser.iter().any(|word| refusal.contains(word)), "{source}: {refusal}");
    }
    let deep = refusal(&format!("{}result{} == 1", "(".repeat(400), ")".repeat(400))).await;
    assert_eq!(deep, "too many parts of it stand inside each other; take some brackets away");
    let long = refusal(&format!("result == '{}'", "x".repeat(LONGEST))).await;
    assert_eq!(long, "it is longer than 1024 bytes");
}

#[tokio::test]
async fn what_cannot_be_worked_out_says_why() {
    for (source, said) in [
        ("result.other < 20", "there is no `other` in it; `result` has level, name"),
        ("event.other < 20", "there is no `other` in it; `event` has"),
        ("result.level < 20 && event.fields.size < 3", "there is no `size` in it"),
        ("result.level", "it answers a number, not true or false"),
        ("result.name < 20", "overload"),
        ("json(result.name).x == 1", "the text is not JSON"),
        ("1 / 0 == 1", "zero"),
    ] {
        match judge(source, json!({ "level": 17, "name": "Main" })).await {
            Verdict::Broken(reason) => assert!(reason.contains(said), "{source}: {reason}"),
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn of_a_result_only_the_first_keys_that_are_names_are_told() {
    let broken = async |result: Value| match judge("result.level < 20", result).await {
        Verdict::Broken(reason) => reason,
        other => panic!("{other:?}"),
    };
    let bare = "there is no `level` in it";
    assert_eq!(broken(json!({ "ignore all of this": 1, "": 2 })).await, bare);
    assert_eq!(
        broken(json!({ "status": 200, "a b": 1 })).await,
        format!("{bare}; `result` has status")
    );
    let many: serde_json::Map<_, _> = (10..40).map(|n| (format!("k{n}"), json!(n))).collect();
    let told = broken(Value::Object(many)).await;
    assert!(told.ends_with("k10, k11, k12, k13, k14, k15, k16, k17, k18, k19, …"), "{told}");
}

#[tokio::test]
async fn a_source_that_would_overflow_a_stack_does_not_end_the_process() {
    let nested = format!("{}result{} == 1", "(".repeat(480), ")".repeat(480));
    let chained = format!("result == 1{}", "+1".repeat(500));
    let minus = format!("{}1 == result", "-".repeat(1_000));
    let lists = format!("{}{} == result", "[".repeat(490), "]".repeat(490));
    for source in [nested, chained, minus, lists] {
        assert!(source.len() <= LONGEST);
        // Whatever it answers, it answers.
        drop(judge(&source, json!(1)).await);
    }
}

#[tokio::test]
async fn loops_inside_loops_come_to_an_end() {
    let items: Vec<u32> = (0..5_000).collect();
    let items = json!({ "items": items });
    let once = "result.items.exists(a, a == 4999)";
    assert_eq!(judge(once, items.clone()).await, Verdict::Met);
    for source in [
        "result.items.map(a, result.items.map(b, a + b)).size() > 0",
        "result.items.exists(a, result.items.exists(b, a + b < 0))",
        "result.items.all(a, result.items.all(b, result.items.all(c, true)))",
    ] {
        match judge(source, items.clone()).await {
            Verdict::Broken(reason) => {
                assert_eq!(reason, "it loops over more than 10000 things", "{source}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn many_at_once_take_their_turns() {
    let conditions = Conditions::default();
    let judged = (0..40).map(|n| {
        let conditions = conditions.clone();
        tokio::spawn(async move {
            let subject = Subject {
                result: json!(n),
                previous: Value::Null,
                state: json!({}),
                event: Value::Null,
            };
            conditions.judge("result >= 20", subject).await
        })
    });
    let mut met = 0;
    for judged in judged.collect::<Vec<_>>() {
        met += usize::from(judged.await.expect("an answer") == Verdict::Met);
    }
    assert_eq!(met, 20);
}

#[tokio::test]
async fn two_that_use_up_their_time_starve_no_third() {
    let conditions = Conditions { patience: Duration::from_secs(2), ..Conditions::default() };
    // Neither makes anything nor loops too often; each step takes long.
    let long = "a".repeat(2_000_000);
    let hog = json!({ "items": vec![0; 5_000], "long": long, "part": format!("{}b", "a".repeat(900_000)) });
    let judged = |source: &'static str, result: &Value| {
        let (conditions, result) = (conditions.clone(), result.clone());
        let subject =
            Subject { result, previous: Value::Null, state: json!({}), event: Value::Null };
        tokio::spawn(async move { conditions.judge(source, subject).await })
    };
    for round in 0..2 {
        let hogs = [
            judged("result.items.exists(a, result.long.contains(result.part))", &hog),
            judged("result.items.filter(a, result.long.contains(result.part)) != []", &hog),
        ];
        // They have their threads when nobody else can have one.
        while conditions.threads.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let third = judged("result == 1", &json!(1)).await.expect("an answer");
        assert_eq!(third, Verdict::Met, "round {round}");
        for hog in hogs {
            let hog = hog.await.expect("an answer");
            let Verdict::Broken(reason) = hog else { panic!("{hog:?}") };
            assert!(reason.contains("longer than 2 seconds"), "{reason}");
        }
    }
}

#[tokio::test]
async fn what_an_expression_makes_is_weighed() {
    let long = json!("a".repeat(20_000));
    let doubled = |step: &str, times: usize| format!("[result]{}==[]", step.repeat(times));
    for source in [
        doubled(".map(x,x+x)", 28),
        doubled(".map(x,[x,x])", 28),
        doubled(".map(x,{'a':x,'b':x})", 20),
        "[1].map(x,result+result).map(x,[x,x,x,x]).map(x,[x,x,x,x]).map(x,[x,x,x,x])\
            .map(x,[x,x,x,x]).map(x,[x,x,x,x]) == []"
            .to_owned(),
    ] {
        match judge(&source, long.clone()).await {
            Verdict::Broken(reason) => {
                assert!(reason.starts_with("it makes"), "{source}: {reason}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
    let items = json!({ "items": vec![1; 5_000], "long": "a".repeat(100_000) });
    for source in [
        "result.items.map(a, result.long) == []",
        "result.items.exists(a, (result.long + result.long) == '')",
    ] {
        match judge(source, items.clone()).await {
            Verdict::Broken(reason) => {
                assert!(reason.starts_with("it makes"), "{source}: {reason}")
            }
            other => panic!("{source}: {other:?}"),
        }
    }
    let kept = "result.items.filter(a, a == 1).map(a, a + 1).size() == 5000";
    assert_eq!(judge(kept, items).await, Verdict::Met);
}

#[tokio::test]
async fn a_pattern_that_would_be_slow_ends_without_an_answer() {
    for (source, said) in [
        ("result.matches('(?:[a-z]{0,50}){0,40}X')", "takes too long"),
        (r"result.matches('(?:\\w{1,100}){1,9}z')", "too large"),
    ] {
        match judge(source, json!("a".repeat(60_000))).await {
            Verdict::Broken(reason) => assert!(reason.contains(said), "{source}: {reason}"),
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn what_nobody_waits_for_ends() {
    let stop = Stop::default();
    let subject =
        Subject { result: json!([1]), previous: Value::Null, state: json!({}), event: Value::Null };
    let source = "result.map(x, x + x) == [2]";
    assert_eq!(holds(source, &subject, &stop), Ok(true));
    stop.now();
    let refusal = holds(source, &subject, &stop).expect_err("stopped");
    assert!(refusal.contains("nobody waits"), "{refusal}");
}
