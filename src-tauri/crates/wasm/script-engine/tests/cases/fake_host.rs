//! A host with canned answers: clock, random bytes, HTTP, files, log.
//!
//! Owns the reading of `cases/host.json`. Pitfall: a request that differs from its canned exchange gets an error
//! text, which the case then shows.

use std::collections::BTreeMap;

use serde::Deserialize;
use wasmtime::component::HasSelf;
use wasmtime::{Result, StoreLimits};

wasmtime::component::bindgen!({ path: "../wit/tool.wit", world: "script-engine" });

use rouse::tool::{clock, files, http, log, random};

/// The state of one call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FakeHost {
    now_ms: u64,
    http: Vec<CannedExchange>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Log lines as `level message`.
    #[serde(skip)]
    pub(crate) log: Vec<String>,
    #[serde(skip)]
    pub(crate) limits: StoreLimits,
}

/// A request and what the host returns for it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CannedExchange {
    method: String,
    url: String,
    #[serde(default)]
    request_headers: Vec<(String, String)>,
    request_body: Option<String>,
    #[serde(default)]
    status: u16,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
    /// Instead of a response.
    error: Option<String>,
}

impl FakeHost {
    pub(crate) fn add_to(linker: &mut wasmtime::component::Linker<Self>) -> Result<()> {
        ScriptEngine::add_to_linker::<_, HasSelf<Self>>(linker, |host| host)
    }
}

impl log::Host for FakeHost {
    fn write(&mut self, level: log::Level, message: String) {
        let level = match level {
            log::Level::Debug => "debug",
            log::Level::Info => "info",
            log::Level::Warn => "warn",
            log::Level::Error => "error",
        };
        self.log.push(format!("{level} {message}"));
    }
}

impl clock::Host for FakeHost {
    fn now_ms(&mut self) -> u64 {
        self.now_ms
    }
}

impl random::Host for FakeHost {
    fn bytes(&mut self, count: u32) -> Vec<u8> {
        // The top byte of a multiplicative sequence: spread well enough for a test.
        (1..=count).map(|index| (index.wrapping_mul(0x9E37_79B1) >> 24) as u8).collect()
    }
}

impl http::Host for FakeHost {
    fn send(&mut self, request: http::Request) -> Result<http::Response, String> {
        let body = request.body.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let canned = self.http.iter().find(|canned| {
            canned.method == request.method
                && canned.url == request.url
                && canned.request_headers == request.headers
                && canned.request_body == body
        });
        let canned = canned.ok_or_else(|| {
            format!("No canned exchange: {} {} {:?}", request.method, request.url, request.headers)
        })?;
        match &canned.error {
            Some(error) => Err(error.clone()),
            None => Ok(http::Response {
                status: canned.status,
                headers: canned.headers.clone(),
                body: canned.body.clone().into_bytes(),
            }),
        }
    }
}

impl files::Host for FakeHost {
    fn read(&mut self, path: String) -> Result<Vec<u8>, String> {
        let content = self.files.get(&path);
        content.map(|text| text.clone().into_bytes()).ok_or(format!("There is no file {path}."))
    }

    fn write(&mut self, path: String, content: Vec<u8>) -> Result<(), String> {
        self.files.insert(path, String::from_utf8_lossy(&content).into_owned());
        Ok(())
    }
}
