//! `devices.*`: the paired browsers and phones.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The methods that a device may call. Each scope includes the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum DeviceScope {
    /// See everything, change nothing.
    Read,
    /// Also decide approvals.
    Approve,
    /// Also everything that a person does in the pages, except settings, secrets, extensions and devices.
    Write,
}

impl DeviceScope {
    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Approve => "approve",
            Self::Write => "write",
        }
    }
}

/// A paired device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeviceView {
    /// Id of the device.
    pub id: String,
    /// Name, chosen at the pairing.
    pub name: String,
    /// The methods that the device may call.
    pub scope: DeviceScope,
    /// Time of the pairing.
    pub created_at_ms: i64,
    /// Last request, exact to an hour; none before the first.
    pub last_seen_at_ms: Option<i64>,
}

/// `devices.list`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct DevicesListResult {
    /// The devices, by name.
    pub devices: Vec<DeviceView>,
    /// Host names of the settings (`gateway.names`) that are in effect.
    pub names: Vec<String>,
}

/// `devices.pair`.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(optional_fields)]
pub struct DevicesPairParams {
    /// Suggested name: 1 to 60 visible characters. Default: the device suggests one.
    pub name: Option<String>,
    /// The methods that the device may call.
    pub scope: DeviceScope,
}

/// `devices.pair`: a pairing code, valid for one device. A new code replaces the code before.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DevicePairing {
    /// Links with the code: one for each name, then one for a browser on this computer.
    pub links: Vec<PairingLink>,
    /// Expiry of the code.
    pub expires_at_ms: i64,
}

/// A link that pairs the device that opens it.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PairingLink {
    /// The link.
    pub url: String,
    /// Whether only a browser on this computer reaches the link.
    pub is_local: bool,
    /// QR code as an SVG image; none for a link of more than 78 characters.
    pub qr_svg: Option<String>,
}

/// A device by id.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
pub struct DeviceRef {
    /// Id of the device.
    pub id: String,
}

/// `POST /auth/pairing`: the device that a pairing code is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PairingOffer {
    /// Suggested name; none if the device suggests one.
    pub name: Option<String>,
    /// The methods that the device may call.
    pub scope: DeviceScope,
    /// Expiry of the code.
    pub expires_at_ms: i64,
}

/// `POST /auth/pair`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PairingRequest {
    /// The pairing code.
    pub code: String,
    /// Name of the device.
    pub name: String,
    /// Point of the P-256 key, uncompressed (65 bytes), in base64url.
    pub public_key: String,
}

/// `POST /auth/sign-in`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceSignIn {
    /// Id of the device.
    pub device: String,
    /// Nonce of `POST /auth/challenge`.
    pub nonce: String,
    /// ECDSA signature with SHA-256 (64 bytes) in base64url.
    pub signature: String,
}
