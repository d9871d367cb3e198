//! What a job's policies say, in words: one line each for those that are not the default.
//!
//! The job format leaves defaults out, so whatever stands there was chosen. A key that has no words here is shown as it is
//! written: a newer engine may know more than this program. It refuses to explain the defaults; `--help` does.

use rouse_core::money::MicroUsd;
use rouse_core::schedule::format_duration;
use rouse_core::words::grouped;
use serde_json::{Map, Value};

use crate::output::{plain, short};

/// The lines of `job`, each with what it is about.
pub(super) fn lines(job: &Value) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let mut line =
        |about: &'static str, text: Option<String>| lines.extend(text.map(|text| (about, text)));
    line("spread", span(&job["schedule"], "jitterMs", 1).map(|span| format!("by up to {span}")));
    line(
        "after",
        (job["deleteAfterRun"] == true).then(|| "it is deleted after its run".to_owned()),
    );
    line("retry", retries(&job["runtime"]));
    let payload = &job["payload"];
    line("model", payload["model"].as_str().map(plain));
    line("else", names(&payload["fallbacks"]));
    line("tools", tools(payload));
    line("skills", names(&payload["skills"]));
    line("steps", payload["maxSteps"].as_u64().map(|most| format!("at most {most}")));
    line("tells", condition(&payload["notifyWhen"]));
    let nothing = Map::new();
    for (key, value) in job["policies"].as_object().unwrap_or(&nothing) {
        let (about, text) = policy(key, value, &job["policies"]);
        line(about, text);
    }
    lines
}

/// One policy; no text for one that is told together with another.
fn policy(key: &str, value: &Value, all: &Value) -> (&'static str, Option<String>) {
    let word = value.as_str().unwrap_or_default();
    match key {
        "misfire" => ("missed", Some(misfire(value))),
        "overlap" => ("overlap", overlap(word, all)),
        "maxConcurrent" => ("overlap", None),
        "cooldownSeconds" => (
            "pace",
            span(all, key, 1_000).map(|span| format!("at least {span} between two starts")),
        ),
        "timeoutSeconds" => {
            ("ends", span(all, key, 1_000).map(|span| format!("a run is ended after {span}")))
        }
        "pauseAfterFailures" => ("pauses", Some(format!("after {value} failures in a row"))),
        "quietHours" => ("quiet", Some(quiet(value))),
        "notify" => ("tells", Some(word.to_owned())),
        "approvals" => ("asks", Some(approvals(word).to_owned())),
        "approvalSeconds" => {
            ("asks", span(all, key, 1_000).map(|span| format!("and waits {span} for an answer")))
        }
        "sandbox" if word == "open" => (
            "sandbox",
            Some("none: its commands may run with your own rights, each one asked for".to_owned()),
        ),
        "budget" => ("budget", budget(value)),
        "hosts" => ("hosts", Some(listed(value))),
        other => ("and", Some(format!("{}: {}", plain(other), short(&value.to_string(), 80)))),
    }
}

fn misfire(misfire: &Value) -> String {
    let made_up = match (misfire["mode"].as_str(), &misfire["limit"]) {
        (Some("skip"), _) => "not made up for".to_owned(),
        (Some("runAll"), Value::Null) => "each is made up for".to_owned(),
        (Some("runAll"), most) => format!("each is made up for, the newest {most}"),
        _ => "one late run stands for all".to_owned(),
    };
    match span(misfire, "maxLatenessSeconds", 1_000) {
        Some(most) => format!("{made_up}, unless it is more than {most} late"),
        None => made_up,
    }
}

fn overlap(word: &str, all: &Value) -> Option<String> {
    Some(match word {
        "queue" => "a slot waits for the run before it".to_owned(),
        "parallel" => match all["maxConcurrent"].as_u64() {
            Some(most) => format!("up to {most} runs beside each other"),
            None => "runs go beside each other".to_owned(),
        },
        "cancelOther" => "a slot ends the run before it".to_owned(),
        _ => return None,
    })
}

fn retries(runtime: &Value) -> Option<String> {
    let attempts = runtime["maxAttempts"].as_u64().filter(|most| *most > 1)?;
    let pause = span(runtime, "retryBackoffMs", 1).map(|span| format!(", the first after {span}"));
    Some(format!("up to {attempts} attempts{}", pause.unwrap_or_default()))
}

fn condition(when: &Value) -> Option<String> {
    match when {
        Value::String(word) if word != "always" => Some(format!("only on {}", plain(word))),
        Value::Object(cel) => Some(format!("only when {}", short(cel.get("cel")?.as_str()?, 100))),
        _ => None,
    }
}

fn quiet(hours: &Value) -> String {
    let part = |key: &str| plain(hours[key].as_str().unwrap_or_default());
    match hours {
        Value::String(_) => "it may speak at any time".to_owned(),
        _ => {
            let zone = format!("from {} to {} {}", part("from"), part("to"), part("tz"));
            let nights = names(&hours["days"]).map(|days| format!(", nights that begin on {days}"));
            format!("{}{}", zone.trim_end(), nights.unwrap_or_default())
        }
    }
}

fn approvals(word: &str) -> &'static str {
    match word {
        "deny" => "nobody: what would need a yes is refused at once",
        "skip" => "nobody: what would need a yes is not offered",
        _ => "you",
    }
}

