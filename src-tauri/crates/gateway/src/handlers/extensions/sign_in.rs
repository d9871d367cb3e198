//! `extensions.signIn`, `awaitSignIn`, `cancelSignIn`, `signOut`: sign-ins at MCP servers over HTTP.
//!
//! Only a person calls these methods; a run never starts a sign-in. Never opens a browser: the CLI or the UI does.
//! Pitfall: a redirect port that another program holds; the sign-in is cancelled, so no link leads there.

use std::sync::Arc;
use std::time::Duration;

use rouse_core::extension::{Extension, ServerTransport, SignInState};

use super::lookup::find;
use crate::context::Context;
use crate::error::RpcError;
use crate::sign_in_callback::listen;
use crate::wire::{ChangeResult, ExtensionRef, SignInLink, SignInStatus};

/// How long one call waits; the client calls again.
const WAIT_LIMIT: Duration = Duration::from_secs(25);

/// Starts a sign-in.
pub(crate) async fn sign_in(
    context: &Context,
    params: ExtensionRef,
) -> Result<SignInLink, RpcError> {
    let ExtensionRef { name } = params;
    let extension = find(context, &name)?;
    let sign_ins = context.extensions.sign_ins();
    let is_pending = sign_ins.status(&name).await.state == SignInState::Pending;
    let port = context.engine.port;
    let url = sign_ins.begin(&name, port).await?;
    if let Some(other) = redirect_port(&extension).filter(|other| *other != port) {
        let extensions = Arc::clone(&context.extensions);
        let listening = listen(other, extensions, name.clone(), is_pending).await;
        listening.inspect_err(|_| {
            sign_ins.cancel(&name);
        })?;
    }
    Ok(SignInLink { url })
}

/// Waits until the sign-in ends, for at most 25 s. `pending` in the answer means that the client calls again.
pub(crate) async fn await_sign_in(
    context: &Context,
    params: ExtensionRef,
) -> Result<SignInStatus, RpcError> {
    find(context, &params.name)?;
    let sign_ins = context.extensions.sign_ins();
    sign_ins.await_end(&params.name, WAIT_LIMIT).await;
    Ok(sign_ins.status(&params.name).await)
}

/// Forgets a sign-in that waits for the browser.
pub(crate) async fn cancel_sign_in(
    context: &Context,
    params: ExtensionRef,
) -> Result<ChangeResult, RpcError> {
    find(context, &params.name)?;
    Ok(ChangeResult { changed: context.extensions.sign_ins().cancel(&params.name) })
}

/// Deletes the tokens of a server.
pub(crate) async fn sign_out(
    context: &Context,
    params: ExtensionRef,
) -> Result<ChangeResult, RpcError> {
    find(context, &params.name)?;
    Ok(ChangeResult { changed: context.extensions.sign_ins().sign_out(&params.name).await? })
}

fn redirect_port(extension: &Extension) -> Option<u16> {
    match &extension.server.transport {
        ServerTransport::Http { oauth, .. } => oauth.as_ref()?.redirect_port,
        ServerTransport::Stdio { .. } | ServerTransport::Wasm { .. } => None,
    }
}
