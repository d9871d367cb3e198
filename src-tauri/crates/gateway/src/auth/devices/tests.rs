//! Pairing, sign-in and revocation of devices.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::*;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;
const ORIGIN: &str = "https://box.example.org";

fn devices() -> (tempfile::TempDir, Devices) {
    let home = tempfile::tempdir().expect("a folder");
    let devices = Devices::open(&Devices::path(home.path()));
    (home, devices)
}

/// A browser with a key.
struct Browser {
    pair: EcdsaKeyPair,
    id: String,
}

impl Browser {
    fn key(pair: &EcdsaKeyPair) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(pair.public_key().as_ref())
    }

    fn paired(devices: &Devices, name: &str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        let (code, _) = devices.create_code(None, DeviceScope::Approve, UnixMs(0)).expect("a code");
        let id = devices.pair(&request(&code, name, &pair), UnixMs(0)).expect("paired").id;
        Self { pair, id }
    }

    fn signed(&self, origin: &str, nonce: &str) -> DeviceSignIn {
        let text = signed_text(origin, &self.id, nonce);
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes()).expect("a signature");
        DeviceSignIn {
            device: self.id.clone(),
            nonce: nonce.to_owned(),
            signature: BASE64_URL_SAFE_NO_PAD.encode(signature.as_ref()),
        }
    }

    fn session(&self, devices: &Devices, now: UnixMs) -> String {
        let nonce = devices.create_nonce(&self.id, now).expect("a nonce");
        devices.sign_in(&self.signed(ORIGIN, &nonce), ORIGIN, now).expect("a session").0
    }
}

fn request(code: &str, name: &str, pair: &EcdsaKeyPair) -> PairingRequest {
    PairingRequest { code: code.to_owned(), name: name.to_owned(), public_key: Browser::key(pair) }
}

#[test]
fn code_pairs_one_device_within_ten_minutes() {
    let (_home, devices) = devices();
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
    let (code, expires_at) =
        devices.create_code(Some("phone"), DeviceScope::Read, UnixMs(0)).expect("a code");
    assert_eq!((code.len(), expires_at), (22, UnixMs(10 * MINUTE_MS)));
    let last = UnixMs(10 * MINUTE_MS - 1);
    let offer = devices.offer(&code, last).expect("an offer");
    assert_eq!((offer.name.as_deref(), offer.scope), (Some("phone"), DeviceScope::Read));
    for (wrong, now) in [("", last), (&code[1..], last), (&code[..], expires_at)] {
        assert!(matches!(devices.offer(wrong, now), Err(DeviceError::Code)), "{wrong}");
        let paired = devices.pair(&request(wrong, "a", &pair), now);
        assert!(matches!(paired, Err(DeviceError::Code)), "{wrong}");
    }
    let device = devices.pair(&request(&code, " Anna's phone ", &pair), last).expect("paired");
    assert_eq!((device.name.as_str(), device.scope), ("Anna's phone", DeviceScope::Read));
    let again = devices.pair(&request(&code, "b", &pair), last);
    assert!(matches!(again, Err(DeviceError::Code)), "used twice");
    assert_eq!(devices.list(), [device]);
}

#[test]
fn new_code_replaces_the_code_before() {
    let (_home, devices) = devices();
    let code = |scope| devices.create_code(None, scope, UnixMs(0)).expect("a code").0;
    let (first, second) = (code(DeviceScope::Write), code(DeviceScope::Read));
    assert!(matches!(devices.offer(&first, UnixMs(1)), Err(DeviceError::Code)));
    assert_eq!(devices.offer(&second, UnixMs(1)).expect("an offer").scope, DeviceScope::Read);
}

#[test]
fn correctable_error_keeps_the_code() {
    let (_home, devices) = devices();
    Browser::paired(&devices, "taken");
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
    let (code, _) = devices.create_code(None, DeviceScope::Read, UnixMs(0)).expect("a code");
    let taken = devices.pair(&request(&code, "taken", &pair), UnixMs(1));
    assert!(matches!(taken, Err(DeviceError::Exists(_))));
    let unnamed = devices.pair(&request(&code, "\u{200b}", &pair), UnixMs(1));
    assert!(matches!(unnamed, Err(DeviceError::Name)));
    let mut invalid = request(&code, "new", &pair);
    invalid.public_key.pop();
    assert!(matches!(devices.pair(&invalid, UnixMs(1)), Err(DeviceError::Key)));
    devices.pair(&request(&code, "new", &pair), UnixMs(1)).expect("paired");
}

