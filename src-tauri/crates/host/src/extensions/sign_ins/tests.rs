//! Sign-ins over a keyring in memory: sealing, restarts, and keyrings that are locked, empty or absent.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rouse_core::UnixMs;
use tempfile::TempDir;

use super::*;

/// A keyring in memory.
#[derive(Default)]
struct MemoryKeys {
    entries: Mutex<BTreeMap<String, String>>,
    /// Why the keyring does not answer.
    failure: Mutex<Option<&'static str>>,
}

impl MemoryKeys {
    fn fail(&self, failure: Option<&'static str>) {
        *self.failure.lock().expect("not poisoned") = failure;
    }

    fn answer<T>(&self, value: T) -> Result<T, String> {
        let failure = *self.failure.lock().expect("not poisoned");
        failure.map_or(Ok(value), |failure| Err(failure.to_owned()))
    }
}

impl DataKeyEntries for MemoryKeys {
    fn read<'a>(&'a self, account: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        let value = self.entries.lock().expect("not poisoned").get(account).cloned();
        Box::pin(std::future::ready(self.answer(value)))
    }

    fn write<'a>(&'a self, account: &'a str, value: String) -> BoxFuture<'a, Result<(), String>> {
        let answer = self.answer(());
        if answer.is_ok() {
            self.entries.lock().expect("not poisoned").insert(account.to_owned(), value);
        }
        Box::pin(std::future::ready(answer))
    }
}

struct SignInVaultFixture {
    folder: TempDir,
    keys: Arc<MemoryKeys>,
}

impl SignInVaultFixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), keys: Arc::default() }
    }

    /// The sign-ins after a start of Rouse.
    fn open(&self) -> SignInVault {
        SignInVault::new(self.path(), Arc::clone(&self.keys) as _)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("sign-ins.json")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).expect("a file")
    }
}

fn cal() -> ExtensionName {
    "cal".parse().expect("a name")
}

/// A new sign-in with tokens of this length.
fn record(length: usize) -> SignInRecord {
    SignInRecord {
        server_url: "https://mcp.example".to_owned(),
        issuer: "https://auth.example".to_owned(),
        client_id: "client".to_owned(),
        client_secret: None,
        redirect_uri: "http://127.0.0.1:7717/oauth/callback".to_owned(),
        access_token: "sunflower".repeat(length / 9 + 1),
        refresh_token: Some("r".repeat(length)),
        expires_at_ms: None,
        scopes: Vec::new(),
        missing_scopes: Vec::new(),
        is_rejected: false,
        signed_in_at_ms: UnixMs(1_000),
        refreshed_at_ms: UnixMs(1_000),
    }
}

fn refreshed() -> SignInRecord {
    SignInRecord { refreshed_at_ms: UnixMs(2_000), ..record(9) }
}

#[tokio::test]
async fn large_tokens_survive_a_restart_sealed() {
    let fixture = SignInVaultFixture::new();
    fixture.open().save(&cal(), record(8_192)).await.expect("saved");
    let text = fixture.text();
    assert!(!text.contains("sunflower") && !text.contains("rrrr"), "{text}");
    assert_eq!(fixture.open().load(&cal()).await, Ok(Some(record(8_192))));
    let keys = fixture.keys.entries.lock().expect("not poisoned");
    assert!(keys.values().all(|key| key.len() < 100), "an entry of every keyring");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(fixture.path()).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn sign_in_without_keyring_is_in_a_private_file() {
    let fixture = SignInVaultFixture::new();
    fixture.keys.fail(Some("no keyring"));
    fixture.open().save(&cal(), record(9)).await.expect("saved");
    assert!(fixture.text().contains("sunflower"));
    let vault = fixture.open();
    assert_eq!(vault.load(&cal()).await, Ok(Some(record(9))));
    // A refresh happens while the person is away, so it makes no key.
    fixture.keys.fail(None);
    vault.save(&cal(), refreshed()).await.expect("saved");
    assert!(fixture.keys.entries.lock().expect("not poisoned").is_empty());
    vault.save(&cal(), record(9)).await.expect("saved");
    assert!(!fixture.text().contains("sunflower"));
}

#[tokio::test]
async fn locked_keyring_loses_no_sign_in() {
    let fixture = SignInVaultFixture::new();
    fixture.open().save(&cal(), record(9)).await.expect("saved");
    let before = fixture.text();
    fixture.keys.fail(Some("the keyring is locked"));
    let vault = fixture.open();
    let error = vault.load(&cal()).await.expect_err("locked").to_string();
    assert_eq!(error, "The sign-ins are not available: the keyring is locked.");
    assert!(vault.save(&cal(), record(9)).await.is_err());
    assert!(vault.remove(&cal()).await.is_err());
    assert_eq!(fixture.text(), before);
    fixture.keys.fail(None);
    assert_eq!(vault.load(&cal()).await, Ok(Some(record(9))));
}

#[tokio::test]
async fn lost_key_is_replaced_by_a_new_sign_in_only() {
    let fixture = SignInVaultFixture::new();
    fixture.open().save(&cal(), record(9)).await.expect("saved");
    fixture.keys.entries.lock().expect("not poisoned").clear();
    let vault = fixture.open();
    assert!(vault.load(&cal()).await.is_err());
    assert!(vault.save(&cal(), refreshed()).await.is_err());
    vault.save(&cal(), record(9)).await.expect("saved");
    assert_eq!(fixture.open().load(&cal()).await, Ok(Some(record(9))));
}

#[tokio::test]
async fn unusable_file_of_sign_ins_is_not_overwritten() {
    for text in ["not JSON", r#"{"version": 2, "keyringId": "1"}"#] {
        let fixture = SignInVaultFixture::new();
        std::fs::write(fixture.path(), text).expect("a file");
        assert!(fixture.open().save(&cal(), record(9)).await.is_err());
        assert_eq!(fixture.text(), text);
    }
}

#[tokio::test]
async fn rotated_token_stays_in_memory_without_a_disk() {
    let fixture = SignInVaultFixture::new();
    let vault = fixture.open();
    vault.save(&cal(), record(9)).await.expect("saved");
    // A folder in the place of the file, which no file can replace.
    std::fs::remove_file(fixture.path()).expect("removed");
    std::fs::create_dir(fixture.path()).expect("a folder");
    assert!(vault.save(&cal(), refreshed()).await.is_err());
    assert_eq!(vault.load(&cal()).await, Ok(Some(refreshed())));
}

#[tokio::test]
async fn removed_sign_in_is_gone() {
    let fixture = SignInVaultFixture::new();
    let vault = fixture.open();
    assert_eq!(vault.remove(&cal()).await, Ok(false));
    vault.save(&cal(), record(9)).await.expect("saved");
    assert_eq!(vault.remove(&cal()).await, Ok(true));
    assert_eq!(fixture.open().load(&cal()).await, Ok(None));
}
