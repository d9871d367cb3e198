//! Paired devices: browsers and phones with a key of their own, a scope and a revocation.
//!
//! Owns the private file with names, scopes and public keys; the file holds no secret. A pairing code lives for 10 minutes
//! and pairs one device. A device signs in with a signature of a nonce of 30 s; its session lasts 12 h, in memory only, so
//! a restart and each half day ask for a new signature. A revocation ends sessions and open sockets at once. An unreadable
//! file means no devices (fail closed).
//! Pitfall: writing the file at every request; the last request is written at most once an hour.

mod expiring_map;
mod signature;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rouse_core::UnixMs;
use rouse_core::text::sha256_hex;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use self::expiring_map::ExpiringMap;
use self::signature::{is_public_key, is_signed, signed_text};
use super::visible_name::{MAX_NAME_CHARS, visible_name};
use crate::caller::DeviceCaller;
use crate::crypto::{constant_time_eq, random_code, random_secret};
use crate::private_file::write_private;
use crate::wire::{DeviceScope, DeviceSignIn, DeviceView, PairingOffer, PairingRequest};

/// Lifetime of a pairing code.
const PAIRING_LIFETIME_MS: i64 = 10 * 60_000;
/// Lifetime of a nonce.
const NONCE_LIFETIME_MS: i64 = 30_000;
/// Lifetime of a session of a device.
pub(crate) const DEVICE_SESSION_LIFETIME_MS: i64 = 12 * 3_600_000;
/// Maximum number of devices.
const MAX_DEVICES: usize = 64;
/// Minimum time between two writes of the last request.
const LAST_SEEN_STEP_MS: i64 = 3_600_000;

/// An error of the device table.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The name is empty, long, or has invisible characters.
    #[error("must have 1 to {} visible characters", MAX_NAME_CHARS)]
    Name,
    /// Another device has the name.
    #[error("There is already a device {0}. Choose another name, or revoke that device first.")]
    Exists(String),
    /// The table is full.
    #[error("There are {} devices. Revoke one first.", MAX_DEVICES)]
    Full,
    /// The code is wrong, used or expired.
    #[error("This code is used or expired. Create a new one: rouse devices pair")]
    Code,
    /// The public key is no point of P-256.
    #[error("The key of this browser cannot be used.")]
    Key,
    /// The file cannot be written.
    #[error("Nothing was changed, because {path} cannot be written: {source}.")]
    Write {
        /// The file.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
}

/// The paired devices.
pub struct Devices {
    path: PathBuf,
    table: Mutex<DeviceTable>,
}

#[derive(Default)]
struct DeviceTable {
    devices: Vec<StoredDevice>,
    /// The hash of the newest code, with its offer.
    offer: Option<(String, PairingOffer)>,
    /// Device ids by nonce.
    nonces: ExpiringMap<String>,
    /// Device ids by the hash of a session.
    sessions: ExpiringMap<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredDevice {
    public_key: String,
    #[serde(flatten)]
    view: DeviceView,
    /// Cancelled at the revocation.
    #[serde(skip)]
    revoked: CancellationToken,
}

impl DeviceTable {
    /// The offer of this code, if valid.
    fn offer_of(&self, code: &str, now: UnixMs) -> Result<&PairingOffer, DeviceError> {
        let hash = sha256_hex(code);
        let offer = self.offer.as_ref().filter(|(offered, offer)| {
            constant_time_eq(offered.as_bytes(), hash.as_bytes()) && now.0 < offer.expires_at_ms
        });
        offer.map(|(_, offer)| offer).ok_or(DeviceError::Code)
    }
}

impl Devices {
    /// The file of `home`.
    #[must_use]
    pub fn path(home: &Path) -> PathBuf {
        home.join("devices.json")
    }

