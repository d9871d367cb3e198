//! Output for users and clients, pinned by snapshots.
//!
//! Owns the masks of varying values: ids, instants, durations, paths and ports. Never masks a word, a key or a
//! policy. To accept a wording change, run `INSTA_UPDATE=always cargo test -p rouse-tests --test programs surface`
//! and read the difference. Pitfall: column widths follow masked values, so runs of spaces are two spaces here.

mod commands;
mod help;
mod input_errors;
mod methods;
mod old_data;

use serde_json::{Map, Value};

/// Patterns and masks of ids, paths and addresses.
const PLACES: [(&str, &str); 6] = [
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "[id]"),
    (r"\b[0-9a-f]{64}\b", "[digest]"),
    (r"\b[0-9a-f]{8}\b", "[id]"),
    (r"/[^ ]*/rouse-programs-[A-Za-z0-9]+", "[home]"),
    (r"127\.0\.0\.1:\d+", "[address]"),
    (r"#pair=[A-Za-z0-9_-]{22}", "#pair=[code]"),
];

/// Patterns and masks of instants and durations.
const TIMES: [(&str, &str); 12] = [
    (r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", "[time]"),
    (
        r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)( \d{4})? \d\d:\d\d(:\d\d)?",
        "[time]",
    ),
    (r"\b\d{4}-\d\d-\d\d\b", "[date]"),
    (r"\b\d\d:\d\d:\d\d\b", "[time]"),
    (r"in( \d+ (d|h|min|s))+\b", "in [span]"),
    (r"pending for \d+ (s|ms)", "pending for [span]"),
    (r"\b(\d+ s )?\d+ ms\b", "[span]"),
    (r"\b0 s\b", "[span]"),
    (r"About [\d,]+ tokens per month: \d+ runs", "About [count] tokens per month: [count] runs"),
    (r"Time zone rules: .*", "Time zone rules: [rules]"),
    (r"process \d+", "process [pid]"),
    (r"(\S) {3,}", "$1  "),
];

/// Asserts that `text` equals the snapshot `name`, with ids, paths and addresses masked.
fn assert_surface(name: &str, text: &str) {
    assert_masked(name, text, &[]);
}

/// Like `assert_surface`, with times masked too.
fn assert_scenario(name: &str, text: &str) {
    assert_masked(name, text, &TIMES);
}

fn assert_masked(name: &str, text: &str, more: &[(&str, &str)]) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_snapshot_path("snapshots");
    for (pattern, mask) in PLACES.iter().chain(more) {
        settings.add_filter(pattern, *mask);
    }
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// The JSON with varying values masked.
fn masked(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), masked_field(key, value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Number(number) if number.as_i64().is_some_and(is_instant) => "[ms]".into(),
        other => other.clone(),
    }
}

fn masked_field(key: &str, value: &Value) -> Value {
    let varies = [
        "pid",
        "seq",
        "bytes",
        "port",
        "durationMs",
        "lastDurationMs",
        "usedBytes",
        "zoneData",
        "version",
        "lateByMs",
        "delayMs",
        "revision",
        "digest",
        "token",
        "secret",
        "qrSvg",
        "uptimeMs",
        "databaseBytes",
        "freeBytes",
        "logBytes",
        "localZone",
        "zone",
        "tz",
    ];
    match value {
        Value::Null => Value::Null,
        _ if varies.contains(&key) => format!("[{key}]").into(),
        value => masked(value),
    }
}

/// Whether a number of milliseconds is an instant of this century rather than a duration.
const fn is_instant(ms: i64) -> bool {
    ms > 1_500_000_000_000
}

/// The masked JSON as text.
fn shown(value: &Value) -> String {
    serde_json::to_string_pretty(&masked(value)).expect("JSON has a text")
}
