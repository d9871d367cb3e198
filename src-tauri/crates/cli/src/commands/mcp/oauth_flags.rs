//! The flags of a sign-in's client: for a sign-in server that registers no clients, or wants a fixed address.

use rouse_core::extension::{OAuthClientSettings, ServerTransport};

use crate::resolve::error::CliError;

/// The client of a sign-in, with --url.
#[derive(Debug, Default, clap::Args)]
pub(super) struct OAuthFlags {
    /// Id of a client that you registered at the sign-in server [default: Rouse registers itself]
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// Secret of that client: {{secret:NAME}}
    #[arg(long, value_name = "HANDLE", requires = "client_id")]
    client_secret: Option<String>,
    /// Scope of the sign-in; repeatable [default: those that the server names]
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Host of the redirect address: 127.0.0.1 or localhost [default: 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    redirect_host: Option<String>,
    /// Port of the redirect address [default: the port of Rouse]
    #[arg(long, value_name = "PORT")]
    redirect_port: Option<u16>,
}

impl OAuthFlags {
    /// Adds the flags to a server over HTTP.
    pub(super) fn apply(self, transport: &mut ServerTransport) -> Result<(), CliError> {
        let Self { client_id, client_secret, scopes, redirect_host, redirect_port } = self;
        let scopes = (!scopes.is_empty()).then_some(scopes);
        let settings =
            OAuthClientSettings { client_id, client_secret, scopes, redirect_host, redirect_port };
        if settings == OAuthClientSettings::default() {
            return Ok(());
        }
        match transport {
            ServerTransport::Http { oauth, .. } => {
                *oauth = Some(settings);
                Ok(())
            }
            ServerTransport::Stdio { .. } | ServerTransport::Wasm { .. } => Err(CliError::input(
                "--client-id, --client-secret, --scope, --redirect-host and --redirect-port are for a server with --url",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn flags_are_for_a_server_over_http() {
        let http = || ServerTransport::Http {
            url: "https://mcp.example".to_owned(),
            headers: BTreeMap::new(),
            oauth: None,
        };
        let mut transport = http();
        OAuthFlags::default().apply(&mut transport).expect("no flags");
        assert_eq!(transport, http());
        let flags = || OAuthFlags { client_id: Some("id".to_owned()), ..OAuthFlags::default() };
        flags().apply(&mut transport).expect("a client");
        assert_eq!(json!(transport)["oauth"], json!({ "clientId": "id" }));
        let stdio = json!({ "kind": "stdio", "command": "/opt/cal" });
        let mut stdio = serde_json::from_value(stdio).expect("a transport");
        assert!(flags().apply(&mut stdio).is_err());
    }
}
