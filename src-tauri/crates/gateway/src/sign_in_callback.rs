//! The redirect address of sign-ins at MCP servers: `GET /oauth/callback`.
//!
//! Owns the page that a browser shows after a sign-in, and the listener on another port than that of Rouse. The address
//! needs no authentication: the one-time state in the query is the proof. Never shows text of the query and runs no
//! script. Pitfall: a page with a link; its target would learn the code from the referrer.

use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::get;
use rouse_core::extension::{ExtensionName, SignInCallback, SignInEnd};
use tokio::net::TcpListener;

use crate::context::Extensions;
use crate::error::{ErrorCode, RpcError};

/// The path of the redirect address.
pub(crate) const CALLBACK_PATH: &str = "/oauth/callback";

/// How long a redirect port stays open; a link is no longer good.
const LISTEN_LIMIT: Duration = Duration::from_mins(10);

const CSP: &str = "default-src 'none'; style-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The parameters of the redirect address.
pub(crate) type CallbackQuery = Result<Query<SignInCallback>, QueryRejection>;

/// Ends the sign-in of a callback and returns the page.
pub(crate) async fn end_sign_in(extensions: &dyn Extensions, query: CallbackQuery) -> Response {
    // A query that is no callback belongs to no sign-in.
    let callback = query.map_or_else(|_| SignInCallback::default(), |Query(callback)| callback);
    page(extensions.sign_ins().finish(callback).await)
}

/// The page of an end.
fn page(end: SignInEnd) -> Response {
    let (status, text) = match end {
        SignInEnd::SignedIn => (StatusCode::OK, "Rouse is signed in."),
        SignInEnd::Failed => {
            (StatusCode::BAD_REQUEST, "The sign-in failed. Rouse shows the reason.")
        }
        SignInEnd::UnknownState => {
            (StatusCode::BAD_REQUEST, "This sign-in is used or expired. Start it again with Rouse.")
        }
    };
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Rouse</title><h1>{text}</h1><p>You can close this window.</p></html>"
    );
    let headers = [
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, CSP),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, Html(page)).into_response()
}

/// Listens on the redirect port of a definition until its sign-in ends. `is_open` says that an earlier sign-in at the
/// same server has opened the port.
///
/// # Errors
/// The port cannot be bound.
pub(crate) async fn listen(
    port: u16,
    extensions: Arc<dyn Extensions>,
    name: ExtensionName,
    is_open: bool,
) -> Result<(), RpcError> {
    let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
        Ok(listener) => listener,
        Err(error) if is_open && error.kind() == ErrorKind::AddrInUse => return Ok(()),
        Err(error) => {
            let message = format!(
                "The port {port} of the redirect address cannot be used: {error}. Close the program that uses the port, then sign in again."
            );
            return Err(RpcError::new(ErrorCode::Conflict, message));
        }
    };
    let router = Router::new().route(CALLBACK_PATH, get(receive));
    let router = router.with_state(Arc::clone(&extensions));
    drop(tokio::spawn(async move {
        let ended = async move { extensions.sign_ins().await_end(&name, LISTEN_LIMIT).await };
        let serving = axum::serve(listener, router).with_graceful_shutdown(ended);
        if let Err(error) = serving.await {
            tracing::warn!(%error, port, "the redirect port of a sign-in failed");
        }
    }));
    Ok(())
}

async fn receive(State(extensions): State<Arc<dyn Extensions>>, query: CallbackQuery) -> Response {
    end_sign_in(extensions.as_ref(), query).await
}
