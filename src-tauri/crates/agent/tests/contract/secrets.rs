//! The key is absent from errors in every format, from answers, and from the library's log.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use rouse_agent::{
    ProviderKey, Safety, Secret, SecretBook, SecretSource, SecretValue, StoredKey, connect,
};
use rouse_core::model::{ProviderError, ProviderErrorKind};
use rouse_core::tool::BoxFuture;
use rouse_testkit::fake_model::{FakeModel, Reply};

use super::formats::{ALL, Format, KEY, ask, exchange, safety_without_secrets, task};

/// Replies of a server that repeats the received key.
fn echoes(format: Format) -> Vec<Reply> {
    let error = format!(
        r#"{{"error":{{"type":"invalid_request_error","message":"Incorrect API key provided: {KEY}"}}}}"#
    );
    let in_stream = match format {
        Format::Chat => format!("data: {error}\n\n"),
        Format::Responses | Format::Messages => {
            format!("event: error\ndata: {{\"type\":\"error\",{}\n\n", &error[1..])
        }
    };
    let statuses = [400, 401, 403, 404, 429, 500, 503, 529];
    let mut replies: Vec<Reply> =
        statuses.iter().map(|status| Reply::json(*status, error.clone())).collect();
    replies.extend([
        Reply::json(500, format!("not json {KEY}")),
        Reply::json(200, error.clone()),
        Reply::json(307, error).header("location", &format!("http://127.0.0.1:1/{KEY}")),
        Reply::events(in_stream.clone()),
        Reply::events(in_stream).dripped(5),
        Reply::events(format!("data: {{\"type\":\"{KEY}\"\n\n")),
        Reply::events(format!("data: {KEY}\n\n")),
        Reply::events(format.transcript("unknown_finish").replace("gave_up", KEY)),
        Reply::events(format!("data: {KEY}{}", "y".repeat(5 << 20))),
    ]);
    replies
}

fn assert_silent(error: &ProviderError, what: &str) {
    let mut shown = format!("{error}\n{error:?}\n{error:#?}");
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        shown.push_str(&format!("\n{inner}\n{inner:?}"));
        cause = inner.source();
    }
    assert!(!shown.contains(KEY), "{what}: {shown}");
}

#[tokio::test]
async fn no_error_holds_the_key() {
    for format in ALL {
        for (number, reply) in echoes(format).into_iter().enumerate() {
            let exchange = exchange(format, reply).await;
            assert_silent(exchange.error(), &format!("{format:?}, reply {number}"));
        }
    }
}

/// Also in unknown parts of a reply, and at any length.
#[tokio::test]
async fn unknown_stop_reason_is_redacted_and_bounded() {
    let book = Arc::new(SecretBook::default());
    let value = SecretValue::new("sunflower-42-Tango").expect("a value");
    book.replace(vec![Secret::redacted_only("mail", value)]);
    let safety = Safety::new(book);
    for format in ALL {
        let reason = format!("sunflower-42-Tango{}", " and so on".repeat(30_000));
        let transcript = format.transcript("unknown_finish").replace("gave_up", &reason);
        let server = FakeModel::replying([Reply::events(transcript)]);
        let provider = connect(&format.config(&server), &safety).expect("an address");
        let (_, ended) = ask(&provider, format.request(vec![task()])).await;
        let error = ended.expect_err("an unknown reason");
        assert!(!error.message.contains("sunflower"), "{format:?}: {error}");
        assert!(error.message.contains("[redacted: secret:mail]"), "{format:?}: {error}");
        assert!(error.message.chars().count() < 500, "{format:?}: {error}");
        assert!(!error.for_log().contains("and so on"), "{format:?}: {}", error.for_log());
    }
}

/// A keyring with a key for `host` once unlocked.
struct Drawer {
    book: Arc<SecretBook>,
    host: String,
    is_open: AtomicBool,
    looks: AtomicU32,
}

