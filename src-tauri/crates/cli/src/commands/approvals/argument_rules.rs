//! `--rule`: the argument values that a grant covers.
//!
//! Refuses the name of an unknown argument, because such a rule would have no effect.

use std::collections::BTreeMap;

use rouse_core::text::suggest;
use rouse_gateway::wire::ToolsCatalogResult;
use serde_json::{Value, json};

use crate::resolve::approvals::get_approval;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;

/// The rules of `texts`, and `equals` for each other argument of the call.
pub(super) async fn complete_rules(
    engine: &EngineConnection,
    id: &str,
    texts: &[String],
) -> Result<BTreeMap<String, Value>, CliError> {
    let approval = get_approval(engine, id).await?;
    let catalog: ToolsCatalogResult = engine.fetch("tools.catalog", json!({})).await?;
    let tool = catalog.tools.into_iter().find(|tool| tool.name == approval.tool);
    let parameters = tool.map(|tool| tool.parameters).unwrap_or_default();
    build_rules(&approval.arguments, &parameters, texts)
}

fn build_rules(
    arguments: &Value,
    parameters: &Value,
    texts: &[String],
) -> Result<BTreeMap<String, Value>, CliError> {
    let equals = |(name, value): (&String, &Value)| {
        (name.clone(), json!({ "rule": "equals", "value": value }))
    };
    let names = |object: &Value| {
        object.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let mut known = names(arguments);
    known.extend(
        names(&parameters["properties"]).into_iter().filter(|name| arguments[name].is_null()),
    );
    let mut rules: BTreeMap<String, Value> =
        arguments.as_object().into_iter().flatten().map(equals).collect();
    for text in texts {
        let (name, rule) = parse_rule(text)?;
        if !known.contains(&name) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let suggestion = suggest(&name, &known);
            return Err(CliError::input(format!(
                "--rule {text}: the call has no argument {name}{suggestion}"
            )));
        }
        rules.insert(name, rule);
    }
    Ok(rules)
}

fn parse_rule(text: &str) -> Result<(String, Value), CliError> {
    let error = |reason: &str| CliError::input(format!("--rule {text}: {reason}"));
    let (name, rule) = text.split_once('=').ok_or_else(|| error("expected NAME=RULE"))?;
    let parse_json = |text: &str| -> Result<Value, CliError> {
        serde_json::from_str(text)
            .map_err(|json_error| error(&format!("expected JSON: {json_error}")))
    };
    let rule = match rule.split_once(':') {
        None if rule == "any" => json!({ "rule": "any" }),
        Some(("below", root)) => json!({ "rule": "below", "value": root }),
        Some(("equals", value)) => json!({ "rule": "equals", "value": parse_json(value)? }),
        Some(("oneOf", values)) => json!({ "rule": "oneOf", "value": parse_json(values)? }),
        _ => return Err(error("expected any, below:VALUE, equals:JSON or oneOf:JSON-LIST")),
    };
    Ok((name.to_owned(), rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_for_unknown_argument_is_refused() {
        let arguments = json!({ "path": "a.txt", "content": "x" });
        let parameters = json!({ "properties": { "path": {}, "content": {}, "append": {} } });
        let build = |rule: &str| build_rules(&arguments, &parameters, &[rule.to_owned()]);
        let rules = build("path=any").expect("an argument of the call");
        assert_eq!(rules["path"], json!({ "rule": "any" }));
        assert_eq!(rules["content"], json!({ "rule": "equals", "value": "x" }));
        assert!(build("append=any").is_ok(), "a parameter of the tool");
        let refused = |rule: &str| build(rule).expect_err("no argument").lines();
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
    fn rule_syntax_is_checked() {
        let rule = |text: &str| parse_rule(text).map(|(name, rule)| (name, rule.to_string()));
        let valid = |text: &str| rule(text).expect("a rule");
        assert_eq!(
            valid("url=below:https://a.b/c").1,
            r#"{"rule":"below","value":"https://a.b/c"}"#
        );
        assert_eq!(valid("n=equals:3").1, r#"{"rule":"equals","value":3}"#);
        assert_eq!(valid(r#"n=oneOf:["a","b"]"#).1, r#"{"rule":"oneOf","value":["a","b"]}"#);
        assert_eq!(valid("n=any"), ("n".to_owned(), r#"{"rule":"any"}"#.to_owned()));
        for wrong in ["n", "n=", "n=some", "n=equals:x", "n=oneOf:[", "n=like:x"] {
            assert!(rule(wrong).is_err(), "{wrong}");
        }
    }
}
