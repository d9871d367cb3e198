//! `GET /oauth/callback`: the redirect address of sign-ins at MCP servers. Public: the one-time state is the proof.

use axum::extract::State;
use axum::response::Response;

use super::state::RouterState;
use crate::sign_in_callback::CallbackQuery;

pub(super) async fn receive(State(state): State<RouterState>, query: CallbackQuery) -> Response {
    state.gateway.end_sign_in(query).await
}
