//! Tests of secret storage, unavailable secrets and failures without data loss.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use futures_util::future::join_all;
use rouse_agent::{Safety, Secret, SecretValue};
use rouse_channels::sign_message;
use rouse_gateway::Secrets as _;
use rouse_gateway::wire::{SecretSetParams, SecretStorage};
use rouse_testkit::ManualClock;
use tempfile::TempDir;

use super::keyring::{Keyring, KeyringError};
use super::signing_key::PLACEHOLDER_KEY;
use super::*;

const VALUE: &str = "sunflower-42-Tango";

/// A lockable keyring in memory.
#[derive(Default)]
struct MemoryKeyring {
    values: Mutex<BTreeMap<String, String>>,
    locked: Mutex<bool>,
    /// The number of lock queries, and of value reads.
    lock_queries: AtomicU32,
    value_reads: AtomicU32,
}

impl MemoryKeyring {
    fn lock(&self, locked: bool) {
        *self.locked.lock().expect("not poisoned") = locked;
    }

    fn open(&self) -> Result<std::sync::MutexGuard<'_, BTreeMap<String, String>>, KeyringError> {
        if *self.locked.lock().expect("not poisoned") {
            Err(KeyringError::Locked)
        } else {
            Ok(self.values.lock().expect("not poisoned"))
        }
    }
}

impl Keyring for MemoryKeyring {
    fn is_locked<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, bool> {
        self.lock_queries.fetch_add(1, Ordering::SeqCst);
        let is_locked = *self.locked.lock().expect("not poisoned");
        Box::pin(std::future::ready(is_locked))
    }

    fn get(&self, account: &str) -> Result<Option<String>, KeyringError> {
        self.value_reads.fetch_add(1, Ordering::SeqCst);
        Ok(self.open()?.get(account).cloned())
    }

    fn set(&self, account: &str, value: &str) -> Result<(), KeyringError> {
        self.open()?.insert(account.to_owned(), value.to_owned());
        Ok(())
    }

    fn remove(&self, account: &str) -> Result<bool, KeyringError> {
        Ok(self.open()?.remove(account).is_some())
    }
}

struct SecretFixture {
    folder: TempDir,
    keyring: Arc<MemoryKeyring>,
    clock: ManualClock,
}

impl SecretFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::new(rouse_core::UnixMs(1_795_327_200_000));
        Self { folder, keyring: Arc::default(), clock }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("secrets.json")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).expect("a file")
    }

    async fn vault(&self, with_keyring: bool) -> VaultWithBook {
        let keyring = with_keyring.then(|| Arc::clone(&self.keyring) as Arc<dyn Keyring>);
        let own: OwnKeys = Arc::new(|| {
            let value = SecretValue::new("sk-0123456789").expect("a value");
            vec![Secret::redacted_only("PROVIDER_KEY", value)]
        });
        let clock = Arc::new(self.clock.clone());
        let book = Arc::new(SecretBook::default());
        let vault = SecretVault::open(self.path(), keyring, own, clock, Arc::clone(&book));
        let vault = Arc::new(vault);
        let source: Weak<SecretVault> = Arc::downgrade(&vault);
        book.set_source(source);
        vault.load().await;
        VaultWithBook { vault, book }
    }
}

fn params(name: &str, hosts: Option<&[&str]>) -> SecretSetParams {
    let hosts = hosts.map(|hosts| hosts.iter().map(|host| (*host).to_owned()).collect());
    SecretSetParams { name: name.to_owned(), value: VALUE.to_owned(), hosts, servers: None }
}

/// A vault with its book.
struct VaultWithBook {
    vault: Arc<SecretVault>,
    book: Arc<SecretBook>,
}

impl std::ops::Deref for VaultWithBook {
    type Target = SecretVault;

    fn deref(&self) -> &SecretVault {
        &self.vault
    }
}

/// Whether the stored value is redacted.
fn is_redacted(vault: &VaultWithBook) -> bool {
    Safety::new(Arc::clone(&vault.book)).redacted(VALUE).is_some()
}

#[tokio::test]
async fn secret_is_in_the_keyring_not_the_file() {
    let fixture = SecretFixture::new();
    let vault = fixture.vault(true).await;
    let view = vault.set(params("mail", Some(&["api.example.com"]))).await.expect("kept");
    assert_eq!((view.stored_in, view.problem), (SecretStorage::Keyring, None));
    assert!(!fixture.text().contains(VALUE) && fixture.text().contains("api.example.com"));
    assert!(is_redacted(&vault));
    let again = fixture.vault(true).await;
    assert!(is_redacted(&again), "after a restart too");
    let listed = again.list().await.expect("a list");
    assert_eq!((listed.secrets.len(), listed.warning), (1, None));
    assert!(!format!("{:?}", listed.secrets).contains(VALUE));
}

