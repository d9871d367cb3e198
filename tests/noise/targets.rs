//! The fuzz targets.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use futures_util::{SinkExt as _, StreamExt as _};
use rouse_core::UnixMs;
use rouse_core::import::{ImportFormat, read};
use rouse_core::job::{job_from_json, patch_job, stored_job_from_json, to_json};
use rouse_core::schedule::{CronPattern, format_duration, parse_duration};
use rouse_core::slots::Slots;
use rouse_gateway::wire::EngineMode;
use rouse_host::{ConfigFile, Home, Host, HostOptions, MachineFacts};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

const NOW: UnixMs = UnixMs(1_800_000_000_000);

/// A job is parsed or refused by field; a parsed job survives the store.
pub(crate) fn job(bytes: &[u8]) {
    let Ok(document) = serde_json::from_slice::<Value>(bytes) else { return };
    let Ok(job) = job_from_json(document, NOW, chrono_tz::Europe::Berlin) else { return };
    let again = stored_job_from_json(to_json(&job)).expect("the written job is readable");
    assert_eq!(to_json(&again), to_json(&job));
    let slots = Slots::compile(&job.schedule, &job.id, &chrono_tz::UTC.into())
        .expect("a saved job has slots");
    let mut at = NOW;
    for _ in 0..3 {
        let Some(next) = slots.next_after(at) else { break };
        assert!(next > at, "{next:?} comes after {at:?}");
        at = next;
    }
}

/// A patch yields a job or is refused; the job's identity stays.
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
    stored_job_from_json(to_json(&patched)).expect("the written job is readable");
}

/// A pattern is refused, or it fires repeatedly.
pub(crate) fn cron(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(pattern) = CronPattern::parse(&text) else { return };
    assert!(!pattern.describe().is_empty());
    for zone in [chrono_tz::UTC, chrono_tz::America::Nuuk, chrono_tz::Australia::Lord_Howe] {
        let first = pattern.next_after(zone.into(), NOW.0).expect("an accepted pattern fires");
        assert!(first > NOW.0);
        let second = pattern.next_after(zone.into(), first);
        assert!(second.is_none_or(|second| second > first), "{first} and then {second:?}");
    }
}

/// A duration is refused, or survives writing and reading.
pub(crate) fn duration(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(ms) = parse_duration(&text) else { return };
    assert_eq!(parse_duration(&format_duration(ms)), Ok(ms), "{text}");
}

/// An unknown key in every job of a file, which must be kept.
const UNKNOWN_KEY: &str = "x-noise";
const FORMATS: [ImportFormat; 4] =
    [ImportFormat::Rouse, ImportFormat::Rfc, ImportFormat::OpenClaw, ImportFormat::Crontab];

/// A file is refused with a message, or each job has a line in the report, as any format in a dry run and as the
/// detected format for real. Created jobs are disabled and keep unknown keys.
pub(crate) fn import(bytes: &[u8]) {
    let text = with_unknown_key(&String::from_utf8_lossy(bytes));
    for format in FORMATS {
        import_report(&text, Some(format), true);
    }
    let Some(dry) = import_report(&text, None, true) else { return };
    let before = job_ids();
    let lines = import_report(&text, None, false).expect("the dry run predicts success");
    let comparable = |lines: &[Value]| -> Vec<Value> {
        // A job without an id gets a new id each time.
        lines.iter().map(|line| json!([line["name"], line["outcome"], line["notes"]])).collect()
    };
    assert_eq!(comparable(&dry), comparable(&lines), "the dry run matches the import");
    let is_json =
        matches!(serde_json::from_str::<Value>(&text), Ok(Value::Object(_) | Value::Array(_)));
    for line in lines.iter().filter(|line| line["outcome"] == "created") {
        let params = json!({ "id": line["id"] });
        let exported = call("cron.export", &params).expect("a created job is exported");
        let job = &exported["jobs"][0];
        assert_eq!(job["enabled"], false, "an imported job is disabled: {job}");
        assert!(
            !is_json || job[UNKNOWN_KEY] == json!({ "deep": [1, null] }),
            "a key was lost: {job}"
        );
        assert!(call("cron.remove", &params).is_ok(), "{line}");
    }
    assert_eq!(job_ids(), before, "only reported jobs were created");
}

