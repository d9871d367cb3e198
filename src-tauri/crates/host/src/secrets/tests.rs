//! Where a secret is kept, what is told when it is not at hand, and what is never lost.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use futures_util::future::join_all;
use rouse_agent::{Safety, Secret, SecretValue};
use rouse_gateway::Secrets as _;
use rouse_gateway::wire::{SecretKeeper, SecretSetParams};
use rouse_testkit::ManualClock;
use tempfile::TempDir;

use super::keyring::{Keyring, KeyringError};
use super::*;

const VALUE: &str = "sunflower-42-Tango";

/// A keyring in memory that can be locked.
#[derive(Default)]
struct Drawer {
    kept: Mutex<BTreeMap<String, String>>,
    locked: Mutex<bool>,
    /// How often it was asked whether it is locked, and how often for a value.
    looked: AtomicU32,
    asked: AtomicU32,
}

impl Drawer {
    fn lock(&self, locked: bool) {
        *self.locked.lock().expect("not poisoned") = locked;
    }

    fn open(&self) -> Result<std::sync::MutexGuard<'_, BTreeMap<String, String>>, KeyringError> {
        match *self.locked.lock().expect("not poisoned") {
            true => Err(KeyringError::Locked),
            false => Ok(self.kept.lock().expect("not poisoned")),
        }
    }
}

impl Keyring for Drawer {
    fn is_locked<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, bool> {
        self.looked.fetch_add(1, Ordering::SeqCst);
        let is_locked = *self.locked.lock().expect("not poisoned");
        Box::pin(std::future::ready(is_locked))
    }

    fn get(&self, account: &str) -> Result<Option<String>, KeyringError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
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

struct Room {
    folder: TempDir,
    drawer: Arc<Drawer>,
    clock: ManualClock,
}

impl Room {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = ManualClock::new(rouse_core::UnixMs(1_795_327_200_000));
        Self { folder, drawer: Arc::default(), clock }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("secrets.json")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).expect("a file")
    }

    async fn shelf(&self, with_keyring: bool) -> Shelf {
        let keyring = with_keyring.then(|| Arc::clone(&self.drawer) as Arc<dyn Keyring>);
        let own: OwnKeys = Arc::new(|| {
            let value = SecretValue::new("sk-0123456789").expect("a value");
            vec![Secret::never_sent("PROVIDER_KEY", value)]
        });
        let clock = Arc::new(self.clock.clone());
        let book = Arc::new(SecretBook::default());
        let shelf = SecretShelf::open(self.path(), keyring, own, clock, Arc::clone(&book));
        let shelf = Arc::new(shelf);
        let source: Weak<SecretShelf> = Arc::downgrade(&shelf);
        book.looks_in(source);
        shelf.load().await;
        Shelf { shelf, book }
    }
}

fn params(name: &str, hosts: Option<&[&str]>) -> SecretSetParams {
    let hosts = hosts.map(|hosts| hosts.iter().map(|host| (*host).to_owned()).collect());
    SecretSetParams { name: name.to_owned(), value: VALUE.to_owned(), hosts }
}

/// A shelf and the book that it fills.
struct Shelf {
    shelf: Arc<SecretShelf>,
    book: Arc<SecretBook>,
}

impl std::ops::Deref for Shelf {
    type Target = SecretShelf;

    fn deref(&self) -> &SecretShelf {
        &self.shelf
    }
}

/// Whether the engine recognises the stored value.
fn knows(shelf: &Shelf) -> bool {
    Safety::new(Arc::clone(&shelf.book)).redacted(VALUE).is_some()
}

#[tokio::test]
async fn a_secret_is_in_the_keyring_and_not_in_the_file() {
    let room = Room::new();
    let shelf = room.shelf(true).await;
    let view = shelf.set(params("mail", Some(&["api.example.com"]))).await.expect("kept");
    assert_eq!((view.kept_in, view.problem), (SecretKeeper::Keyring, None));
    assert!(!room.text().contains(VALUE) && room.text().contains("api.example.com"));
    assert!(knows(&shelf));
    let again = room.shelf(true).await;
    assert!(knows(&again), "after a restart too");
    let listed = again.list().await.expect("a list");
    assert_eq!((listed.secrets.len(), listed.warning), (1, None));
    assert!(!format!("{:?}", listed.secrets).contains(VALUE));
}

#[test]
fn how_many_are_in_the_file_is_said_in_words() {
    let told =
        [(0, 3), (1, 1), (1, 3), (2, 3), (3, 3)].map(|(n, of)| super::in_file_in_words(n, of));
    let words =
        ["The only secret is", "1 of 3 secrets is", "2 of 3 secrets are", "All 3 secrets are"];
    assert_eq!(told[0], None);
    assert_eq!(told[1..], words.map(|words| Some(words.to_owned())));
}

