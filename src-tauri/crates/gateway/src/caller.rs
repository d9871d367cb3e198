//! The caller of a method, and the scope that each method needs.
//!
//! Owns the comparison of both. The token and a session of `rouse open` call every method; a paired device calls the methods
//! within its scope. Never trusts an address or a header of a proxy as an identity.
//! Pitfall: a method that gives a device a lasting secret; the secret would outlive the revocation, so such methods are `Admin`.

use rouse_core::UnixMs;
use serde::Serialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use ts_rs::TS;

use crate::error::{ErrorCode, RpcError};
use crate::wire::DeviceScope;

/// The scope that a method needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum MethodScope {
    /// Changes nothing.
    Read,
    /// Decides approvals.
    Approve,
    /// Changes what a person changes in the pages every day.
    Write,
    /// Changes what protects the computer: settings, secrets, extensions, devices. Never for a device.
    Admin,
}

impl MethodScope {
    /// The name in JSON and TypeScript.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Approve => "approve",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

impl From<DeviceScope> for MethodScope {
    fn from(scope: DeviceScope) -> Self {
        match scope {
            DeviceScope::Read => Self::Read,
            DeviceScope::Approve => Self::Approve,
            DeviceScope::Write => Self::Write,
        }
    }
}

/// An authenticated caller.
#[derive(Debug, Clone)]
pub enum Caller {
    /// This computer: the shell, a program with the token, or a page of `rouse open`.
    Owner,
    /// A page of a paired device.
    Device(DeviceCaller),
}

/// A paired device during a session.
#[derive(Debug, Clone)]
pub struct DeviceCaller {
    pub(crate) name: String,
    pub(crate) scope: DeviceScope,
    pub(crate) session_expires_at: UnixMs,
    /// Cancelled when the device is revoked.
    pub(crate) revoked: CancellationToken,
}

impl Caller {
    /// Checks that the caller may call `method`.
    ///
    /// # Errors
    /// `forbidden`, with device and scopes.
    pub(crate) fn check_scope(&self, method: &str, needed: MethodScope) -> Result<(), RpcError> {
        let Self::Device(DeviceCaller { name, scope, .. }) = self else { return Ok(()) };
        if MethodScope::from(*scope) >= needed {
            return Ok(());
        }
        let remedy = match needed {
            MethodScope::Admin => "Do it on the computer on which Rouse runs.",
            _ => "Pair the device again with more access.",
        };
        let (scope, needed) = (scope.name(), needed.name());
        let message = format!(
            "The device {name} may not do this: {method} needs the scope {needed}, and the device has {scope}. {remedy}"
        );
        let data = json!({ "device": name, "scope": scope, "needs": needed });
        Err(RpcError { data, ..RpcError::new(ErrorCode::Forbidden, message) })
    }

    /// Whether the session of the caller is still valid.
    pub(crate) fn is_valid(&self, now: UnixMs) -> bool {
        match self {
            Self::Owner => true,
            Self::Device(device) => {
                !device.revoked.is_cancelled() && now < device.session_expires_at
            }
        }
    }

    /// A token that is cancelled when the device is revoked; never for the owner.
    pub(crate) fn revocation(&self) -> CancellationToken {
        match self {
            Self::Owner => CancellationToken::new(),
            Self::Device(device) => device.revoked.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(scope: DeviceScope) -> Caller {
        Caller::Device(DeviceCaller {
            name: "Anna's phone".to_owned(),
            scope,
            session_expires_at: UnixMs(10),
            revoked: CancellationToken::new(),
        })
    }

    #[test]
    fn device_calls_methods_within_its_scope_only() {
        let needs =
            [MethodScope::Read, MethodScope::Approve, MethodScope::Write, MethodScope::Admin];
        for (caller, allowed) in [
            (device(DeviceScope::Read), 1),
            (device(DeviceScope::Approve), 2),
            (device(DeviceScope::Write), 3),
            (Caller::Owner, 4),
        ] {
            let passes = needs.map(|needed| caller.check_scope("x", needed).is_ok());
            let expected: Vec<bool> = (0..4).map(|at| at < allowed).collect();
            assert_eq!(passes.to_vec(), expected, "{caller:?}");
        }
    }

    #[test]
    fn refusal_names_device_and_scopes() {
        let caller = device(DeviceScope::Read);
        let error = caller.check_scope("cron.run", MethodScope::Write).expect_err("refused");
        assert_eq!(error.code, ErrorCode::Forbidden.number());
        let expected = json!({ "device": "Anna's phone", "scope": "read", "needs": "write" });
        assert_eq!(error.data, expected);
        assert!(error.message.contains("Anna's phone") && error.message.contains("cron.run"));
        let error = caller.check_scope("secrets.set", MethodScope::Admin).expect_err("refused");
        assert!(error.message.ends_with("Do it on the computer on which Rouse runs."));
    }

    #[test]
    fn session_ends_by_expiry_and_by_revocation() {
        let caller = device(DeviceScope::Write);
        assert!(caller.is_valid(UnixMs(9)) && !caller.is_valid(UnixMs(10)));
        caller.revocation().cancel();
        assert!(!caller.is_valid(UnixMs(0)));
        assert!(Caller::Owner.is_valid(UnixMs(i64::MAX)));
    }
}