/// A new engine has the example job.
fn job_ids() -> Vec<Value> {
    let all = call("cron.export", &json!({})).expect("an export");
    all["jobs"].as_array().expect("jobs").iter().map(|job| job["id"].clone()).collect()
}

/// The report lines of a file; none if the whole file is refused with a message.
fn import_report(text: &str, format: Option<ImportFormat>, dry_run: bool) -> Option<Vec<Value>> {
    let name = format.map(ImportFormat::name);
    let params = json!({ "text": text, "format": name, "dryRun": dry_run });
    let (answer, found) = (call("cron.import", &params), read(text, format));
    let entries = match (&answer, found) {
        (Ok(_), Ok(found)) => found.entries,
        (Err(error), Err(read_error)) => {
            let message = read_error.to_string();
            let reported =
                error["data"].to_string() + error["message"].as_str().unwrap_or_default();
            assert!(!message.is_empty() && reported.len() > message.len(), "{error}, {read_error}");
            return None;
        }
        (answer, found) => panic!("{name:?}: {answer:?}, and {found:?}"),
    };
    let lines = answer.ok()?["lines"].as_array().expect("lines").clone();
    assert_eq!(lines.len(), entries.len(), "every job has a line");
    for (line, entry) in lines.iter().zip(&entries) {
        // A crontab line with an invalid job is named by its number as well.
        let name = line["name"].as_str().unwrap_or_default();
        let is_numbered = name
            .strip_prefix("line ")
            .and_then(|rest| rest.split_once(": "))
            .is_some_and(|(number, rest)| number.parse::<u32>().is_ok() && rest == entry.name);
        assert!(name == entry.name || is_numbered && line["outcome"] == "refused", "{line}");
        assert_eq!(line["enabled"], false, "{line}");
        let is_known = matches!(line["outcome"].as_str(), Some("created" | "skipped" | "refused"));
        assert!(is_known, "an existing job was replaced: {line}");
        let has_reason = line["reason"].as_str().is_some_and(|reason| !reason.is_empty());
        assert!(has_reason || line["outcome"] == "created", "{line}");
    }
    Some(lines)
}

/// The file with an unknown key in every job.
fn with_unknown_key(text: &str) -> String {
    let Ok(mut document) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}'))
    else {
        return text.to_owned();
    };
    let insert_key = |job: &mut Value| {
        if let Some(fields) = job.as_object_mut() {
            fields.insert(UNKNOWN_KEY.to_owned(), json!({ "deep": [1, null] }));
        }
    };
    match &mut document {
        Value::Array(jobs) => jobs.iter_mut().for_each(insert_key),
        Value::Object(fields) => match fields.get_mut("jobs") {
            Some(Value::Array(jobs)) => jobs.iter_mut().for_each(insert_key),
            Some(_) => {}
            None => insert_key(&mut document),
        },
        _ => return text.to_owned(),
    }
    document.to_string()
}

/// Settings are parsed, or refused with the name of the file.
pub(crate) fn settings(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    std::fs::write(&path, bytes).expect("a file");
    let machine = MachineFacts {
        env: &|_| None,
        zones: &chrono_tz::UTC.into(),
        secrets: None,
        recipients: None,
    };
    if let Err(error) = ConfigFile::open(&path, Path::new("/nowhere"), machine) {
        assert!(error.to_string().contains("config.toml"), "{error}");
    }
    assert_eq!(std::fs::read(&path).expect("a file"), bytes, "the file is unchanged");
}

/// An engine that receives frames.
struct FuzzServer {
    runtime: Runtime,
    address: std::net::SocketAddr,
    token: String,
    _host: Host,
    _folder: tempfile::TempDir,
}