    /// Reads the file. A missing file means no devices.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        let devices = match fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        let devices = devices.unwrap_or_else(|error| {
            tracing::warn!(%error, path = %path.display(), "the devices cannot be read; no device has access");
            Vec::new()
        });
        let table = DeviceTable { devices, ..DeviceTable::default() };
        Self { path: path.to_owned(), table: Mutex::new(table) }
    }

    /// The devices, by name.
    #[must_use]
    pub fn list(&self) -> Vec<DeviceView> {
        let mut views: Vec<_> =
            self.table().devices.iter().map(|device| device.view.clone()).collect();
        views.sort_by(|a, b| a.name.cmp(&b.name));
        views
    }

    /// Creates a pairing code and returns it with the expiry. The code before becomes invalid.
    ///
    /// # Errors
    /// For an invalid name.
    pub fn create_code(
        &self,
        name: Option<&str>,
        scope: DeviceScope,
        now: UnixMs,
    ) -> Result<(String, UnixMs), DeviceError> {
        let name = name.map(|name| visible_name(name).ok_or(DeviceError::Name)).transpose()?;
        let (code, expires_at) = (random_code(), now.plus_ms(PAIRING_LIFETIME_MS));
        let offer =
            PairingOffer { name: name.map(str::to_owned), scope, expires_at_ms: expires_at.0 };
        self.table().offer = Some((sha256_hex(&code), offer));
        Ok((code, expires_at))
    }

    /// What a code offers. The code stays valid.
    ///
    /// # Errors
    /// For a wrong, used or expired code.
    pub fn offer(&self, code: &str, now: UnixMs) -> Result<PairingOffer, DeviceError> {
        self.table().offer_of(code, now).cloned()
    }

    /// Pairs a device. The code is used up.
    ///
    /// # Errors
    /// For a wrong code, an invalid or used name, an invalid key, a full table, or a file that cannot be written. The code
    /// stays valid for another attempt then.
    pub fn pair(&self, request: &PairingRequest, now: UnixMs) -> Result<DeviceView, DeviceError> {
        let mut table = self.table();
        let scope = table.offer_of(&request.code, now)?.scope;
        let name = visible_name(&request.name).ok_or(DeviceError::Name)?;
        if table.devices.iter().any(|device| device.view.name == name) {
            return Err(DeviceError::Exists(name.to_owned()));
        }
        if table.devices.len() >= MAX_DEVICES {
            return Err(DeviceError::Full);
        }
        if !is_public_key(&request.public_key) {
            return Err(DeviceError::Key);
        }
        let view = DeviceView {
            id: random_code(),
            name: name.to_owned(),
            scope,
            created_at_ms: now.0,
            last_seen_at_ms: None,
        };
        let mut changed = table.devices.clone();
        changed.push(StoredDevice {
            public_key: request.public_key.clone(),
            view: view.clone(),
            revoked: CancellationToken::new(),
        });
        self.write(&changed)?;
        table.devices = changed;
        table.offer = None;
        Ok(view)
    }

    /// A nonce for a sign-in of a device; none for an unknown device.
    #[must_use]
    pub fn create_nonce(&self, device_id: &str, now: UnixMs) -> Option<String> {
        let mut table = self.table();
        table.devices.iter().find(|device| device.view.id == device_id)?;
        let (nonce, expires_at) = (random_secret(), now.plus_ms(NONCE_LIFETIME_MS));
        table.nonces.insert(nonce.clone(), device_id.to_owned(), expires_at, now);
        Some(nonce)
    }

    /// Creates a session for a page of `origin`, if the signature is valid. A nonce works once.
    #[must_use]
    pub fn sign_in(
        &self,
        request: &DeviceSignIn,
        origin: &str,
        now: UnixMs,
    ) -> Option<(String, DeviceView)> {
        let mut table = self.table();
        let device_id = table.nonces.take(&request.nonce, now)?;
        if device_id != request.device {
            return None;
        }
        let device = table.devices.iter().find(|device| device.view.id == device_id)?;
        let text = signed_text(origin, &device_id, &request.nonce);
        if !is_signed(&text, &device.public_key, &request.signature) {
            return None;
        }
        let (session, view) = (random_secret(), device.view.clone());
        let expires_at = now.plus_ms(DEVICE_SESSION_LIFETIME_MS);
        table.sessions.insert(sha256_hex(&session), device_id, expires_at, now);
        Some((session, view))
    }

    /// The device of a session, if valid. Records the request.
    #[must_use]
    pub(crate) fn caller(&self, session: &str, now: UnixMs) -> Option<DeviceCaller> {
        let mut table = self.table();
        let (device_id, session_expires_at) = table.sessions.get(&sha256_hex(session), now)?;
        let device_id = device_id.clone();
        let device = table.devices.iter_mut().find(|device| device.view.id == device_id)?;
        let last_seen = device.view.last_seen_at_ms;
        let is_recent = last_seen.is_some_and(|last| now.since(UnixMs(last)) < LAST_SEEN_STEP_MS);
        if !is_recent {
            device.view.last_seen_at_ms = Some(now.0);
        }
        let caller = DeviceCaller {
            name: device.view.name.clone(),
            scope: device.view.scope,
            session_expires_at,
            revoked: device.revoked.clone(),
        };
        if !is_recent && let Err(error) = self.write(&table.devices) {
            tracing::warn!(%error, "the last request of a device was not recorded");
        }
        Some(caller)
    }

    /// Revokes a device: ends its sessions and its open sockets. Returns false for an unknown id.
    ///
    /// # Errors
    /// When the file cannot be written. The device keeps its access then.
    pub fn revoke(&self, id: &str) -> Result<bool, DeviceError> {
        let mut table = self.table();
        let (revoked, kept): (Vec<_>, Vec<_>) =
            table.devices.iter().cloned().partition(|device| device.view.id == id);
        let Some(device) = revoked.first() else { return Ok(false) };
        self.write(&kept)?;
        table.devices = kept;
        table.sessions.retain(|device_id| device_id != id);
        table.nonces.retain(|device_id| device_id != id);
        device.revoked.cancel();
        Ok(true)
    }

    fn table(&self) -> MutexGuard<'_, DeviceTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, devices: &[StoredDevice]) -> Result<(), DeviceError> {
        let text =
            serde_json::to_string_pretty(devices).expect("BUG: strings and numbers are JSON");
        write_private(&self.path, &text)
            .map_err(|source| DeviceError::Write { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests;
