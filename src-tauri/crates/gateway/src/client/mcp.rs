//! Forwarding of MCP messages, for `rouse mcp serve`.

use std::io;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, StatusCode, header};
use serde_json::Value;

use super::error::ClientError;
use super::loopback::LoopbackClient;
use crate::mcp::{CLIENT_HEADER, RUN_HEADER, encode, standard_headers};

/// The program behind `rouse mcp serve`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpOrigin {
    /// Name that the program claimed at `initialize`.
    pub client: Option<String>,
    /// Run of Rouse that started the program. Such a program may only read.
    pub run_id: Option<String>,
}

impl LoopbackClient {
    pub(super) async fn forward_mcp(
        &self,
        message: &Value,
        origin: &McpOrigin,
    ) -> Result<Option<Value>, ClientError> {
        let mut request = self
            .request(Method::POST, "/mcp")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        for (name, value) in standard_headers(message) {
            request = request.header(name, value);
        }
        for (name, value) in [(CLIENT_HEADER, &origin.client), (RUN_HEADER, &origin.run_id)] {
            if let Some(value) = value {
                request = request.header(name, encode(value));
            }
        }
        let request = request
            .body(Full::new(Bytes::from(message.to_string())))
            .map_err(|error| self.connection_error(error))?;
        let mut connection = self.proven_connection().await?;
        let response = self.timeout(self.response_timeout, connection.send(request)).await?;
        let response = response.map_err(|error| self.connection_error(error))?;
        let status = response.status();
        let body = response.into_body().collect().await;
        let body = body.map_err(|error| self.connection_error(error))?.to_bytes();
        match status {
            StatusCode::ACCEPTED => Ok(None),
            StatusCode::UNAUTHORIZED => Err(ClientError::Unauthorized(self.token_path.clone())),
            StatusCode::OK | StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND => {
                let response = serde_json::from_slice(&body);
                response.map(Some).map_err(|error| self.connection_error(error))
            }
            other => {
                let text = String::from_utf8_lossy(&body);
                Err(self.connection_error(io::Error::other(format!("{other}: {text}"))))
            }
        }
    }
}
