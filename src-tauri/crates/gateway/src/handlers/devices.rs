//! `devices.*`: pairing, list and revocation of browsers and phones.

use rouse_core::text::PairingQr;

use crate::auth::DeviceError;
use crate::context::Context;
use crate::error::{ErrorCode, RpcError};
use crate::wire::{
    ChangeResult, DevicePairing, DeviceRef, DevicesListResult, DevicesPairParams, EmptyObject,
    PairingLink,
};

pub(crate) async fn list(context: &Context, _: EmptyObject) -> Result<DevicesListResult, RpcError> {
    Ok(DevicesListResult { devices: context.devices.list(), names: context.engine.names.clone() })
}

pub(crate) async fn pair(
    context: &Context,
    params: DevicesPairParams,
) -> Result<DevicePairing, RpcError> {
    let now = context.clock.now();
    let (code, expires_at) = context
        .devices
        .create_code(params.name.as_deref(), params.scope, now)
        .map_err(device_error)?;
    let link = |origin: String, is_local| {
        // In the fragment, which a browser sends to no server and a server logs nowhere.
        let url = format!("{origin}/#pair={code}");
        let qr_svg = PairingQr::new(&url).map(|qr| qr.svg());
        PairingLink { url, is_local, qr_svg }
    };
    let engine = &context.engine;
    let mut links: Vec<_> =
        engine.names.iter().map(|name| link(format!("https://{name}"), false)).collect();
    links.push(link(format!("http://127.0.0.1:{}", engine.port), true));
    Ok(DevicePairing { links, expires_at_ms: expires_at.0 })
}

pub(crate) async fn revoke(context: &Context, params: DeviceRef) -> Result<ChangeResult, RpcError> {
    Ok(ChangeResult { changed: context.devices.revoke(&params.id).map_err(device_error)? })
}

fn device_error(error: DeviceError) -> RpcError {
    let message = error.to_string();
    match error {
        DeviceError::Name => RpcError::field("name", &message),
        DeviceError::Exists(_) => RpcError::new(ErrorCode::Exists, message),
        DeviceError::Full | DeviceError::Code | DeviceError::Key => {
            RpcError::new(ErrorCode::Conflict, message)
        }
        DeviceError::Write { .. } => RpcError::new(ErrorCode::Storage, message),
    }
}
