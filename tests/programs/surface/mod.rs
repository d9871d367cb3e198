//! What users and clients see, pinned by snapshots.
//!
//! Owns the masks of what differs from run to run: ids, instants, durations, paths and ports. Never masks a word, a key or a
//! policy. To accept a wording change: `INSTA_UPDATE=always cargo test -p rouse-tests --test programs surface`, then read the
//! difference. Pitfall: a table's column widths follow masked values, so runs of spaces are two spaces here.

mod commands;
mod help;
mod methods;
mod old_data;
mod refused;

use serde_json::{Map, Value};

/// The patterns of ids, paths and addresses, and their masks.
const PLACES: [(&str, &str); 5] = [
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "[id]"),
    (r"\b[0-9a-f]{64}\b", "[digest]"),
    (r"\b[0-9a-f]{8}\b", "[id]"),
    (r"/[^ ]*/rouse-programs-[A-Za-z0-9]+", "[home]"),
    (r"127\.0\.0\.1:\d+", "[address]"),
];

/// The patterns of instants and spans that pass, and their masks.
const TIMES: [(&str, &str); 13] = [
    (r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)", "[time]"),
    (
        r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)( \d{4})? \d\d:\d\d(:\d\d)?",
        "[time]",
    ),
    (r"\b\d{4}-\d\d-\d\d\b", "[date]"),
    (r"\b\d\d:\d\d:\d\d\b", "[time]"),
    (r"in( \d+ (d|h|min|s))+\b", "in [span]"),
    (r"(\d+ (d|h|min|s|ms) )+left", "[span] left"),
    (r"waits \d+ (s|ms)", "waits [span]"),
    (r"\b(\d+ s )?\d+ ms\b", "[span]"),
    (r"\b0 s\b", "[span]"),
    (r"About [\d,]+ tokens a month: \d+ runs", "About [count] tokens a month: [count] runs"),
    (r"Time zone rules: .*", "Time zone rules: [rules]"),
    (r"process \d+", "process [pid]"),
    (r"(\S) {3,}", "$1  "),
];

/// Asserts that `text` is the snapshot `name` of this folder, beside ids, paths and addresses.
fn assert_surface(name: &str, text: &str) {
    assert_masked(name, text, &[]);
}

/// The same for the output of a scenario, beside the time that it takes.
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

/// The JSON without what differs from run to run.
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
        "tookMs",
        "revision",
        "digest",
        "token",
        "secret",
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

/// Whether a number of milliseconds is an instant of this century rather than a span.
const fn is_instant(ms: i64) -> bool {
    ms > 1_500_000_000_000
}

/// The JSON as a snapshot shows it.
fn shown(value: &Value) -> String {
    serde_json::to_string_pretty(&masked(value)).expect("JSON has a text")
}
