//! Pairing and sign-in of devices: `/auth/pairing`, `/auth/pair`, `/auth/challenge`, `/auth/sign-in`.
//!
//! A code has 128 random bits, so guesses need no limit, and a stranger's guesses block nobody. The browser keeps its private
//! key; a session cookie is the answer to a signature that names the origin of the page.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::body::CompleteBody;
use super::error_response::error_response;
use super::guard::JsonContentType;
use super::own_origin::OwnOrigin;
use super::state::RouterState;
use crate::auth::{DEVICE_SESSION_LIFETIME_MS, DeviceError, Devices};
use crate::wire::{DeviceSignIn, DeviceView, PairingRequest};

/// The message for a device without access.
const NOT_PAIRED: &str = "This device is not paired, or was revoked.";

/// `POST /auth/pairing {code}`: what a code offers. The code stays valid.
pub(super) async fn offer(
    _: JsonContentType,
    State(state): State<RouterState>,
    CompleteBody(body): CompleteBody,
) -> Response {
    let request: PairingRequest = parse(&body);
    match devices(&state).offer(&request.code, state.clock.now()) {
        Ok(offer) => Json(offer).into_response(),
        Err(error) => device_error_response(&error),
    }
}

/// `POST /auth/pair {code, name, publicKey}`: pairs the browser.
pub(super) async fn pair(
    _: JsonContentType,
    State(state): State<RouterState>,
    CompleteBody(body): CompleteBody,
) -> Response {
    match devices(&state).pair(&parse(&body), state.clock.now()) {
        Ok(device) => {
            tracing::info!(
                device = device.name,
                scope = device.scope.name(),
                "a device was paired"
            );
            Json(device).into_response()
        }
        Err(error) => device_error_response(&error),
    }
}

/// `POST /auth/challenge {device}`: a nonce to sign.
pub(super) async fn challenge(
    _: JsonContentType,
    State(state): State<RouterState>,
    CompleteBody(body): CompleteBody,
) -> Response {
    let request: DeviceSignIn = parse(&body);
    match devices(&state).create_nonce(&request.device, state.clock.now()) {
        Some(nonce) => Json(json!({ "nonce": nonce })).into_response(),
        None => error_response(StatusCode::UNAUTHORIZED, NOT_PAIRED),
    }
}

/// `POST /auth/sign-in {device, nonce, signature}`: exchanges a signature for a session cookie and a page key.
pub(super) async fn sign_in(
    _: JsonContentType,
    Extension(origin): Extension<OwnOrigin>,
    State(state): State<RouterState>,
    CompleteBody(body): CompleteBody,
) -> Response {
    let now = state.clock.now();
    let signed_in = devices(&state).sign_in(&parse(&body), &origin.serialized(), now);
    let Some((session, DeviceView { name, scope, .. })) = signed_in else {
        return error_response(StatusCode::UNAUTHORIZED, NOT_PAIRED);
    };
    let cookie = origin.cookie(&session, DEVICE_SESSION_LIFETIME_MS);
    let headers = [(header::SET_COOKIE, cookie), (header::CACHE_CONTROL, "no-store".to_owned())];
    let page_key = state.auth.page_key(&session);
    (headers, Json(json!({ "pageKey": page_key, "name": name, "scope": scope }))).into_response()
}

fn devices(state: &RouterState) -> &Devices {
    &state.gateway.context().devices
}

/// The request of a body; an invalid body is a request without values, which matches nothing.
fn parse<T: DeserializeOwned + Default>(body: &[u8]) -> T {
    serde_json::from_slice(body).unwrap_or_default()
}

fn device_error_response(error: &DeviceError) -> Response {
    let status = match error {
        DeviceError::Code => StatusCode::UNAUTHORIZED,
        DeviceError::Name | DeviceError::Key => StatusCode::BAD_REQUEST,
        DeviceError::Exists(_) | DeviceError::Full => StatusCode::CONFLICT,
        DeviceError::Write { .. } => StatusCode::INSUFFICIENT_STORAGE,
    };
    let message = match error {
        DeviceError::Name => format!("The name {error}."),
        _ => error.to_string(),
    };
    let body: Value = json!({ "error": message });
    (status, Json(body)).into_response()
}
