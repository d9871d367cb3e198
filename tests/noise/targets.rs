//! The doors.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use futures_util::{SinkExt as _, StreamExt as _};
use rouse_core::UnixMs;
use rouse_core::import::{Format, read};
use rouse_core::job::{job_from_json, job_to_json, patch_job, stored_job_from_json};
use rouse_core::schedule::{CronPattern, format_duration, parse_duration};
use rouse_core::slots::Slots;
use rouse_gateway::wire::EngineMode;
use rouse_host::{ConfigFile, Home, Host, HostOptions, OfMachine};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

const NOW: UnixMs = UnixMs(1_800_000_000_000);

/// A job is read or refused by field; what was read comes back from the store as it went in.
pub(crate) fn job(bytes: &[u8]) {
    let Ok(document) = serde_json::from_slice::<Value>(bytes) else { return };
    let Ok(job) = job_from_json(document, NOW, chrono_tz::Europe::Berlin) else { return };
    let again = stored_job_from_json(job_to_json(&job)).expect("what was written can be read");
    assert_eq!(job_to_json(&again), job_to_json(&job));
    let slots = Slots::compile(&job.schedule, &job.id, &chrono_tz::UTC.into())
        .expect("a saved job has slots");
    let mut at = NOW;
    for _ in 0..3 {
        let Some(next) = slots.next_after(at) else { break };
        assert!(next > at, "{next:?} comes after {at:?}");
        at = next;
    }
}

/// A patch over a job makes a job or is refused; the job's identity stays.
pub(crate) fn patch(bytes: &[u8]) {
    let document = json!({
        "id": "job-1",
        "name": "Look",
        "schedule": { "kind": "cron", "expr": "0 9 * * 1-5", "tz": "Europe/Berlin" },
        "payload": { "kind": "toolCall", "tool": "echo" },
    });
    let job = job_from_json(document, NOW, chrono_tz::UTC).expect("a valid job");
    let Ok(patch) = serde_json::from_slice::<Value>(bytes) else { return };
    let Ok(patched) = patch_job(&job, patch, NOW, chrono_tz::UTC) else { return };
    assert_eq!((&patched.id, patched.created_at), (&job.id, job.created_at));
    stored_job_from_json(job_to_json(&patched)).expect("what was written can be read");
}

/// A pattern is refused, or it fires and goes on.
pub(crate) fn cron(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(pattern) = CronPattern::parse(&text) else { return };
    assert!(!pattern.describe().is_empty());
    for zone in [chrono_tz::UTC, chrono_tz::America::Nuuk, chrono_tz::Australia::Lord_Howe] {
        let first = pattern.next_after(zone.into(), NOW.0).expect("a pattern that was taken fires");
        assert!(first > NOW.0);
        let second = pattern.next_after(zone.into(), first);
        assert!(second.is_none_or(|second| second > first), "{first} and then {second:?}");
    }
}

/// A duration is refused, or it can be written and read again.
pub(crate) fn duration(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(ms) = parse_duration(&text) else { return };
    assert_eq!(parse_duration(&format_duration(ms)), Ok(ms), "{text}");
}

/// What nothing here knows, put into every job of a file: it must come back as it went in.
const NOISE: &str = "x-noise";
const FORMATS: [Format; 4] = [Format::Rouse, Format::Rfc, Format::OpenClaw, Format::Crontab];

/// A file is refused with words, or each of its jobs has its line in the report: as any of the formats when nothing is
/// done, and as what it is recognised for when it is. Then the jobs that were created are there, and off, with
/// everything in them that nobody knows.
pub(crate) fn import(bytes: &[u8]) {
    let text = with_noise(&String::from_utf8_lossy(bytes));
    for format in FORMATS {
        reported(&text, Some(format), true);
    }
    let Some(dry) = reported(&text, None, true) else { return };
    let before = job_ids();
    let lines = reported(&text, None, false).expect("what would be done is done");
    let told = |lines: &[Value]| -> Vec<Value> {
        // A job without an id gets a new one each time.
        lines.iter().map(|line| json!([line["name"], line["outcome"], line["notes"]])).collect()
    };
    assert_eq!(told(&dry), told(&lines), "what was promised is what was done");
    let is_json =
        matches!(serde_json::from_str::<Value>(&text), Ok(Value::Object(_) | Value::Array(_)));
    for line in lines.iter().filter(|line| line["outcome"] == "created") {
        let params = json!({ "id": line["id"] });
        let exported = call("cron.export", &params).expect("a job that was created is there");
        let job = &exported["jobs"][0];
        assert_eq!(job["enabled"], false, "nobody has switched it on: {job}");
        assert!(!is_json || job[NOISE] == json!({ "deep": [1, null] }), "a key was lost: {job}");
        assert!(call("cron.remove", &params).is_ok(), "{line}");
    }
    assert_eq!(job_ids(), before, "only what is in the report was created");
}

