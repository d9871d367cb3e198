//! Versions and lifecycle of the protocol.
//!
//! Owns the choice of the era of a request, and the answers to `initialize` and `server/discover`. The answers do not depend on the
//! caller. Pitfall: answering `initialize` with a version that has no handshake.

use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::failure::McpFailure;
use super::headers::{VERSION_HEADER, check_headers, single};
use super::message::McpRequest;

/// The version with metadata in each request.
const PER_REQUEST_VERSION: &str = "2026-07-28";
/// The versions with a handshake, oldest first.
const HANDSHAKE_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// All versions, oldest first.
const SUPPORTED_VERSIONS: [&str; 5] =
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", PER_REQUEST_VERSION];

/// Time that a client may keep a list, in milliseconds. The tools change only with the version of Rouse.
const LIST_TTL_MS: u64 = 3_600_000;

const INSTRUCTIONS: &str = "Rouse wakes agents on time. A job has a schedule and a task; each execution is a run. Look jobs up \
     with jobs_list before you describe or change one. Times without an offset are local to the person. Only the person decides \
     approvals and grants hosts, folders and secrets, in Rouse.";

/// How a request names its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProtocolEra {
    /// Once, at `initialize`.
    Handshake,
    /// In the metadata of each request.
    PerRequest,
}

impl ProtocolEra {
    /// The era of a request. Over HTTP, also checks the headers.
    pub(super) fn of(
        request: &McpRequest,
        headers: Option<&HeaderMap>,
    ) -> Result<Self, McpFailure> {
        let meta_version = request.meta_version();
        if request.method == "initialize" && meta_version != Some(PER_REQUEST_VERSION) {
            return Ok(Self::Handshake);
        }
        let header_version = match headers {
            Some(headers) => single(headers, VERSION_HEADER)?,
            None => None,
        };
        let Some(version) = meta_version else {
            let is_per_request =
                request.method == "server/discover" || header_version == Some(PER_REQUEST_VERSION);
            if is_per_request {
                return Err(missing_metadata("protocolVersion"));
            }
            return match header_version {
                Some(version) if !HANDSHAKE_VERSIONS.contains(&version) => {
                    Err(McpFailure::unsupported_version(version, &SUPPORTED_VERSIONS))
                }
                Some(_) | None => Ok(Self::Handshake),
            };
        };
        if let Some(headers) = headers {
            check_headers(headers, request)?;
        }
        if HANDSHAKE_VERSIONS.contains(&version) {
            return Ok(Self::Handshake);
        }
        if version != PER_REQUEST_VERSION {
            return Err(McpFailure::unsupported_version(version, &SUPPORTED_VERSIONS));
        }
        match request.meta("clientCapabilities") {
            Some(Value::Object(_)) => Ok(Self::PerRequest),
            Some(_) | None => Err(missing_metadata("clientCapabilities")),
        }
    }

    /// Adds the fields that each result of the era has.
    pub(super) fn complete(self, mut result: Value) -> Value {
        if self == Self::PerRequest {
            result["resultType"] = "complete".into();
        }
        result
    }

    /// Adds the fields that each list of the era has.
    pub(super) fn complete_list(self, mut result: Value) -> Value {
        if self == Self::PerRequest {
            result["ttlMs"] = LIST_TTL_MS.into();
            result["cacheScope"] = "private".into();
        }
        self.complete(result)
    }
}

fn missing_metadata(key: &str) -> McpFailure {
    McpFailure::missing_metadata(format!(
        "The metadata io.modelcontextprotocol/{key} of the request is missing or invalid."
    ))
}

/// The answer to `initialize`: the requested version, or the newest with a handshake.
pub(super) fn initialize(request: &McpRequest) -> Result<Value, McpFailure> {
    let requested = request.params.get("protocolVersion").and_then(Value::as_str);
    let requested = requested
        .ok_or_else(|| McpFailure::invalid_params("protocolVersion: is required, as a text."))?;
    let [.., newest] = HANDSHAKE_VERSIONS;
    let is_known = HANDSHAKE_VERSIONS.contains(&requested);
    Ok(json!({
        "protocolVersion": if is_known { requested } else { newest },
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": INSTRUCTIONS,
    }))
}

/// The answer to `server/discover`.
pub(super) fn discover() -> Value {
    json!({
        "supportedVersions": SUPPORTED_VERSIONS,
        "capabilities": capabilities(),
        "instructions": INSTRUCTIONS,
        "_meta": { "io.modelcontextprotocol/serverInfo": server_info() },
    })
}

fn capabilities() -> Value {
    json!({ "tools": { "listChanged": false } })
}

fn server_info() -> Value {
    json!({ "name": "rouse", "title": "Rouse", "version": env!("CARGO_PKG_VERSION") })
}