impl SecretSource for Drawer {
    fn reload(&self) -> BoxFuture<'_, ()> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        if self.is_open.load(Ordering::SeqCst) {
            let value = SecretValue::new(KEY).expect("a value");
            let hosts = [self.host.clone()];
            self.book.replace(vec![Secret::new("work", value, &hosts).expect("a secret")]);
        }
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn locked_keyring_is_read_once_per_model_call() {
    for format in ALL {
        let server = FakeModel::replying([format.reply("words")]);
        let book = Arc::new(SecretBook::default());
        let locked = "the system's keyring is locked: unlock it".to_owned();
        book.replace_with_unavailable(Vec::new(), BTreeMap::from([("work".to_owned(), locked)]));
        let drawer = Arc::new(Drawer {
            book: Arc::clone(&book),
            host: server.url(),
            is_open: AtomicBool::new(false),
            looks: AtomicU32::new(0),
        });
        let source: Weak<Drawer> = Arc::downgrade(&drawer);
        book.set_source(source);
        let mut config = format.config(&server);
        config.api_key = Some(ProviderKey::Stored(StoredKey::new("work".to_owned(), book)));
        let provider = connect(&config, &safety_without_secrets()).expect("an address");
        for looks in 1..=2 {
            let (_, ended) = ask(&provider, format.request(vec![task()])).await;
            let error = ended.expect_err("no key");
            assert_eq!(error.kind, ProviderErrorKind::Auth);
            let why = "because the system's keyring is locked: unlock it.";
            assert!(error.message.contains(why), "{error}");
            assert_eq!(drawer.looks.load(Ordering::SeqCst), looks);
        }
        assert!(server.requests().is_empty(), "nothing was sent");
        drawer.is_open.store(true, Ordering::SeqCst);
        let (_, ended) = ask(&provider, format.request(vec![task()])).await;
        ended.expect("an answer");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn no_failure_to_connect_holds_the_key() {
    for format in ALL {
        let server = FakeModel::replying([]);
        let mut config = format.config(&server);
        for address in [
            "http://127.0.0.1:1".to_owned(),
            format!("http://user:{KEY}@127.0.0.1:1"),
            format!("http://{KEY}.invalid"),
            format!("http://127.0.0.1:1/?key={KEY}"),
        ] {
            config.base_url = address;
            let provider = connect(&config, &safety_without_secrets()).expect("an address");
            let (_, ended) = ask(&provider, format.request(vec![task()])).await;
            assert_silent(&ended.expect_err("no server"), &format!("{format:?}"));
        }
        config.base_url = format!("not an address {KEY}");
        let refused = connect(&config, &safety_without_secrets()).err().expect("refused");
        assert!(!format!("{refused} {refused:?}").contains(KEY));
    }
}

#[tokio::test]
async fn no_answer_and_no_delta_holds_the_key_that_a_server_repeats() {
    for format in ALL {
        let transcript = format.transcript("words").replace("all is well.", KEY);
        let exchange = exchange(format, Reply::events(transcript)).await;
        assert_eq!(exchange.answer().text(), "Two files, [key]", "{format:?}");
        assert!(
            !format!("{:?} {:?}", exchange.answer(), exchange.shown).contains(KEY),
            "{format:?}"
        );
    }
}

/// Captures the log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_log_holds_the_key_at_any_level() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    for format in ALL {
        for reply in echoes(format).into_iter().chain([format.reply("words")]) {
            exchange(format, reply).await;
        }
    }
    drop(guard);
    let logged = String::from_utf8_lossy(&log.0.lock().expect("not poisoned")).into_owned();
    assert!(logged.contains("rig"), "the library logs at this level");
    let leaks: Vec<&str> = logged.lines().filter(|line| line.contains(KEY)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[tokio::test]
async fn no_configuration_shows_the_key() {
    let server = FakeModel::replying([]);
    for format in ALL {
        assert!(!format!("{:?}", format.config(&server)).contains(KEY));
    }
}
