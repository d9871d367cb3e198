//! Requests to one registry over guarded HTTP.
//!
//! Owns the limits of time and size, and the redirects: they stay at the origin of the settings. Only the address of
//! the settings may be private. Never sends a cookie, a key or a body. Pitfall: an address that an answer names; the
//! path of each request is built here from checked parts.

use std::time::Duration;

use rouse_core::http_exchange::{
    HttpBody, HttpExchange as _, HttpExchangeError, HttpExchangeRequest, HttpExchangeResponse,
};
use rouse_tools::{AcceptedServerUrls, GuardedHttp, HttpConfig};
use serde::de::DeserializeOwned;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;

use super::error::RegistryError;
use super::kind::RegistryKind;
use super::untrusted_text::shown;

/// The time limit of a request with its redirects and its body.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The most megabytes of a JSON answer.
const MAX_JSON_MB: usize = 2;

/// The most megabytes of a download.
const MAX_DOWNLOAD_MB: usize = 50;

/// The most redirects of a request.
const MAX_REDIRECTS: usize = 3;

/// The first bytes of a zip archive with an entry.
const ZIP_START: &[u8] = b"PK\x03\x04";

/// The longest part of a parser's message.
const MAX_REASON: usize = 200;

/// A registry at an address of the settings.
pub(super) struct RegistryConnection {
    http: GuardedHttp,
    kind: RegistryKind,
    /// Without a final slash.
    address: String,
}

impl RegistryConnection {
    /// The registry at `address`, which the settings have checked.
    pub(super) fn new(kind: RegistryKind, address: &str, network: &HttpConfig) -> Self {
        let address = address.trim_end_matches('/').to_owned();
        let accepted = AcceptedServerUrls::default();
        accepted.replace(std::slice::from_ref(&address));
        Self { http: GuardedHttp::new(network, accepted), kind, address }
    }

    /// The address, without a final slash.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The host with its port.
    pub(super) fn host(&self) -> &str {
        self.origin().split_once("://").map_or("", |(_, host)| host)
    }

    /// The JSON document at `path`.
    pub(super) async fn get_json<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<T, RegistryError> {
        let body = self.in_time(self.read_json(path)).await?;
        serde_json::from_slice(&body).map_err(|error| self.invalid(&error.to_string()))
    }

    /// Writes the zip archive at `path` to `file`.
    pub(super) async fn save_zip(&self, path: &str, file: &mut File) -> Result<(), RegistryError> {
        self.in_time(self.copy_zip(path, file)).await
    }

    /// An answer of another form. `reason` is untrusted.
    pub(super) fn invalid(&self, reason: &str) -> RegistryError {
        let reason = shown(reason, MAX_REASON);
        RegistryError::Invalid { host: self.host().to_owned(), reason, key: self.kind.key() }
    }

    async fn read_json(&self, path: &str) -> Result<Vec<u8>, RegistryError> {
        let mut body = self.open(path, "application/json").await?;
        let mut read = Vec::new();
        while let Some(piece) = next_piece(body.as_mut()).await? {
            if read.len() + piece.len() > MAX_JSON_MB << 20 {
                return Err(self.too_large(MAX_JSON_MB));
            }
            read.extend_from_slice(&piece);
        }
        Ok(read)
    }

    async fn copy_zip(&self, path: &str, file: &mut File) -> Result<(), RegistryError> {
        let mut body = self.open(path, "application/zip").await?;
        let mut start: Vec<u8> = Vec::new();
        let mut size = 0;
        while let Some(piece) = next_piece(body.as_mut()).await? {
            size += piece.len();
            if size > MAX_DOWNLOAD_MB << 20 {
                return Err(self.too_large(MAX_DOWNLOAD_MB));
            }
            let missing = ZIP_START.len() - start.len();
            start.extend_from_slice(&piece[..missing.min(piece.len())]);
            file.write_all(&piece).await?;
        }
        if start != ZIP_START {
            return Err(self.invalid("no zip archive"));
        }
        file.flush().await?;
        file.sync_all().await?;
        Ok(())
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        tokio::time::timeout(TIME_LIMIT, work).await.unwrap_or_else(|_| {
            let host = self.host().to_owned();
            Err(RegistryError::TimedOut { host, seconds: TIME_LIMIT.as_secs() })
        })
    }

    /// The body of a successful answer.
    async fn open(
        &self,
        path: &str,
        accept: &'static str,
    ) -> Result<Box<dyn HttpBody>, RegistryError> {
        let mut url = format!("{}{path}", self.address);
        for _ in 0..=MAX_REDIRECTS {
            let request = HttpExchangeRequest {
                method: "GET",
                url,
                headers: vec![("accept".to_owned(), accept.to_owned())],
                body: Vec::new(),
            };
            let answer = self.http.exchange(request).await.map_err(failed)?;
            url = match answer.status {
                200..=299 => return Ok(answer.body),
                301 | 302 | 303 | 307 | 308 => self.redirect_target(&answer)?,
                429 => {
                    let seconds = header(&answer, "retry-after");
                    let seconds = seconds.and_then(|text| text.parse().ok());
                    return Err(RegistryError::Busy { host: self.host().to_owned(), seconds });
                }
                status => {
                    let (host, key) = (self.host().to_owned(), self.kind.key());
                    return Err(RegistryError::Status { host, status, key });
                }
            };
        }
        Err(self.redirected())
    }

    /// The target of a redirect at the same origin.
    fn redirect_target(&self, answer: &HttpExchangeResponse) -> Result<String, RegistryError> {
        let origin = self.origin();
        let location = header(answer, "location").unwrap_or_default();
        let path = location.strip_prefix(origin).unwrap_or(location);
        if path.starts_with('/') && !path.starts_with("//") {
            Ok(format!("{origin}{path}"))
        } else {
            Err(self.redirected())
        }
    }

    /// The address without its path.
    fn origin(&self) -> &str {
        let start = self.address.find("://").map_or(0, |at| at + "://".len());
        let path = self.address[start..].find('/').map(|at| start + at);
        &self.address[..path.unwrap_or(self.address.len())]
    }

    fn redirected(&self) -> RegistryError {
        RegistryError::Redirected { host: self.host().to_owned(), key: self.kind.key() }
    }

    fn too_large(&self, megabytes: usize) -> RegistryError {
        RegistryError::TooLarge { host: self.host().to_owned(), megabytes }
    }
}

async fn next_piece(body: &mut dyn HttpBody) -> Result<Option<Vec<u8>>, RegistryError> {
    body.next().await.map_err(failed)
}

fn failed(error: HttpExchangeError) -> RegistryError {
    RegistryError::Exchange(error.to_string())
}

fn header<'r>(answer: &'r HttpExchangeResponse, name: &str) -> Option<&'r str> {
    answer.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}
