//! What a job does and how, in words: a fact each, and of what can be chosen only what was.
//!
//! The CLI's job and the report of an import say the same because they say it from here. The job format leaves defaults
//! out, so whatever stands there was chosen; a policy that has no words here is shown as it is written, for a newer engine
//! may know more than the program that asks. A person decides by it, so nothing is cut off and everything in it can be
//! seen, and only what the job does has more than one line: no other fact can look like two. The session is said with that:
//! what tells the main session works there, everything else in one of its own. It refuses to explain the defaults, which
//! `--help` does, and to promise what means nothing to a job of this kind: a line that calls nothing asks nobody.

use serde_json::{Map, Value};

use super::bounds::COMMAND_TOOL;
use crate::decide::{DEFAULT_LIMIT, QUEUE_BOUND};
use crate::money::MicroUsd;
use crate::schedule::format_duration;
use crate::visible::{visible, visible_line};
use crate::words::grouped;

/// The facts of `job`, as the job format has it, each with what it is about. What it does comes first.
#[must_use]
pub fn facts(job: &Value) -> Vec<(&'static str, String)> {
    let payload = &job["payload"];
    let mut facts = vec![("does", does(payload))];
    let mut fact = |about: &'static str, text: Option<String>| {
        facts.extend(text.map(|text| (about, visible_line(&text))));
    };
    fact("rights", rights(payload));
    fact("spread", span(&job["schedule"], "jitterMs", 1).map(|span| format!("by up to {span}")));
    fact("wakes", (job["wakeMode"] == "next-heartbeat").then(|| "with the heartbeat".to_owned()));
    fact(
        "after",
        (job["deleteAfterRun"] == true).then(|| "it is deleted after its run".to_owned()),
    );
    fact("retry", retries(&job["runtime"]));
    fact("model", payload["model"].as_str().map(str::to_owned));
    fact("else", names(&payload["fallbacks"]));
    fact("tools", tools(payload));
    fact("skills", names(&payload["skills"]));
    fact("reads", names(&payload["contextPaths"]));
    fact("steps", payload["maxSteps"].as_u64().map(|most| format!("at most {most}")));
    fact("length", payload["maxTokens"].as_u64().map(answer));
    fact("effort", payload["effort"].as_str().map(str::to_owned));
    fact("tells", outcomes(job));
    if payload["kind"] == "agentTurn" {
        fact("tells", channel(payload));
    }
    fact("posts", job["isolation"]["postToMainPrefix"].as_str().map(posts));
    let policies = &job["policies"];
    if policies["timeoutSeconds"].is_null() {
        fact("ends", end(payload));
    }
    let nothing = Map::new();
    for (key, value) in policies.as_object().unwrap_or(&nothing) {
        if counts(key, payload, policies) {
            let (about, text) = policy(key, value, policies);
            fact(about, text);
        }
    }
    facts
}

/// All of it: what a job does must not hide behind its first line.
fn does(payload: &Value) -> String {
    let part = |key: &str| payload[key].as_str().unwrap_or_default();
    let words = |key: &str| visible(&part(key).trim().replace("\r\n", "\n"));
    match part("kind") {
        "systemEvent" => format!("tells the main session: {}", words("text")),
        "agentTurn" => format!("asks the agent: {}", words("message")),
        _ => visible_line(&format!("calls {} {}", part("tool"), payload["arguments"])),
    }
}

/// What a command may do that stands in the job itself.
fn rights(payload: &Value) -> Option<String> {
    (payload["tool"] == COMMAND_TOOL)
        .then(|| "your own: outside the sandbox, and nobody is asked".to_owned())
}

fn answer(most: u64) -> String {
    format!("at most {} tokens an answer", grouped(most))
}

fn posts(prefix: &str) -> String {
    format!("what came of it to the main session, as {prefix}")
}

/// Where an agent's answer goes, when the job says so.
fn channel(payload: &Value) -> Option<String> {
    let part = |key: &str| payload[key].as_str().map(str::to_owned);
    match (part("channel"), part("to")) {
        _ if payload["deliver"] != true => None,
        (None, None) => None,
        (channel, to) => {
            let channel = channel.unwrap_or_else(|| "notification".to_owned());
            Some(format!("by {channel}{}", to.map(|to| format!(", to {to}")).unwrap_or_default()))
        }
    }
}

/// Whether a policy means anything to a job that does this.
fn counts(policy: &str, payload: &Value, policies: &Value) -> bool {
    let of_calls = ["approvals", "approvalSeconds", "budget", "hosts", "folders"];
    // Where nobody is asked, nobody waits for an answer.
    if policy == "approvalSeconds"
        && matches!(policies["approvals"].as_str(), Some("deny" | "skip"))
    {
        return false;
    }
    match payload["kind"].as_str() {
        Some("systemEvent") => !of_calls.contains(&policy) && policy != "sandbox",
        Some("toolCall") => policy != "sandbox",
        _ => true,
    }
}

