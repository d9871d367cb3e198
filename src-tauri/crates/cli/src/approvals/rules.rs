//! `--rule`: what an argument may be in the calls that are allowed from now on.
//!
//! It refuses a name that the call does not have and its tool does not know: such a rule would change nothing, and whoever
//! has given it would believe that it does.

use std::collections::BTreeMap;

use rouse_core::near::instead;
use rouse_gateway::wire::{ApprovalView, ToolsCatalogResult};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::session::Session;

/// The rules as given, and for every other argument that it must stay as it is.
pub(super) async fn whole(
    session: &Session,
    id: &str,
    given: &[String],
) -> Result<BTreeMap<String, Value>, Failure> {
    let asked = session.call("approvals.get", json!({ "id": id })).await?;
    let asked: ApprovalView = serde_json::from_value(asked)?;
    let catalog = session.call("tools.catalog", json!({})).await?;
    let catalog: ToolsCatalogResult = serde_json::from_value(catalog)?;
    let tool = catalog.tools.into_iter().find(|tool| tool.name == asked.tool);
    let parameters = tool.map(|tool| tool.parameters).unwrap_or_default();
    of_call(&asked.arguments, &parameters, given)
}

/// The same of a call with these arguments, of a tool that takes those.
fn of_call(
    arguments: &Value,
    parameters: &Value,
    given: &[String],
) -> Result<BTreeMap<String, Value>, Failure> {
    let as_it_is = |(name, value): (&String, &Value)| {
        (name.clone(), json!({ "rule": "equals", "value": value }))
    };
    let fields = |of: &Value| {
        of.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let mut known = fields(arguments);
    known.extend(
        fields(&parameters["properties"]).into_iter().filter(|name| arguments[name].is_null()),
    );
    let mut rules: BTreeMap<String, Value> =
        arguments.as_object().into_iter().flatten().map(as_it_is).collect();
    for text in given {
        let (name, rule) = read(text)?;
        if !known.contains(&name) {
            return Err(unknown(text, &name, &known));
        }
        rules.insert(name, rule);
    }
    Ok(rules)
}

fn unknown(rule: &str, name: &str, known: &[String]) -> Failure {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let instead = instead(name, &known);
    Failure::input(format!("--rule {rule}: the call has no argument {name}{instead}"))
}

fn read(text: &str) -> Result<(String, Value), Failure> {
    let wrong = |why: &str| Failure::input(format!("--rule {text}: {why}"));
    let (name, rule) = text.split_once('=').ok_or_else(|| wrong("expected NAME=RULE"))?;
    let json_of = |text: &str| -> Result<Value, Failure> {
        serde_json::from_str(text).map_err(|error| wrong(&format!("expected JSON: {error}")))
    };
    let rule = match rule.split_once(':') {
        None if rule == "any" => json!({ "rule": "any" }),
        Some(("below", root)) => json!({ "rule": "below", "value": root }),
        Some(("equals", value)) => json!({ "rule": "equals", "value": json_of(value)? }),
        Some(("oneOf", values)) => json!({ "rule": "oneOf", "value": json_of(values)? }),
        _ => return Err(wrong("expected any, below:VALUE, equals:JSON or oneOf:JSON-LIST")),
    };
    Ok((name.to_owned(), rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_for_an_argument_that_there_is_not_is_refused_with_the_one_that_was_meant() {
        let arguments = json!({ "path": "a.txt", "content": "x" });
        let parameters = json!({ "properties": { "path": {}, "content": {}, "append": {} } });
        let of = |rule: &str| of_call(&arguments, &parameters, &[rule.to_owned()]);
        let rules = of("path=any").expect("an argument of the call");
        assert_eq!(rules["path"], json!({ "rule": "any" }));
        assert_eq!(rules["content"], json!({ "rule": "equals", "value": "x" }));
        assert!(of("append=any").is_ok(), "the tool knows it");
        let refused = |rule: &str| of(rule).expect_err("no argument").lines();
        assert_eq!(
            refused("pth=any"),
            ["--rule pth=any: the call has no argument pth; did you mean `path`?"]
        );
        assert_eq!(
            refused("colour=any"),
            ["--rule colour=any: the call has no argument colour; there are path, content, append"]
        );
    }

    #[test]
    fn rules_are_read_and_what_is_none_is_refused() {
        let rule = |text: &str| read(text).map(|(name, rule)| (name, rule.to_string()));
        let good = |text: &str| rule(text).expect("a rule");
        assert_eq!(
            good("url=below:https://a.b/c").1,
            r#"{"rule":"below","value":"https://a.b/c"}"#
        );
        assert_eq!(good("n=equals:3").1, r#"{"rule":"equals","value":3}"#);
        assert_eq!(good(r#"n=oneOf:["a","b"]"#).1, r#"{"rule":"oneOf","value":["a","b"]}"#);
        assert_eq!(good("n=any"), ("n".to_owned(), r#"{"rule":"any"}"#.to_owned()));
        for wrong in ["n", "n=", "n=some", "n=equals:x", "n=oneOf:[", "n=like:x"] {
            assert!(rule(wrong).is_err(), "{wrong}");
        }
    }
}