/// A new engine has a job of its own.
fn job_ids() -> Vec<Value> {
    let all = call("cron.export", &json!({})).expect("an export");
    all["jobs"].as_array().expect("jobs").iter().map(|job| job["id"].clone()).collect()
}

/// The lines about a file; none when it is refused as a whole, with words.
fn reported(text: &str, format: Option<Format>, dry_run: bool) -> Option<Vec<Value>> {
    let name = format.map(Format::name);
    let params = json!({ "text": text, "format": name, "dryRun": dry_run });
    let (answer, found) = (call("cron.import", &params), read(text, format));
    let entries = match (&answer, found) {
        (Ok(_), Ok(found)) => found.entries,
        (Err(error), Err(why)) => {
            let words = why.to_string();
            let said = error["data"].to_string() + error["message"].as_str().unwrap_or_default();
            assert!(!words.is_empty() && said.len() > words.len(), "{error}, {why}");
            return None;
        }
        (answer, found) => panic!("{name:?}: {answer:?}, and {found:?}"),
    };
    let lines = answer.ok()?["lines"].as_array().expect("lines").clone();
    assert_eq!(lines.len(), entries.len(), "every job has its line");
    for (line, entry) in lines.iter().zip(&entries) {
        // A line of a crontab whose job cannot be is named by its number as well.
        let name = line["name"].as_str().unwrap_or_default();
        let is_numbered = name
            .strip_prefix("line ")
            .and_then(|rest| rest.split_once(": "))
            .is_some_and(|(number, rest)| number.parse::<u32>().is_ok() && rest == entry.name);
        assert!(name == entry.name || is_numbered && line["outcome"] == "refused", "{line}");
        assert_eq!(line["enabled"], false, "{line}");
        let is_known = matches!(line["outcome"].as_str(), Some("created" | "skipped" | "refused"));
        assert!(is_known, "nothing is replaced unasked: {line}");
        let has_reason = line["reason"].as_str().is_some_and(|reason| !reason.is_empty());
        assert!(has_reason || line["outcome"] == "created", "{line}");
    }
    Some(lines)
}

/// The same file with a key in every job that nothing here knows.
fn with_noise(text: &str) -> String {
    let Ok(mut document) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}'))
    else {
        return text.to_owned();
    };
    let noise = |job: &mut Value| {
        if let Some(fields) = job.as_object_mut() {
            fields.insert(NOISE.to_owned(), json!({ "deep": [1, null] }));
        }
    };
    match &mut document {
        Value::Array(jobs) => jobs.iter_mut().for_each(noise),
        Value::Object(fields) => match fields.get_mut("jobs") {
            Some(Value::Array(jobs)) => jobs.iter_mut().for_each(noise),
            Some(_) => {}
            None => noise(&mut document),
        },
        _ => return text.to_owned(),
    }
    document.to_string()
}

/// Settings are read or refused with words that name the file.
pub(crate) fn settings(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    std::fs::write(&path, bytes).expect("a file");
    let machine = OfMachine { env: &|_| None, zones: &chrono_tz::UTC.into(), secrets: None };
    if let Err(error) = ConfigFile::open(&path, Path::new("/nowhere"), machine) {
        assert!(error.to_string().contains("config.toml"), "{error}");
    }
    assert_eq!(std::fs::read(&path).expect("a file"), bytes, "it is left as it is");
}

/// An engine whose door takes the frames.
struct Door {
    runtime: Runtime,
    address: std::net::SocketAddr,
    token: String,
    _host: Host,
    _folder: tempfile::TempDir,
}