/// The tools of an agent that may not use all of them.
fn tools(payload: &Value) -> Option<String> {
    if payload["useTools"] == false {
        return Some("none".to_owned());
    }
    let only = payload["tools"].as_array()?;
    Some(if only.is_empty() { "none".to_owned() } else { listed(&payload["tools"]) })
}

fn names(list: &Value) -> Option<String> {
    list.as_array().filter(|names| !names.is_empty()).map(|_| listed(list))
}

/// "10,000 tokens a run, 0.50 USD a day"; none when nothing is limited.
fn budget(budget: &Value) -> Option<String> {
    let limits = budget.as_object()?.iter().filter(|(_, most)| !most.is_null());
    let words = limits.map(|(key, most)| match (key.as_str(), most.as_u64(), most.as_f64()) {
        ("tokensPerRun", Some(most), _) => format!("{} tokens a run", grouped(most)),
        ("tokensPerDay", Some(most), _) => format!("{} tokens a day", grouped(most)),
        ("usdPerRun", _, Some(most)) => format!("{} a run", MicroUsd::of_usd(most)),
        ("usdPerDay", _, Some(most)) => format!("{} a day", MicroUsd::of_usd(most)),
        _ => format!("{} {}", plain(key), short(&most.to_string(), 40)),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    (!words.is_empty()).then_some(words)
}

/// The values of a list, or the fields of an object.
fn listed(value: &Value) -> String {
    let text = |value: &Value| plain(value.as_str().unwrap_or(&value.to_string()));
    match value {
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(key, value)| format!("{} {}", plain(key), text(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        other => text(other),
    }
}

/// A length of time that stands under `key` in units of `unit_ms`.
fn span(value: &Value, key: &str, unit_ms: i64) -> Option<String> {
    value[key].as_i64().map(|count| format_duration(count.saturating_mul(unit_ms)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_policy_that_was_chosen_has_its_line() {
        let job = json!({
            "schedule": { "kind": "every", "everyMs": 60_000, "jitterMs": 30_000 },
            "deleteAfterRun": true,
            "runtime": { "maxAttempts": 3, "retryBackoffMs": 2_000 },
            "payload": { "kind": "toolCall", "notifyWhen": { "cel": "result.level < 20" } },
            "policies": {
                "misfire": { "mode": "runAll", "limit": 5, "maxLatenessSeconds": 600 },
                "overlap": "parallel", "maxConcurrent": 4, "cooldownSeconds": 60,
                "timeoutSeconds": 300, "pauseAfterFailures": 3,
                "budget": { "tokensPerRun": 1_234_567, "usdPerDay": 0.5 },
                "quietHours": { "from": "22:00", "to": "07:00", "tz": "Europe/Berlin" },
                "approvals": "deny", "hosts": ["a.example", "b.example:8080"], "newer": { "x": 1 },
            },
        });
        let lines: Vec<String> =
            lines(&job).into_iter().map(|(about, text)| format!("{about}: {text}")).collect();
        assert_eq!(
            lines,
            [
                "spread: by up to 30 s",
                "after: it is deleted after its run",
                "retry: up to 3 attempts, the first after 2 s",
                "tells: only when result.level < 20",
                "missed: each is made up for, the newest 5, unless it is more than 10 min late",
                "overlap: up to 4 runs beside each other",
                "pace: at least 1 min between two starts",
                "ends: a run is ended after 5 min",
                "pauses: after 3 failures in a row",
                "budget: 1,234,567 tokens a run, 0.50 USD a day",
                "quiet: from 22:00 to 07:00 Europe/Berlin",
                "asks: nobody: what would need a yes is refused at once",
                "hosts: a.example, b.example:8080",
                "and: newer: {\"x\":1}",
            ]
        );
    }

    #[test]
    fn what_an_agent_was_given_has_its_lines() {
        let payload = json!({
            "kind": "agentTurn", "message": "Do it.", "model": "big", "fallbacks": ["a", "b"],
            "tools": ["time"], "skills": ["fetch"], "maxSteps": 3
        });
        let lines = lines(&json!({ "payload": payload }));
        let said = |about: &str| lines.iter().find(|line| line.0 == about).map(|line| &*line.1);
        assert_eq!(
            ["model", "else", "tools", "skills", "steps"].map(said),
            ["big", "a, b", "time", "fetch", "at most 3"].map(Some)
        );
    }

    #[test]
    fn quiet_hours_name_their_nights() {
        let told = |hours: Value| quiet(&hours);
        let hours = json!({ "from": "22:00", "to": "07:00", "tz": "Europe/Berlin", "days": ["fri", "sat"] });
        let zoned = "from 22:00 to 07:00 Europe/Berlin, nights that begin on fri, sat";
        assert_eq!(told(hours), zoned);
        let hours = json!({ "from": "22:00", "to": "07:00", "days": ["fri"] });
        assert_eq!(told(hours), "from 22:00 to 07:00, nights that begin on fri");
        assert_eq!(told(json!({ "from": "22:00", "to": "07:00" })), "from 22:00 to 07:00");
    }

    #[test]
    fn a_job_of_defaults_has_none() {
        let job = json!({
            "payload": { "kind": "toolCall", "notifyWhen": "always" },
            "policies": { "budget": {} },
        });
        assert_eq!(lines(&job), []);
    }
}