/// Any request body gets a response, and the next client is served. On a socket the same text gets its response, and
/// the socket stays open.
pub(crate) fn frame(bytes: &[u8]) {
    static SERVER: OnceLock<FuzzServer> = OnceLock::new();
    let server = SERVER.get_or_init(start_server);
    let answer = server.runtime.block_on(post(server, bytes));
    let status = answer.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok());
    assert!(status.is_some_and(|status| status < 500), "{answer}");
    let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
    // A parsed request may have called any method; only an internal error is a failure.
    assert!(!body.contains("-32603"), "an internal error: {answer}");
    let is_text = std::str::from_utf8(bytes).is_ok();
    server.runtime.block_on(send(server, bytes, is_text && !body.is_empty()));
}

/// The id of the request after the fuzz input.
const FOLLOW_UP_ID: &str = "follow-up";

/// Sends the bytes over a new socket and then a request, and awaits the due responses. Non-text goes as a binary
/// frame, which has no response.
async fn send(server: &FuzzServer, bytes: &[u8], has_response: bool) {
    let mut request =
        format!("ws://{}/ws", server.address).into_client_request().expect("an address");
    let token = format!("Bearer {}", server.token).parse().expect("a header");
    request.headers_mut().insert("authorization", token);
    let stream = TcpStream::connect(server.address).await.expect("the server accepts connections");
    let (mut socket, _) = tokio_tungstenite::client_async(request, stream).await.expect("a socket");
    let input = match std::str::from_utf8(bytes) {
        Ok(text) => Message::text(text),
        Err(_) => Message::binary(bytes.to_vec()),
    };
    socket.send(input).await.expect("the socket accepts data");
    let follow_up = json!({ "jsonrpc": "2.0", "id": FOLLOW_UP_ID, "method": "cron.status" });
    socket.send(Message::text(follow_up.to_string())).await.expect("the socket accepts data");
    let (mut awaits_response, mut awaits_follow_up) = (has_response, true);
    while awaits_response || awaits_follow_up {
        let message = socket.next().await.expect("the socket is open").expect("a message");
        let text = message.to_text().expect("text");
        let answer: Value = serde_json::from_str(text).expect("JSON");
        assert!(!text.contains("-32603"), "an internal error: {answer}");
        if answer["id"] == FOLLOW_UP_ID {
            assert!(answer["result"].is_object(), "{answer}");
            awaits_follow_up = false;
        } else if answer["method"].is_null() {
            awaits_response = false;
        }
    }
}

/// Calls a method of a private engine. Returns the result or the error.
fn call(method: &str, params: &Value) -> Result<Value, Value> {
    static SERVER: OnceLock<FuzzServer> = OnceLock::new();
    let server = SERVER.get_or_init(start_server);
    let frame = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = server.runtime.block_on(post(server, frame.to_string().as_bytes()));
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    let mut answer: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
    assert_ne!(answer["error"]["code"], -32603, "an internal error: {answer}");
    match answer["error"].take() {
        Value::Null => Ok(answer["result"].take()),
        error => Err(error),
    }
}

async fn post(server: &FuzzServer, body: &[u8]) -> String {
    let mut stream =
        TcpStream::connect(server.address).await.expect("the server accepts connections");
    let head = format!(
        "POST /rpc HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        server.address,
        server.token,
        body.len()
    );
    stream.write_all(head.as_bytes()).await.expect("the server reads");
    stream.write_all(body).await.expect("the server reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("the server responds");
    String::from_utf8_lossy(&answer).into_owned()
}

fn start_server() -> FuzzServer {
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
        Arc::new(NoUiFiles),
    );
    options.env = Arc::new(move |name| env.get(name).map(ToString::to_string));
    let host = runtime.block_on(Host::start(options)).expect("a host");
    let token = std::fs::read_to_string(rouse_gateway::Client::token_path(folder.path()));
    let token = token.expect("a token").trim().to_owned();
    FuzzServer { address: host.address(), token, runtime, _host: host, _folder: folder }
}

struct NoUiFiles;

impl rouse_gateway::UiFiles for NoUiFiles {
    fn get(&self, _: &str) -> Option<rouse_gateway::UiFile> {
        None
    }
}