/// Any body at the door of the gateway gets an answer, and the next person is served. The same text in a socket has an
/// answer where it has one there, and the socket goes on.
pub(crate) fn frame(bytes: &[u8]) {
    static DOOR: OnceLock<Door> = OnceLock::new();
    let door = DOOR.get_or_init(open_door);
    let answer = door.runtime.block_on(post(door, bytes));
    let status = answer.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok());
    assert!(status.is_some_and(|status| status < 500), "{answer}");
    let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
    // What could be read as a call of ours may have asked for anything; a fault inside would be this.
    assert!(!body.contains("-32603"), "an internal error: {answer}");
    let is_text = std::str::from_utf8(bytes).is_ok();
    door.runtime.block_on(send(door, bytes, is_text && !body.is_empty()));
}

/// What the question after the noise is called.
const AFTER: &str = "after-the-noise";

/// Sends the bytes over a socket of their own, and then a question, until what is due has come. What is no text goes as
/// a binary frame, to which nothing is said.
async fn send(door: &Door, bytes: &[u8], is_answered: bool) {
    let mut request =
        format!("ws://{}/ws", door.address).into_client_request().expect("an address");
    let token = format!("Bearer {}", door.token).parse().expect("a header");
    request.headers_mut().insert("authorization", token);
    let stream = TcpStream::connect(door.address).await.expect("the door is open");
    let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await.expect("a socket");
    let noise = match std::str::from_utf8(bytes) {
        Ok(text) => Message::text(text),
        Err(_) => Message::binary(bytes.to_vec()),
    };
    socket.send(noise).await.expect("it reads");
    let after = json!({ "jsonrpc": "2.0", "id": AFTER, "method": "cron.status" });
    socket.send(Message::text(after.to_string())).await.expect("it reads");
    let (mut waits_for_answer, mut waits_for_after) = (is_answered, true);
    while waits_for_answer || waits_for_after {
        let message = socket.next().await.expect("the socket goes on").expect("a message");
        let text = message.to_text().expect("text");
        let answer: Value = serde_json::from_str(text).expect("JSON");
        assert!(!text.contains("-32603"), "an internal error: {answer}");
        if answer["id"] == AFTER {
            assert!(answer["result"].is_object(), "{answer}");
            waits_for_after = false;
        } else if answer["method"].is_null() {
            waits_for_answer = false;
        }
    }
}

/// Calls a method of an engine of its own; its error otherwise.
fn call(method: &str, params: &Value) -> Result<Value, Value> {
    static DOOR: OnceLock<Door> = OnceLock::new();
    let door = DOOR.get_or_init(open_door);
    let frame = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = door.runtime.block_on(post(door, frame.to_string().as_bytes()));
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    let mut answer: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
    assert_ne!(answer["error"]["code"], -32603, "an internal error: {answer}");
    match answer["error"].take() {
        Value::Null => Ok(answer["result"].take()),
        error => Err(error),
    }
}

async fn post(door: &Door, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(door.address).await.expect("the door is open");
    let head = format!(
        "POST /rpc HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        door.address,
        door.token,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("it listens");
    stream.write_all(body).await.expect("it listens");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("it answers");
    String::from_utf8_lossy(&answer).into_owned()
}

fn open_door() -> Door {
    let runtime = Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let env = HashMap::from([
        ("ROUSE_LOCAL_MODELS", "0"),
        ("ROUSE_KEYRING", "0"),
        ("ROUSE_SKIP_CRON", "1"),
    ]);
    let mut options = HostOptions::headless(
        Home::at(folder.path()),
        EngineMode::Serve,
        Some(0),
        Arc::new(NoPage),
    );
    options.env = Arc::new(move |name| env.get(name).map(ToString::to_string));
    let host = runtime.block_on(Host::start(options)).expect("a host");
    let token = std::fs::read_to_string(rouse_gateway::Client::token_path(folder.path()));
    let token = token.expect("a token").trim().to_owned();
    Door { address: host.address(), token, runtime, _host: host, _folder: folder }
}

struct NoPage;

impl rouse_gateway::UiFiles for NoPage {
    fn get(&self, _: &str) -> Option<rouse_gateway::UiFile> {
        None
    }
}
