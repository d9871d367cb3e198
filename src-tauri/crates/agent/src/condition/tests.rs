use serde_json::json;

use super::*;

async fn evaluate(source: &str, result: Value) -> ConditionVerdict {
    let input = ConditionInput {
        result,
        previous: json!({ "level": 30 }),
        state: json!({ "consecutiveFailures": 2 }),
        event: json!({ "source": "webhook", "text": "It broke", "fields": { "level": "red" } }),
    };
    ConditionEvaluator::default().evaluate(source, input).await
}

fn bare_input(result: Value) -> ConditionInput {
    ConditionInput { result, previous: Value::Null, state: json!({}), event: Value::Null }
}

async fn refusal(source: &str) -> String {
    ConditionEvaluator::default().check(source).await.expect_err(source)
}

#[tokio::test]
async fn condition_is_met_by_a_low_level() {
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
        assert_eq!(
            evaluate(source, result.clone()).await,
            ConditionVerdict::Met,
            "{source} of {result}"
        );
    }
    assert_eq!(
        evaluate("result.level < 20", json!({ "level": 80 })).await,
        ConditionVerdict::NotMet
    );
}

#[tokio::test]
async fn common_expressions_work() {
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
        assert_eq!(ConditionEvaluator::default().check(source).await, Ok(()), "{source}");
        assert_eq!(evaluate(source, result.clone()).await, ConditionVerdict::Met, "{source}");
    }
    assert_eq!(
        ConditionEvaluator::default()
            .evaluate("previous == null && event == null", bare_input(json!(1)))
            .await,
        ConditionVerdict::Met
    );
}

#[tokio::test]
async fn expression_without_a_boolean_is_refused_on_save() {
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
        assert_eq!(refusal(source).await, result_type::not_a_condition(kind), "{source}");
    }
    for source in ["result", "true", "result.plugged ? 1 : result.low", "max(result.a, result.b)"] {
        assert_eq!(ConditionEvaluator::default().check(source).await, Ok(()), "{source}");
    }
}

#[tokio::test]
async fn syntax_error_and_unknown_name_are_named() {
    for (source, expected) in [
        ("", "at character 1: unexpected end of the expression"),
        ("result.foo <", "at character 13: unexpected end of the expression"),
        ("(result.level < 20", "unexpected end of the expression"),
        ("result.level < < 20", "at character 16: `<` does not fit there"),
        ("result.level < 20)", "at character 18: `)` does not fit there"),
        ("level < 20", "there is no `level` here; there are result, previous, state, event"),
        ("result.cells.exists(c, d.volt < 3)", "there is no `d` here"),
        ("lower(result)", "there is no function `lower`"),
        ("result.level.toUpperCase() == 1", "there is no function `toUpperCase`"),
        ("Thing{a: 1} == result", "there is no type `Thing`"),
    ] {
        let refusal = refusal(source).await;
        assert!(refusal.contains(expected), "{source}: {refusal}");
    }
    for source in ["", "result.foo <", "result.level < < 20", "1 2", "'open", "a ? b", "#", "x..y"]
    {
        let refusal = refusal(source).await;
        let is_of_the_parser = ["expecting", "<EOF>", "IDENTIFIER", "token", "input"];
        assert!(!is_of_the_parser.iter().any(|word| refusal.contains(word)), "{source}: {refusal}");
    }
    let deep = refusal(&format!("{}result{} == 1", "(".repeat(400), ")".repeat(400))).await;
    assert_eq!(deep, "nested too deep; remove some brackets");
    let long = refusal(&format!("result == '{}'", "x".repeat(MAX_CONDITION_BYTES))).await;
    assert_eq!(long, "longer than 1024 bytes");
}