#[test]
fn signature_signs_in_once_within_thirty_seconds() {
    let (_home, devices) = devices();
    let browser = Browser::paired(&devices, "phone");
    let nonce = |now| devices.create_nonce(&browser.id, now).expect("a nonce");
    let first = browser.signed(ORIGIN, &nonce(UnixMs(0)));
    let (session, view) = devices.sign_in(&first, ORIGIN, UnixMs(29_999)).expect("a session");
    assert_eq!(view.scope, DeviceScope::Approve);
    assert!(devices.caller(&session, UnixMs(30_000)).is_some());
    assert!(devices.sign_in(&first, ORIGIN, UnixMs(29_999)).is_none(), "a replay");
    let late = browser.signed(ORIGIN, &nonce(UnixMs(0)));
    assert!(devices.sign_in(&late, ORIGIN, UnixMs(30_000)).is_none(), "too late");
    let elsewhere = browser.signed("https://evil.example.org", &nonce(UnixMs(0)));
    assert!(devices.sign_in(&elsewhere, ORIGIN, UnixMs(1)).is_none(), "for another origin");
    let guessed = browser.signed(ORIGIN, "guessed");
    assert!(devices.sign_in(&guessed, ORIGIN, UnixMs(1)).is_none(), "an unknown nonce");
    assert!(devices.create_nonce("unknown", UnixMs(1)).is_none());
}

#[test]
fn nonce_of_another_device_is_refused() {
    let (_home, devices) = devices();
    let [own, other] = ["own", "other"].map(|name| Browser::paired(&devices, name));
    let nonce = devices.create_nonce(&other.id, UnixMs(0)).expect("a nonce");
    assert!(devices.sign_in(&own.signed(ORIGIN, &nonce), ORIGIN, UnixMs(1)).is_none());
}

#[test]
fn device_session_ends_after_twelve_hours() {
    let (_home, devices) = devices();
    let browser = Browser::paired(&devices, "phone");
    let session = browser.session(&devices, UnixMs(0));
    let caller = devices.caller(&session, UnixMs(12 * HOUR_MS - 1)).expect("a session");
    assert_eq!(caller.session_expires_at, UnixMs(12 * HOUR_MS), "a request does not extend it");
    assert!(devices.caller(&session, UnixMs(12 * HOUR_MS)).is_none());
    assert!(devices.caller("guess", UnixMs(0)).is_none());
}

#[test]
fn restart_keeps_devices_and_ends_sessions() {
    let (home, first) = devices();
    let browser = Browser::paired(&first, "phone");
    let session = browser.session(&first, UnixMs(0));
    let second = Devices::open(&Devices::path(home.path()));
    assert!(second.caller(&session, UnixMs(1)).is_none());
    let session = browser.session(&second, UnixMs(1));
    assert_eq!(second.caller(&session, UnixMs(2)).expect("a session").name, "phone");
}

#[test]
fn revocation_ends_sessions_and_survives_a_restart() {
    let (home, devices) = devices();
    let [lost, kept] = ["lost", "kept"].map(|name| Browser::paired(&devices, name));
    let [lost_session, kept_session] =
        [&lost, &kept].map(|browser| browser.session(&devices, UnixMs(0)));
    let open = devices.caller(&lost_session, UnixMs(1)).expect("a session");
    let nonce = devices.create_nonce(&lost.id, UnixMs(1)).expect("a nonce");
    assert!(devices.revoke(&lost.id).expect("written"));
    assert!(open.revoked.is_cancelled(), "open sockets end");
    assert!(devices.caller(&lost_session, UnixMs(2)).is_none());
    assert!(devices.sign_in(&lost.signed(ORIGIN, &nonce), ORIGIN, UnixMs(2)).is_none());
    assert!(devices.create_nonce(&lost.id, UnixMs(2)).is_none());
    let caller = devices.caller(&kept_session, UnixMs(2)).expect("a session");
    assert!(!caller.revoked.is_cancelled());
    assert!(!devices.revoke(&lost.id).expect("nothing to write"));
    let names: Vec<_> = Devices::open(&Devices::path(home.path())).list();
    assert_eq!(names.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["kept"]);
}

#[test]
fn last_request_is_recorded_once_an_hour() {
    let (home, devices) = devices();
    let browser = Browser::paired(&devices, "phone");
    let session = browser.session(&devices, UnixMs(0));
    let last_seen = |at: i64| {
        devices.caller(&session, UnixMs(at)).expect("a session");
        Devices::open(&Devices::path(home.path())).list()[0].last_seen_at_ms
    };
    assert_eq!(last_seen(10), Some(10));
    assert_eq!(last_seen(HOUR_MS), Some(10));
    assert_eq!(last_seen(HOUR_MS + 10), Some(HOUR_MS + 10));
}

#[test]
fn device_file_is_private_and_holds_no_session_or_code() {
    let (home, devices) = devices();
    let session = Browser::paired(&devices, "phone").session(&devices, UnixMs(0));
    let (code, _) = devices.create_code(None, DeviceScope::Read, UnixMs(0)).expect("a code");
    devices.caller(&session, UnixMs(1)).expect("a session");
    let path = Devices::path(home.path());
    let text = fs::read_to_string(&path).expect("a file");
    assert!(!text.contains(&session) && !text.contains(&code), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn unreadable_device_file_means_no_devices() {
    let (home, devices) = devices();
    let browser = Browser::paired(&devices, "phone");
    let path = Devices::path(home.path());
    fs::write(&path, "{\"half").expect("our own file");
    let reopened = Devices::open(&path);
    assert!(reopened.list().is_empty());
    assert!(reopened.create_nonce(&browser.id, UnixMs(1)).is_none());
}
