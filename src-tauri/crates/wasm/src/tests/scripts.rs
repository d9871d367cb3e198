use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rouse_core::UnixMs;
use rouse_core::extension::ToolFileAccess;
use rouse_core::http_exchange::{HttpExchangeError, HttpExchangeRequest};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fixture::{FakeGuestHttp, GuestFixture, HttpAnswer};
use crate::host::replace_handles;
use crate::{
    CallTrace, Guest, GuestError, GuestTrap, ToolChecker, ToolFolder, ToolLogLevel, script_engine,
};

/// The host of the engine's cases.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CaseHost {
    now_ms: i64,
    http: Vec<CaseExchange>,
    files: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CaseExchange {
    method: String,
    url: String,
    #[serde(default)]
    request_headers: Vec<(String, String)>,
    #[serde(default)]
    request_body: String,
    status: Option<u16>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
    error: Option<String>,
}

impl CaseExchange {
    fn covers(&self, request: &HttpExchangeRequest) -> bool {
        let filled = |text: &str| replace_handles(text, |name| format!("value-of-{name}"));
        let expected = self.request_headers.iter();
        let expected = expected.map(|(name, value)| (name.to_lowercase(), filled(value)));
        let sent = request.headers.iter().filter(|(name, _)| name != "accept-encoding").cloned();
        self.method == request.method
            && self.url == request.url
            && self.request_body.as_bytes() == request.body
            && expected.eq(sent)
    }

    fn answer(&self) -> HttpAnswer {
        match (&self.error, self.status) {
            (None, Some(status)) => {
                Ok((status, self.headers.clone(), self.body.clone().into_bytes()))
            }
            (error, _) => Err(HttpExchangeError::Unreached(error.clone().unwrap_or_default())),
        }
    }
}

fn engine_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("engine")
}

fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> T {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

fn script(source: &str) -> Guest {
    Guest::Script { engine: script_engine(), source: source.into() }
}

/// Calls a script on the engine.
async fn run(fixture: &GuestFixture, source: &str, arguments: &Value) -> CallTrace {
    let ports = fixture.ports();
    let runtime = &fixture.runtime;
    runtime.trace_call(&script(source), arguments, &fixture.grants, &fixture.limits, &ports).await
}

/// A fixture as the cases expect it.
fn case_fixture(host: CaseHost) -> GuestFixture {
    let mut fixture = GuestFixture::with_shared_cache();
    fixture.now = UnixMs(host.now_ms);
    fixture.grants.hosts = vec!["api.example.com".parse().expect("a host")];
    fixture.grants.secrets = vec!["API_KEY".to_owned()];
    fixture.grants.files = ToolFileAccess::Write;
    fixture.http = Arc::new(FakeGuestHttp::answering(move |request| {
        let unknown = || HttpExchangeError::Refused("No case has this request.".to_owned());
        let known = host.http.iter().find(|exchange| exchange.covers(request));
        known.map_or_else(|| Err(unknown()), CaseExchange::answer)
    }));
    fixture
}

/// What is wrong with the case at `path`.
async fn case_failure(fixture: &GuestFixture, path: &Path) -> Option<String> {
    let arguments = path.with_extension("args.json");
    let arguments = if arguments.exists() { read_json(&arguments) } else { json!({}) };
    let source = fs::read_to_string(path).expect("a script");
    let trace = run(fixture, &source, &arguments).await;
    let log = trace.log.lines.iter().map(|line| format!("{:?} {}", line.level, line.text));
    let log = log.collect::<Vec<_>>().join("\n");
    let expected_log = fs::read_to_string(path.with_extension("log.txt"));
    if let Ok(expected) = expected_log
        && expected.trim().to_lowercase() != log.trim().to_lowercase()
    {
        return Some(format!("log {log}"));
    }
    let expected = match fs::read_to_string(path.with_extension("txt")) {
        Ok(text) => Err(GuestError::Tool(text.trim_end().to_owned())),
        Err(_) => Ok(read_json(&path.with_extension("json"))),
    };
    (trace.result != expected).then(|| format!("{:?} instead of {expected:?}", trace.result))
}

#[tokio::test]
async fn engine_cases_give_their_expected_results() {
    let host: CaseHost = read_json(&engine_folder().join("cases/host.json"));
    let files = host.files.clone();
    let mut fixture = case_fixture(host);
    let entries = fs::read_dir(engine_folder().join("cases")).expect("cases");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let scripts = paths.filter(|path| path.extension().is_some_and(|kind| kind == "js"));
    let (mut count, mut failures) = (0, Vec::new());
    for path in scripts {
        count += 1;
        let folder = fixture.folder.path().join(count.to_string());
        fs::create_dir(&folder).expect("a folder");
        for (name, content) in &files {
            fs::write(folder.join(name), content).expect("a file");
        }
        fixture.files = Some(folder);
        if let Some(failure) = case_failure(&fixture, &path).await {
            failures.push(format!("{}: {failure}", path.display()));
        }
    }
    assert!(count > 30, "{count} cases");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn script_without_permissions_gets_errors() {
    let fixture = GuestFixture::with_shared_cache();
    let source = r#"
        function run() {
          const calls = [() => http("https://api.example.com/"), () => files.read("a")];
          return calls.map((call) => { try { return call(); } catch (error) { return error.message; } });
        }
    "#;
    let result = run(&fixture, source, &json!({})).await.result.expect("two errors");
    assert!(result[0].as_str().expect("a text").contains("no permission for HTTP"), "{result}");
    assert!(result[1].as_str().expect("a text").contains("no permission to read"), "{result}");
}

#[tokio::test]
async fn hostile_scripts_end_alone() {
    let mut fixture = GuestFixture::with_shared_cache();
    fixture.limits.time = Duration::from_secs(2);
    let time_limit = GuestError::TimeLimit(fixture.limits.time);
    let looping = "function run() { console.warn('begins'); for (;;); }";
    let trace = run(&fixture, looping, &json!({})).await;
    assert_eq!(trace.result, Err(time_limit.clone()));
    assert_eq!((trace.log.lines[0].level, trace.log.lines.len()), (ToolLogLevel::Warn, 1));
    let regex = "function run() { return /(a+)+$/.test('a'.repeat(60) + 'b'); }";
    assert_eq!(run(&fixture, regex, &json!({})).await.result, Err(time_limit));
    fixture.limits.time = Duration::from_secs(20);
    let recursion = "function run() { return run(); }";
    let memory = "function run() { const all = []; for (;;) all.push(new Array(1e5).fill(1)); }";
    for source in [recursion, memory] {
        let error = run(&fixture, source, &json!({})).await.result.expect_err(source);
        let is_own = matches!(
            error,
            GuestError::Tool(_) | GuestError::Trap(GuestTrap::Stack | GuestTrap::Unreachable)
        );
        assert!(is_own, "{source}: {error:?}");
    }
    let trace = run(&fixture, "function run() { return 2; }", &json!({})).await;
    assert_eq!(trace.result, Ok(json!(2)));
}

#[tokio::test]
async fn script_tool_is_checked() {
    let fixture = GuestFixture::with_shared_cache();
    let folder = fixture.folder.path().join("tool");
    fs::create_dir(&folder).expect("a folder");
    let manifest = r#"
        name = "weather"
        description = "Tells the temperature of a city."
        language = "javascript"
        parameters = { type = "object" }
        permissions = { hosts = ["api.example.com"], secrets = ["key"], files = "write" }
        [[tests]]
        name = "warm"
        expected = { degrees = 21, on = "2026-01-01" }
        http = [{ url = "https://api.example.com/?k={{secret:key}}", body = { t = 21 } }]
        [[tests]]
        name = "down"
        expected_error = "status 503"
        http = [{ url = "https://api.example.com/?k={{secret:key}}", status = 503 }]
        [[tests]]
        name = "hides the error of a request"
        expected_error = "No canned answer"
    "#;
    let source = r#"
        export default function () {
          const response = http("https://api.example.com/?k={{secret:key}}");
          if (!response.ok) throw new Error(`status ${response.status}`);
          files.write("last.txt", response.body);
          return { degrees: response.json().t, on: new Date().toISOString().slice(0, 10) };
        }
    "#;
    fs::write(folder.join("tool.toml"), manifest).expect("a file");
    fs::write(folder.join("tool.js"), source).expect("a file");
    let clock = Arc::clone(&fixture.ports().clock);
    let checker = ToolChecker::new(Arc::new(fixture.runtime), script_engine(), clock);
    let checker = Arc::new(checker);
    let (checking, read) = (Arc::clone(&checker), ToolFolder::read(&folder).expect("files"));
    // The check can move between threads.
    let check = tokio::spawn(async move { checking.check(&read).await });
    let check = check.await.expect("no panic");
    let failures: Vec<_> = check.tests.iter().map(|test| test.failure.is_none()).collect();
    assert_eq!(failures, [true, true, false], "{check:?}");
    fs::remove_file(folder.join("tool.js")).expect("a file");
    let check = checker.check(&ToolFolder::read(&folder).expect("files")).await;
    assert!(check.problems[0].contains("no tool.js") && !check.is_passed(), "{check:?}");
}

#[tokio::test]
async fn script_never_sees_the_value_of_a_secret() {
    let mut fixture = GuestFixture::with_shared_cache();
    fixture.grants.hosts = vec!["api.example.com".parse().expect("a host")];
    fixture.grants.secrets = vec!["key".to_owned()];
    fixture.http = Arc::new(FakeGuestHttp::answering(|request| {
        let value = request.headers.last().map(|(_, value)| value.clone()).unwrap_or_default();
        if request.url.ends_with("broken") {
            return Err(HttpExchangeError::Broken(format!("{value} was sent.")));
        }
        Ok((200, vec![("x-echo".to_owned(), value.clone())], value.into_bytes()))
    }));
    // Reversed, so that the redaction of the result does not find a value.
    let source = r#"
        const headers = { "x-key": "{{secret:key}}" };
        const reversed = (text) => [...text].reverse().join("");
        function run() {
          const response = http({ url: "https://api.example.com/", headers });
          let message;
          try { http({ url: "https://api.example.com/broken", headers }); } catch (error) {
            message = error.message;
          }
          return [response.body, response.headers["x-echo"], message].map(reversed);
        }
    "#;
    let result = run(&fixture, source, &json!({})).await.result.expect("a result");
    let handle = "}}yek:terces{{";
    assert_eq!(result, json!([handle, handle, format!(".tnes saw {handle}")]));
}