/// One policy; no text for one that is told together with another.
fn policy(key: &str, value: &Value, all: &Value) -> (&'static str, Option<String>) {
    let word = value.as_str().unwrap_or_default();
    match key {
        "misfire" => ("missed", Some(misfire(value, all))),
        "overlap" => ("overlap", overlap(word, all)),
        "maxConcurrent" => ("overlap", None),
        "cooldownSeconds" => (
            "pace",
            span(all, key, 1_000).map(|span| format!("at least {span} between two starts")),
        ),
        "timeoutSeconds" => ("ends", end(all)),
        "pauseAfterFailures" => ("pauses", Some(format!("after {value} failures in a row"))),
        "quietHours" => ("quiet", Some(quiet(value))),
        "notify" => ("tells", None),
        "approvals" => ("asks", Some(approvals(word).to_owned())),
        "approvalSeconds" => {
            ("asks", span(all, key, 1_000).map(|span| format!("and waits {span} for an answer")))
        }
        "sandbox" if word == "open" => ("sandbox", Some(open(&all["approvals"]))),
        "budget" => ("budget", budget(value)),
        "hosts" => ("hosts", Some(listed(value))),
        "folders" => ("folders", Some(listed(value))),
        other => ("and", Some(format!("{other}: {value}"))),
    }
}

fn end(limits: &Value) -> Option<String> {
    span(limits, "timeoutSeconds", 1_000).map(|span| format!("each attempt is ended after {span}"))
}

/// What bounds the runs of one claim bounds what is made up for as well.
fn misfire(misfire: &Value, all: &Value) -> String {
    let is_cooling = all["cooldownSeconds"].as_u64().is_some_and(|seconds| seconds > 0);
    let made_up = match (misfire["mode"].as_str(), all["overlap"].as_str()) {
        (Some("skip"), _) => "not made up for".to_owned(),
        (Some("runAll"), Some("cancelOther")) => "the newest is made up for".to_owned(),
        (Some("runAll"), _) if is_cooling => {
            "the newest is made up for; its pace leaves out the others".to_owned()
        }
        (Some("runAll"), overlap) => {
            let most = if overlap == Some("queue") { QUEUE_BOUND } else { u32::MAX };
            format!("each is made up for, the newest {}", at_most(&misfire["limit"], most))
        }
        _ => "one late run stands for all".to_owned(),
    };
    let is_made_up = misfire["mode"] != "skip";
    match span(misfire, "maxLatenessSeconds", 1_000).filter(|_| is_made_up) {
        Some(most) => format!("{made_up}, unless it is more than {most} late"),
        None => made_up,
    }
}