#[tokio::test]
async fn binding_to_a_server_survives_a_restart() {
    let fixture = SecretFixture::new();
    let calendar: rouse_core::extension::ExtensionName = "calendar".parse().expect("a name");
    let servers = Some(vec![calendar.clone()]);
    let bound = SecretSetParams { servers, ..params("cal", None) };
    fixture.vault(true).await.set(bound).await.expect("kept");
    let vault = fixture.vault(true).await;
    // A new value keeps the binding.
    vault.set(params("cal", None)).await.expect("kept");
    let servers = vault.list().await.expect("a list").secrets[0].servers.clone();
    assert_eq!(servers, std::slice::from_ref(&calendar));
    let filled = vault.book.fill_for_server(&calendar, "{{secret:cal}}");
    assert_eq!(filled.as_deref(), Ok(VALUE));
    let unbound = vault.set(params("mail", None)).await.expect_err("neither host nor server");
    assert!(unbound.message.starts_with("hosts: "), "{unbound}");
}

#[test]
fn file_count_is_described() {
    let counts =
        [(0, 3), (1, 1), (1, 3), (2, 3), (3, 3)].map(|(n, of)| super::describe_file_count(n, of));
    let expected =
        ["The only secret is", "1 of 3 secrets is", "2 of 3 secrets are", "All 3 secrets are"];
    assert_eq!(counts[0], None);
    assert_eq!(counts[1..], expected.map(|expected| Some(expected.to_owned())));
}