#[tokio::test]
async fn failed_evaluation_has_a_reason() {
    for (source, expected) in [
        ("result.other < 20", "there is no key `other`; `result` has level, name"),
        ("event.other < 20", "there is no key `other`; `event` has"),
        ("result.level < 20 && event.fields.size < 3", "there is no key `size`"),
        ("result.level", "the result is a number, not true or false"),
        ("result.name < 20", "overload"),
        ("json(result.name).x == 1", "the text is not JSON"),
        ("1 / 0 == 1", "zero"),
    ] {
        match evaluate(source, json!({ "level": 17, "name": "Main" })).await {
            ConditionVerdict::Broken(reason) => {
                assert!(reason.contains(expected), "{source}: {reason}")
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn error_lists_the_first_keys_in_name_form() {
    let broken = async |result: Value| match evaluate("result.level < 20", result).await {
        ConditionVerdict::Broken(reason) => reason,
        other => panic!("{other:?}"),
    };
    let bare = "there is no key `level`";
    assert_eq!(broken(json!({ "ignore all of this": 1, "": 2 })).await, bare);
    assert_eq!(
        broken(json!({ "status": 200, "a b": 1 })).await,
        format!("{bare}; `result` has status")
    );
    let many: serde_json::Map<_, _> = (10..40).map(|n| (format!("k{n}"), json!(n))).collect();
    let error = broken(Value::Object(many)).await;
    assert!(error.ends_with("k10, k11, k12, k13, k14, k15, k16, k17, k18, k19, …"), "{error}");
}

#[tokio::test]
async fn deeply_nested_source_does_not_overflow_the_stack() {
    let nested = format!("{}result{} == 1", "(".repeat(480), ")".repeat(480));
    let chained = format!("result == 1{}", "+1".repeat(500));
    let minus = format!("{}1 == result", "-".repeat(1_000));
    let lists = format!("{}{} == result", "[".repeat(490), "]".repeat(490));
    for source in [nested, chained, minus, lists] {
        assert!(source.len() <= MAX_CONDITION_BYTES);
        // Any result will do.
        drop(evaluate(&source, json!(1)).await);
    }
}

#[tokio::test]
async fn nested_loops_are_bounded() {
    let items: Vec<u32> = (0..5_000).collect();
    let items = json!({ "items": items });
    let once = "result.items.exists(a, a == 4999)";
    assert_eq!(evaluate(once, items.clone()).await, ConditionVerdict::Met);
    for source in [
        "result.items.map(a, result.items.map(b, a + b)).size() > 0",
        "result.items.exists(a, result.items.exists(b, a + b < 0))",
        "result.items.all(a, result.items.all(b, result.items.all(c, true)))",
    ] {
        match evaluate(source, items.clone()).await {
            ConditionVerdict::Broken(reason) => {
                assert_eq!(reason, "more than 10000 loop steps", "{source}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn concurrent_conditions_share_the_threads() {
    let evaluator = ConditionEvaluator::default();
    let tasks = (0..40).map(|n| {
        let evaluator = evaluator.clone();
        tokio::spawn(async move { evaluator.evaluate("result >= 20", bare_input(json!(n))).await })
    });
    let mut met = 0;
    for task in tasks.collect::<Vec<_>>() {
        met += usize::from(task.await.expect("an answer") == ConditionVerdict::Met);
    }
    assert_eq!(met, 20);
}

#[tokio::test]
async fn slow_conditions_do_not_block_another() {
    let evaluator =
        ConditionEvaluator { timeout: Duration::from_secs(2), ..ConditionEvaluator::default() };
    // Within the limits of size and steps, but each step takes long.
    let long = "a".repeat(2_000_000);
    let hog = json!({ "items": vec![0; 5_000], "long": long, "part": format!("{}b", "a".repeat(900_000)) });
    let spawn = |source: &'static str, result: &Value| {
        let (evaluator, result) = (evaluator.clone(), result.clone());
        tokio::spawn(async move { evaluator.evaluate(source, bare_input(result)).await })
    };
    for round in 0..2 {
        let hogs = [
            spawn("result.items.exists(a, result.long.contains(result.part))", &hog),
            spawn("result.items.filter(a, result.long.contains(result.part)) != []", &hog),
        ];
        // Both have a thread once no permit is left.
        while evaluator.threads.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let third = spawn("result == 1", &json!(1)).await.expect("an answer");
        assert_eq!(third, ConditionVerdict::Met, "round {round}");
        for hog in hogs {
            let hog = hog.await.expect("an answer");
            let ConditionVerdict::Broken(reason) = hog else { panic!("{hog:?}") };
            assert!(reason.contains("timed out after 2 seconds"), "{reason}");
        }
    }
}

#[tokio::test]
async fn size_of_created_values_is_bounded() {
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
        match evaluate(&source, long.clone()).await {
            ConditionVerdict::Broken(reason) => {
                assert!(reason.starts_with("too large"), "{source}: {reason}");
            }
            other => panic!("{source}: {other:?}"),
        }
    }
    let items = json!({ "items": vec![1; 5_000], "long": "a".repeat(100_000) });
    for source in [
        "result.items.map(a, result.long) == []",
        "result.items.exists(a, (result.long + result.long) == '')",
    ] {
        match evaluate(source, items.clone()).await {
            ConditionVerdict::Broken(reason) => {
                assert!(reason.starts_with("too large"), "{source}: {reason}")
            }
            other => panic!("{source}: {other:?}"),
        }
    }
    let kept = "result.items.filter(a, a == 1).map(a, a + 1).size() == 5000";
    assert_eq!(evaluate(kept, items).await, ConditionVerdict::Met);
}

#[tokio::test]
async fn slow_pattern_is_refused() {
    for (source, expected) in [
        ("result.matches('(?:[a-z]{0,50}){0,40}X')", "too slow"),
        (r"result.matches('(?:\\w{1,100}){1,9}z')", "too large"),
    ] {
        match evaluate(source, json!("a".repeat(60_000))).await {
            ConditionVerdict::Broken(reason) => {
                assert!(reason.contains(expected), "{source}: {reason}")
            }
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn evaluation_ends_when_cancelled() {
    let cancel = CancelFlag::default();
    let input = bare_input(json!([1]));
    let source = "result.map(x, x + x) == [2]";
    assert_eq!(is_met(source, &input, &cancel), Ok(true));
    cancel.cancel();
    let refusal = is_met(source, &input, &cancel).expect_err("cancelled");
    assert!(refusal.contains("cancelled"), "{refusal}");
}