/// A limit of slots as it is written, its default where there is none, and no more than `most`.
fn at_most(limit: &Value, most: u32) -> String {
    match limit.as_u64() {
        Some(limit) => limit.min(most.into()).to_string(),
        None if limit.is_null() => DEFAULT_LIMIT.min(most).to_string(),
        None => limit.to_string(),
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
    let pause = span(runtime, "retryBackoffMs", 1);
    let pause = pause.map(|span| format!(", the second {span} after the first"));
    Some(format!("up to {attempts} attempts{}", pause.unwrap_or_default()))
}

/// Which outcomes are told: what the payload lets through and the policy wants, in one sentence, since the stricter of the
/// two holds.
fn outcomes(job: &Value) -> Option<String> {
    let payload = &job["payload"];
    let is_silent = payload["kind"] == "agentTurn" && payload["deliver"] == false;
    let of_payload = match is_silent {
        true => Some("only what goes wrong".to_owned()),
        false => condition(&payload["notifyWhen"]),
    };
    match job["policies"]["notify"].as_str() {
        Some("never") => Some("nothing".to_owned()),
        Some("failure") => Some("only what goes wrong".to_owned()),
        Some("always") => {
            of_payload.or_else(|| Some("also that there is nothing to report".to_owned()))
        }
        _ => of_payload,
    }
}

fn condition(when: &Value) -> Option<String> {
    match when {
        Value::String(word) if word == "changed" => {
            Some("only when the result has changed".to_owned())
        }
        Value::String(word) if word == "failure" => Some("only what goes wrong".to_owned()),
        Value::Object(cel) => Some(format!("only when {}", cel.get("cel")?.as_str()?)),
        _ => None,
    }
}

fn quiet(hours: &Value) -> String {
    let part = |key: &str| hours[key].as_str().unwrap_or_default();
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

/// What a command of a model meets that may leave the sandbox.
fn open(approvals: &Value) -> String {
    let asked = match approvals.as_str() {
        Some("deny" | "skip") => "refused, for nobody is asked",
        _ => "asked for",
    };
    format!("none: its commands may run with your own rights, each one {asked}")
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
        _ => format!("{key} {most}"),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    (!words.is_empty()).then_some(words)
}

/// The values of a list, or the fields of an object.
fn listed(value: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{key} {}", text(value)));
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

    fn told(job: &Value) -> Vec<String> {
        facts(job).into_iter().map(|(about, text)| format!("{about}: {text}")).collect()
    }

    #[test]
    fn every_policy_that_was_chosen_has_its_line() {
        let job = json!({
            "schedule": { "kind": "every", "everyMs": 60_000, "jitterMs": 30_000 },
            "deleteAfterRun": true,
            "runtime": { "maxAttempts": 3, "retryBackoffMs": 2_000 },
            "payload": {
                "kind": "toolCall", "tool": "http", "arguments": { "url": "http://nas" },
                "notifyWhen": { "cel": "result.level < 20" },
            },
            "policies": {
                "misfire": { "mode": "runAll", "limit": 5, "maxLatenessSeconds": 600 },
                "overlap": "parallel", "maxConcurrent": 4, "cooldownSeconds": 60,
                "timeoutSeconds": 300, "pauseAfterFailures": 3,
                "budget": { "tokensPerRun": 1_234_567, "usdPerDay": 0.5 },
                "quietHours": { "from": "22:00", "to": "07:00", "tz": "Europe/Berlin" },
                "approvals": "deny", "hosts": ["a.example", "b.example:8080"], "folders": ["~/Notes", "/srv/out:write"], "newer": { "x": 1 },
            },
        });
        assert_eq!(
            told(&job),
            [
                "does: calls http {\"url\":\"http://nas\"}",
                "spread: by up to 30 s",
                "after: it is deleted after its run",
                "retry: up to 3 attempts, the second 2 s after the first",
                "tells: only when result.level < 20",
                "missed: the newest is made up for; its pace leaves out the others, unless it is more than 10 min late",
                "overlap: up to 4 runs beside each other",
                "pace: at least 1 min between two starts",
                "ends: each attempt is ended after 5 min",
                "pauses: after 3 failures in a row",
                "budget: 1,234,567 tokens a run, 0.50 USD a day",
                "quiet: from 22:00 to 07:00 Europe/Berlin",
                "asks: nobody: what would need a yes is refused at once",
                "hosts: a.example, b.example:8080",
                "folders: ~/Notes, /srv/out:write",
                "and: newer: {\"x\":1}",
            ]
        );
    }

    #[test]
    fn what_an_agent_was_given_has_its_lines() {
        let payload = json!({
            "kind": "agentTurn", "message": "Do it.", "model": "big", "fallbacks": ["a", "b"],
            "tools": ["time"], "skills": ["fetch"], "maxSteps": 3, "maxTokens": 4_000,
            "contextPaths": ["notes.md"], "deliver": true, "channel": "telegram", "to": "7",
            "timeoutSeconds": 60,
        });
        let isolation = json!({ "postToMainPrefix": "News" });
        assert_eq!(
            told(&json!({ "payload": payload, "isolation": isolation })),
            [
                "does: asks the agent: Do it.",
                "model: big",
                "else: a, b",
                "tools: time",
                "skills: fetch",
                "reads: notes.md",
                "steps: at most 3",
                "length: at most 4,000 tokens an answer",
                "tells: by telegram, to 7",
                "posts: what came of it to the main session, as News",
                "ends: each attempt is ended after 1 min",
            ]
        );
        let silent = json!({ "kind": "agentTurn", "message": "Do it.", "deliver": false });
        assert_eq!(told(&json!({ "payload": silent }))[1], "tells: only what goes wrong");
    }

    #[test]
    fn nothing_is_cut_off_or_hidden_and_one_fact_is_one() {
        let command = format!("true{};\u{202e}rm -rf ~\nasks   you", " ".repeat(300));
        let payload = json!({ "kind": "toolCall", "tool": "run_command", "arguments": { "command": command } });
        let policies = json!({ "newer\nasks": "x".repeat(300), "sandbox": "open" });
        let told = told(&json!({ "payload": payload, "policies": policies }));
        let command = command.replace('\n', "\\n").replace('\u{202e}', "⟨U+202E⟩");
        assert_eq!(
            told,
            [
                format!("does: calls run_command {{\"command\":\"{command}\"}}"),
                "rights: your own: outside the sandbox, and nobody is asked".to_owned(),
                format!("and: newer⟨U+000A⟩asks: \"{}\"", "x".repeat(300)),
            ]
        );
        let agent = json!({ "kind": "agentTurn", "message": "Look" });
        let job = json!({ "payload": agent, "policies": { "sandbox": "open" } });
        let asked = "sandbox: none: its commands may run with your own rights, each one asked for";
        assert_eq!(self::told(&job)[1], asked);
    }

    #[test]
    fn no_choice_adds_a_line_or_hides_in_one() {
        let hostile = "x\ny\u{202e}";
        let misfire = json!({ "mode": "runAll", "limit": hostile });
        let policies =
            json!({ "notify": hostile, "pauseAfterFailures": hostile, "misfire": misfire });
        let payload =
            json!({ "kind": "agentTurn", "model": hostile, "notifyWhen": { "cel": hostile } });
        for text in &told(&json!({ "payload": payload, "policies": policies }))[1..] {
            assert!(!text.contains(['\n', '\u{202e}']), "{text:?}");
            assert!(text.contains("⟨U+202E⟩"), "{text:?}");
        }
    }

    #[test]
    fn a_line_for_the_main_session_says_where_it_goes_and_when() {
        let payload = json!({ "kind": "systemEvent", "text": "Tea\r\nat \u{1b}[2Kfive\n" });
        assert_eq!(
            told(&json!({ "wakeMode": "next-heartbeat", "payload": payload })),
            ["does: tells the main session: Tea\nat ⟨U+001B⟩[2Kfive", "wakes: with the heartbeat"]
        );
    }

    #[test]
    fn which_results_are_told_is_said_in_a_sentence() {
        let told = |when: Value| condition(&when);
        assert_eq!(told(json!("changed")).as_deref(), Some("only when the result has changed"));
        assert_eq!(told(json!("failure")).as_deref(), Some("only what goes wrong"));
        assert_eq!(told(json!("always")), None);
    }

    #[test]
    fn limits_of_a_model_and_questions_are_told_only_where_they_count() {
        let policies = json!({ "budget": { "tokensPerRun": 5 }, "approvals": "deny", "approvalSeconds": 60, "sandbox": "open" });
        let of = |payload: Value| told(&json!({ "payload": payload, "policies": policies }));
        assert_eq!(
            of(json!({ "kind": "systemEvent", "text": "Tea" })),
            ["does: tells the main session: Tea"]
        );
        let asks = "asks: nobody: what would need a yes is refused at once";
        assert_eq!(
            of(json!({ "kind": "toolCall", "tool": "echo", "arguments": {} })),
            ["does: calls echo {}", "budget: 5 tokens a run", asks],
            "a tool may cost something, and a hook may want its call asked"
        );
        assert_eq!(
            of(json!({ "kind": "agentTurn", "message": "Look" })),
            [
                "does: asks the agent: Look",
                "budget: 5 tokens a run",
                asks,
                "sandbox: none: its commands may run with your own rights, each one refused, for nobody is asked"
            ]
        );
    }

    #[test]
    fn how_long_an_answer_is_waited_for_is_told_where_somebody_is_asked() {
        let payload = json!({ "kind": "agentTurn", "message": "Look" });
        let policies = json!({ "approvals": "ask", "approvalSeconds": 60 });
        let told = told(&json!({ "payload": payload, "policies": policies }));
        assert_eq!(told.last().map(String::as_str), Some("asks: and waits 1 min for an answer"));
    }

    #[test]
    fn what_is_told_is_one_sentence_of_payload_and_policy() {
        let told = |payload: Value, notify: Value| {
            outcomes(&json!({ "payload": payload, "policies": { "notify": notify } }))
        };
        let changed = || json!({ "kind": "toolCall", "notifyWhen": "changed" });
        let only = Some("only when the result has changed");
        for (notify, expected) in [
            (json!("always"), only),
            (json!("findings"), only),
            (Value::Null, only),
            (json!("failure"), Some("only what goes wrong")),
            (json!("never"), Some("nothing")),
        ] {
            assert_eq!(told(changed(), notify.clone()).as_deref(), expected, "{notify}");
        }
        let plain = || json!({ "kind": "toolCall", "notifyWhen": "always" });
        let all = Some("also that there is nothing to report");
        assert_eq!(told(plain(), json!("always")).as_deref(), all);
        assert_eq!(told(plain(), Value::Null), None);
        let silent = json!({ "kind": "agentTurn", "deliver": false });
        assert_eq!(told(silent, json!("always")).as_deref(), Some("only what goes wrong"));
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
    fn a_line_for_the_main_session_goes_to_no_channel() {
        let part = json!({ "deliver": true, "channel": "whatsapp" });
        let with = |kind: &str| {
            let mut payload = part.clone();
            payload["kind"] = json!(kind);
            facts(&json!({ "payload": payload })).into_iter().any(|(about, _)| about == "tells")
        };
        assert!(with("agentTurn") && !with("systemEvent"));
    }

    #[test]
    fn a_job_of_defaults_has_none() {
        let job = json!({
            "payload": { "kind": "toolCall", "tool": "time", "arguments": {}, "notifyWhen": "always" },
            "policies": { "budget": {} },
        });
        assert_eq!(told(&job), ["does: calls time {}"]);
    }
}