#[tokio::test]
async fn without_a_keyring_it_is_in_a_file_of_the_person_alone_and_that_is_said() {
    let room = Room::new();
    room.drawer.lock(true);
    for with_keyring in [true, false] {
        let shelf = room.shelf(with_keyring).await;
        let view = shelf.set(params("mail", Some(&["api.example.com"]))).await.expect("kept");
        assert_eq!(view.kept_in, SecretKeeper::File);
        assert!(view.problem.is_some());
        assert!(knows(&room.shelf(with_keyring).await), "after a restart too");
        let warning = shelf.list().await.expect("a list").warning.expect("a warning");
        assert!(warning.starts_with("The only secret is kept in "), "{warning}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(room.path()).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn a_secret_that_was_in_the_file_leaves_it_when_it_is_set_with_a_keyring() {
    let room = Room::new();
    room.shelf(false).await.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    assert!(room.text().contains(VALUE));
    let shelf = room.shelf(true).await;
    let view = shelf.set(params("mail", None)).await.expect("kept");
    assert_eq!((view.kept_in, view.hosts), (SecretKeeper::Keyring, vec!["a.example".to_owned()]));
    assert!(!room.text().contains(VALUE));
}

#[tokio::test]
async fn a_locked_keyring_loses_nothing_and_is_asked_again() {
    let room = Room::new();
    room.shelf(true).await.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    room.drawer.lock(true);
    let shelf = room.shelf(true).await;
    assert!(!knows(&shelf));
    let listed = shelf.list().await.expect("a list");
    assert!(listed.secrets[0].problem.as_deref().is_some_and(|why| why.contains("locked")));
    assert!(shelf.remove("mail").await.is_err(), "its value could not be removed");
    room.drawer.lock(false);
    assert_eq!(shelf.list().await.expect("a list").secrets[0].problem, None);
    assert!(knows(&shelf));
}

/// Why the stored secret is no key for its host; none when it is one.
fn trouble(shelf: &Shelf) -> Option<String> {
    let trouble = shelf.book.trouble_with_key("mail", "https://a.example/v1");
    trouble.map(|error| error.to_string())
}

const LOCKED: &str =
    "the secret mail is not at hand, because the system's keyring is locked: unlock it";

#[tokio::test]
async fn unlocking_the_keyring_is_enough_and_nobody_is_asked_to_do_it_who_is_away() {
    let room = Room::new();
    room.shelf(true).await.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    room.drawer.lock(true);
    let shelf = room.shelf(true).await;
    assert_eq!(trouble(&shelf).as_deref(), Some(LOCKED));
    let asked = room.drawer.asked.load(Ordering::SeqCst);
    room.clock.advance(2_000);
    shelf.book.seek("mail").await;
    assert_eq!(trouble(&shelf).as_deref(), Some(LOCKED));
    assert_eq!(room.drawer.asked.load(Ordering::SeqCst), asked, "its person would be asked");

    room.drawer.lock(false);
    shelf.book.seek("nobody-has-stored-it").await;
    assert!(trouble(&shelf).is_some());
    room.clock.advance(2_000);
    shelf.book.seek("mail").await;
    assert_eq!(trouble(&shelf), None);
    assert!(knows(&shelf));
}

#[tokio::test]
async fn however_many_need_a_value_at_once_the_keyring_is_looked_at_once() {
    let room = Room::new();
    room.shelf(true).await.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    room.drawer.lock(true);
    let shelf = room.shelf(true).await;
    let looked = || room.drawer.looked.load(Ordering::SeqCst);
    for looks in 0..3 {
        assert_eq!(looked(), looks);
        room.clock.advance(2_000);
        for _ in 0..2 {
            join_all((0..20).map(|_| shelf.book.seek("mail"))).await;
        }
    }
}

#[tokio::test]
async fn before_the_keyring_has_answered_a_stored_secret_is_not_at_hand_and_not_unknown() {
    let room = Room::new();
    room.shelf(true).await.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    let book = Arc::new(SecretBook::default());
    let (keyring, own): (Arc<dyn Keyring>, OwnKeys) = (room.drawer.clone(), Arc::new(Vec::new));
    let clock = Arc::new(room.clock.clone());
    let _shelf = SecretShelf::open(room.path(), Some(keyring), own, clock, Arc::clone(&book));
    let why = book.trouble_with_key("mail", "https://a.example/v1").expect("none yet").to_string();
    assert!(why.contains("because the system's keyring has not answered yet"), "{why}");
}

/// What was kept of a call by the handle of a secret is bound to that.
#[tokio::test]
async fn a_secret_that_is_set_anew_was_set_at_another_instant() {
    let room = Room::new();
    let shelf = room.shelf(true).await;
    let mut instants = std::collections::BTreeSet::new();
    for name in ["mail", "mail", "other", "mail"] {
        let _none_at_first = shelf.forget(name).await;
        let view = shelf.set(params(name, Some(&["a.example"]))).await.expect("kept");
        assert!(instants.insert(view.set_at_ms), "{instants:?}");
    }
}

/// A new value must not pass for the one that was there before.
#[tokio::test]
async fn a_secret_whose_instant_cannot_be_written_keeps_its_value() {
    let room = Room::new();
    let shelf = room.shelf(true).await;
    shelf.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    let before = room.drawer.kept.lock().expect("not poisoned").clone();
    std::fs::remove_file(room.path()).expect("a file");
    std::fs::create_dir_all(room.path().join("in the way")).expect("a folder");
    let other = SecretSetParams { value: "another-value-42".to_owned(), ..params("mail", None) };
    assert!(shelf.set(other).await.is_err());
    assert_eq!(*room.drawer.kept.lock().expect("not poisoned"), before);
    assert!(knows(&shelf));
}

#[tokio::test]
async fn a_removed_secret_is_nowhere() {
    let room = Room::new();
    let shelf = room.shelf(true).await;
    shelf.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    let removed = shelf.remove("mail").await.expect("removed");
    assert_eq!(removed.remains, None);
    assert!(room.drawer.kept.lock().expect("not poisoned").is_empty());
    assert!(!knows(&shelf) && !room.text().contains("mail"));
    assert!(shelf.remove("mail").await.is_err(), "there is none");
}

#[tokio::test]
async fn a_value_that_may_be_left_in_the_keyring_is_told() {
    let room = Room::new();
    let shelf = room.shelf(true).await;
    shelf.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    // A keyring that is locked without a word shows nothing.
    let hidden = std::mem::take(&mut *room.drawer.kept.lock().expect("not poisoned"));
    let removed = shelf.remove("mail").await.expect("removed");
    let remains = removed.remains.expect("something to tell");
    let account = hidden.keys().next().expect("an entry");
    assert!(remains.contains("locked") && remains.contains(account.as_str()), "{remains}");
    assert!(!knows(&shelf) && !room.text().contains("mail"));

    let shelf = room.shelf(true).await;
    shelf.set(params("mail", Some(&["a.example"]))).await.expect("kept");
    let shelf = room.shelf(false).await;
    let removed = shelf.remove("mail").await.expect("removed");
    assert!(removed.remains.is_some_and(|remains| remains.contains("ROUSE_KEYRING=0")));
    assert_eq!(room.drawer.kept.lock().expect("not poisoned").len(), 1);
}

#[tokio::test]
async fn what_is_no_secret_is_refused_by_its_field() {
    let room = Room::new();
    let shelf = room.shelf(true).await;
    let short = SecretSetParams { value: "pin".to_owned(), ..params("mail", Some(&["a.example"])) };
    for (wrong, field) in [
        (params("Mail", Some(&["a.example"])), "name"),
        (short, "value"),
        (params("mail", None), "hosts"),
        (params("mail", Some(&["no host"])), "hosts"),
    ] {
        let error = shelf.set(wrong).await.expect_err("refused");
        assert_eq!(error.data["fields"][0]["path"], field, "{error}");
    }
    assert!(!room.path().exists(), "nothing was kept");
}

#[tokio::test]
async fn a_damaged_list_is_not_written_over() {
    let room = Room::new();
    let damaged = format!("{{\"keyringId\": \"x\", \"secrets\": {{\"mail\": \"{VALUE}\"}}");
    std::fs::write(room.path(), &damaged).expect("written");
    let shelf = room.shelf(true).await;
    let error = shelf.set(params("other", Some(&["a.example"]))).await.expect_err("refused");
    assert!(error.message.contains("damaged") && !error.message.contains(VALUE), "{error}");
    assert!(shelf.list().await.is_err());
    assert_eq!(room.text(), damaged);
}

#[tokio::test]
async fn keys_of_providers_are_known_and_not_listed() {
    let shelf = Room::new().shelf(true).await;
    assert!(Safety::new(Arc::clone(&shelf.book)).redacted("it is sk-0123456789").is_some());
    assert_eq!(shelf.list().await.expect("a list").secrets.len(), 0);
}