#[tokio::test]
async fn missing_keyring_uses_private_file_with_warning() {
    let fixture = SecretFixture::new();
    fixture.keyring.lock(true);
    for with_keyring in [true, false] {
        let vault = fixture.vault(with_keyring).await;
        let view = vault.set(params("mail", Some(&["api.example.com"]))).await.expect("kept");
        assert_eq!(view.stored_in, SecretStorage::File);
        assert!(view.problem.is_some());
        assert!(is_redacted(&fixture.vault(with_keyring).await), "after a restart too");
        let warning = vault.list().await.expect("a list").warning.expect("a warning");
        assert!(warning.starts_with("The only secret is kept in "), "{warning}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(fixture.path()).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn secret_moves_from_file_to_keyring_when_set() {
    let fixture = SecretFixture::new();
    fixture.vault(false).await.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    assert!(fixture.text().contains(VALUE));
    let vault = fixture.vault(true).await;
    let view = vault.set(params("mail", None)).await.expect("kept");
    assert_eq!(
        (view.stored_in, view.hosts),
        (SecretStorage::Keyring, vec!["a.example".to_owned()])
    );
    assert!(!fixture.text().contains(VALUE));
}

#[tokio::test]
async fn locked_keyring_loses_nothing() {
    let fixture = SecretFixture::new();
    fixture.vault(true).await.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    fixture.keyring.lock(true);
    let vault = fixture.vault(true).await;
    assert!(!is_redacted(&vault));
    let listed = vault.list().await.expect("a list");
    assert!(listed.secrets[0].problem.as_deref().is_some_and(|error| error.contains("locked")));
    assert!(vault.remove("mail").await.is_err(), "its value could not be removed");
    fixture.keyring.lock(false);
    assert_eq!(vault.list().await.expect("a list").secrets[0].problem, None);
    assert!(is_redacted(&vault));
}

/// Why the stored secret is unusable as a key; none if usable.
fn key_problem(vault: &VaultWithBook) -> Option<String> {
    let key_problem = vault.book.key_error("mail", "https://a.example/v1");
    key_problem.map(|error| error.to_string())
}

const LOCKED: &str =
    "the secret mail is not at hand, because the system's keyring is locked: unlock it";

#[tokio::test]
async fn unlocked_keyring_is_read_without_prompt() {
    let fixture = SecretFixture::new();
    fixture.vault(true).await.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    fixture.keyring.lock(true);
    let vault = fixture.vault(true).await;
    assert_eq!(key_problem(&vault).as_deref(), Some(LOCKED));
    let value_reads = fixture.keyring.value_reads.load(Ordering::SeqCst);
    fixture.clock.advance(2_000);
    vault.book.reload("mail").await;
    assert_eq!(key_problem(&vault).as_deref(), Some(LOCKED));
    assert_eq!(
        fixture.keyring.value_reads.load(Ordering::SeqCst),
        value_reads,
        "a read would prompt"
    );

    fixture.keyring.lock(false);
    vault.book.reload("not-stored").await;
    assert!(key_problem(&vault).is_some());
    fixture.clock.advance(2_000);
    vault.book.reload("mail").await;
    assert_eq!(key_problem(&vault), None);
    assert!(is_redacted(&vault));
}

#[tokio::test]
async fn concurrent_reloads_query_the_keyring_once() {
    let fixture = SecretFixture::new();
    fixture.vault(true).await.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    fixture.keyring.lock(true);
    let vault = fixture.vault(true).await;
    let lock_queries = || fixture.keyring.lock_queries.load(Ordering::SeqCst);
    for queries in 0..3 {
        assert_eq!(lock_queries(), queries);
        fixture.clock.advance(2_000);
        for _ in 0..2 {
            join_all((0..20).map(|_| vault.book.reload("mail"))).await;
        }
    }
}

#[tokio::test]
async fn silent_keyring_makes_secret_unavailable() {
    let fixture = SecretFixture::new();
    fixture.vault(true).await.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    let book = Arc::new(SecretBook::default());
    let (keyring, own): (Arc<dyn Keyring>, OwnKeys) = (fixture.keyring.clone(), Arc::new(Vec::new));
    let clock = Arc::new(fixture.clock.clone());
    let _vault = SecretVault::open(fixture.path(), Some(keyring), own, clock, Arc::clone(&book));
    let error = book.key_error("mail", "https://a.example/v1").expect("none yet").to_string();
    assert!(error.contains("because the system's keyring has not answered yet"), "{error}");
}

/// A stored call refers to a secret's change time.
#[tokio::test]
async fn every_set_has_a_unique_time() {
    let fixture = SecretFixture::new();
    let vault = fixture.vault(true).await;
    let mut instants = std::collections::BTreeSet::new();
    for name in ["mail", "mail", "other", "mail"] {
        let _none_at_first = vault.remove_secret(name).await;
        let view = vault.set(params(name, Some(&["a.example"]))).await.expect("kept");
        assert!(instants.insert(view.set_at_ms), "{instants:?}");
    }
}

/// A new value must not pass for the earlier value.
#[tokio::test]
async fn failed_write_keeps_the_old_value() {
    let fixture = SecretFixture::new();
    let vault = fixture.vault(true).await;
    vault.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    let before = fixture.keyring.values.lock().expect("not poisoned").clone();
    std::fs::remove_file(fixture.path()).expect("a file");
    std::fs::create_dir_all(fixture.path().join("in the way")).expect("a folder");
    let other = SecretSetParams { value: "another-value-42".to_owned(), ..params("mail", None) };
    assert!(vault.set(other).await.is_err());
    assert_eq!(*fixture.keyring.values.lock().expect("not poisoned"), before);
    assert!(is_redacted(&vault));
}

#[tokio::test]
async fn removed_secret_leaves_no_trace() {
    let fixture = SecretFixture::new();
    let vault = fixture.vault(true).await;
    vault.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    let removed = vault.remove("mail").await.expect("removed");
    assert_eq!(removed.manual_cleanup, None);
    assert!(fixture.keyring.values.lock().expect("not poisoned").is_empty());
    assert!(!is_redacted(&vault) && !fixture.text().contains("mail"));
    assert!(vault.remove("mail").await.is_err(), "there is none");
}

#[tokio::test]
async fn possible_keyring_leftover_is_reported() {
    let fixture = SecretFixture::new();
    let vault = fixture.vault(true).await;
    vault.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    // A silently locked keyring shows no entries.
    let hidden = std::mem::take(&mut *fixture.keyring.values.lock().expect("not poisoned"));
    let removed = vault.remove("mail").await.expect("removed");
    let remains = removed.manual_cleanup.expect("a warning");
    let account = hidden.keys().next().expect("an entry");
    assert!(remains.contains("locked") && remains.contains(account.as_str()), "{remains}");
    assert!(!is_redacted(&vault) && !fixture.text().contains("mail"));

    let vault = fixture.vault(true).await;
    vault.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    let vault = fixture.vault(false).await;
    let removed = vault.remove("mail").await.expect("removed");
    assert!(removed.manual_cleanup.is_some_and(|remains| remains.contains("ROUSE_KEYRING=0")));
    assert_eq!(fixture.keyring.values.lock().expect("not poisoned").len(), 1);
}

#[tokio::test]
async fn invalid_secret_is_refused_by_field() {
    let fixture = SecretFixture::new();
    let vault = fixture.vault(true).await;
    let short = SecretSetParams { value: "pin".to_owned(), ..params("mail", Some(&["a.example"])) };
    for (wrong, field) in [
        (params("Mail", Some(&["a.example"])), "name"),
        (short, "value"),
        (params("mail", None), "hosts"),
        (params("mail", Some(&["no host"])), "hosts"),
    ] {
        let error = vault.set(wrong).await.expect_err("refused");
        assert_eq!(error.data["fields"][0]["path"], field, "{error}");
    }
    assert!(!fixture.path().exists(), "nothing was stored");
}

#[tokio::test]
async fn damaged_list_is_not_overwritten() {
    let fixture = SecretFixture::new();
    let damaged = format!("{{\"keyringId\": \"x\", \"secrets\": {{\"mail\": \"{VALUE}\"}}");
    std::fs::write(fixture.path(), &damaged).expect("written");
    let vault = fixture.vault(true).await;
    let error = vault.set(params("other", Some(&["a.example"]))).await.expect_err("refused");
    assert!(error.message.contains("damaged") && !error.message.contains(VALUE), "{error}");
    assert!(vault.list().await.is_err());
    assert_eq!(fixture.text(), damaged);
}

#[tokio::test]
async fn provider_keys_are_redacted_and_not_listed() {
    let vault = SecretFixture::new().vault(true).await;
    assert!(Safety::new(Arc::clone(&vault.book)).redacted("it is sk-0123456789").is_some());
    assert_eq!(vault.list().await.expect("a list").secrets.len(), 0);
}

const SIGNING_KEY: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A message signed with this key at the time of the fixture.
fn signed_message(fixture: &SecretFixture, key: &str) -> SignedMessage {
    let received_at = fixture.clock.now();
    let timestamp = (received_at.0 / 1_000).to_string();
    let signatures = sign_message(key, "msg_1", &timestamp, b"tea").expect("a valid key");
    let body = b"tea".to_vec().into();
    SignedMessage { id: "msg_1".to_owned(), timestamp, signatures, body, received_at }
}

#[tokio::test]
async fn signing_key_checks_messages_and_goes_nowhere() {
    let fixture = SecretFixture::new();
    let vault = fixture.vault(true).await;
    let view = vault.set_signing_key("hook", SIGNING_KEY.to_owned()).await.expect("stored");
    assert_eq!((view.hosts.len(), view.stored_in), (0, SecretStorage::Keyring));
    assert!(!fixture.text().contains(SIGNING_KEY));
    for vault in [vault, fixture.vault(true).await] {
        let valid = signed_message(&fixture, SIGNING_KEY);
        assert_eq!(vault.check_signature("hook", valid.clone()).await, Ok(()));
        let missing = vault.check_signature("other", valid).await;
        assert_eq!(missing, Err(SignatureError::Mismatch));
        let safety = Safety::new(Arc::clone(&vault.book));
        assert!(safety.redacted(SIGNING_KEY).is_some());
        assert!(vault.book.key_for("hook", "https://a.example").await.is_err());
    }
}

#[tokio::test]
async fn placeholder_key_of_missing_names_proves_nothing() {
    let fixture = SecretFixture::new();
    let vault = fixture.vault(true).await;
    let message = signed_message(&fixture, PLACEHOLDER_KEY);
    let checked = vault.check_signature("missing", message.clone()).await;
    assert_eq!(checked, Err(SignatureError::Mismatch));
    let old = SignedMessage { timestamp: "1".to_owned(), ..message };
    let checked = vault.check_signature("missing", old).await;
    assert!(matches!(checked, Err(SignatureError::Header(_))), "{checked:?}");
}

#[tokio::test]
async fn unavailable_signing_key_is_no_mismatch() {
    let fixture = SecretFixture::new();
    let vault = fixture.vault(true).await;
    vault.set_signing_key("hook", SIGNING_KEY.to_owned()).await.expect("stored");
    fixture.keyring.lock(true);
    let vault = fixture.vault(true).await;
    let message = signed_message(&fixture, SIGNING_KEY);
    let checked = vault.check_signature("hook", message.clone()).await;
    assert!(matches!(&checked, Err(SignatureError::KeyUnavailable(why)) if why.contains("locked")));
    // The next lookup is due after two seconds.
    fixture.keyring.lock(false);
    fixture.clock.advance(2_000);
    assert_eq!(vault.check_signature("hook", message).await, Ok(()));
    vault.set(params("hook", None)).await.expect("a signing key stays one");
    let message = signed_message(&fixture, SIGNING_KEY);
    let checked = vault.check_signature("hook", message).await;
    assert!(matches!(checked, Err(SignatureError::KeyUnavailable(_))), "no `whsec_`: {checked:?}");
}
