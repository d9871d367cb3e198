//! The channel e-mail with a real mail server: aiosmtpd, with a certificate authority of trustme.
//!
//! The name of the recipient chooses the answer of the server. The server reads each e-mail with Python's parser.

use std::path::PathBuf;

use rouse_channels::{EmailChannel, EmailSettings};
use rouse_core::channel::{Channel as _, ChannelMessage, EmailSecurity, MessageKind, SendOutcome};
use rouse_core::{DeliveryId, RunId, UnixMs};
use rouse_tests::{EngineBuilder, MINUTE, echo_job, remove_example_job};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::ScriptServer;
use crate::served_engine::ServedEngine;

/// The login of the server.
const USER: &str = "rouse";
const PASSWORD: &str = "tea-and-toast";

struct SmtpPeer {
    script: ScriptServer,
    security: EmailSecurity,
    folder: TempDir,
}

impl SmtpPeer {
    fn start(security: EmailSecurity) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let authority = authority_in(&folder);
        let word = match security {
            EmailSecurity::None => "none",
            EmailSecurity::Starttls => "starttls",
            EmailSecurity::Tls => "tls",
        };
        let authority = authority.to_str().expect("a path in UTF-8");
        let script = ScriptServer::start("smtp_server.py", &[word, authority]);
        Self { script, security, folder }
    }

    /// Settings that the server accepts. A server without encryption takes no login.
    fn settings(&self, recipient: &str) -> EmailSettings {
        let is_encrypted = self.security != EmailSecurity::None;
        let authority = is_encrypted.then(|| std::fs::read(authority_in(&self.folder)));
        EmailSettings {
            server: format!("127.0.0.1:{}", self.script.port),
            security: self.security,
            user: is_encrypted.then(|| USER.to_owned()),
            password: is_encrypted.then(|| PASSWORD.to_owned()),
            from: "rouse@example.org".to_owned(),
            to: vec![format!("{recipient}@example.org")],
            root_certificate: authority.map(|bytes| bytes.expect("a certificate")),
        }
    }
}

fn authority_in(folder: &TempDir) -> PathBuf {
    folder.path().join("authority.pem")
}

async fn send(settings: EmailSettings) -> SendOutcome {
    let message = ChannelMessage {
        delivery: DeliveryId::new("0199-7"),
        kind: MessageKind::Report,
        run: Some(RunId::new("0198-3")),
        created_at: UnixMs(1_800_000_000_000),
        to: None,
        thread: None,
        title: "Tägliche Sicherung".to_owned(),
        headline: "Alles läuft.".to_owned(),
        text: "Alles **läuft**.".to_owned(),
        buttons: Vec::new(),
        is_repeat: false,
    };
    let channel = EmailChannel::new(settings);
    let parts = channel.render(&message);
    channel.send(&message, &parts, 0).await
}

#[tokio::test]
async fn email_arrives_over_each_kind_of_connection() {
    for security in [EmailSecurity::None, EmailSecurity::Starttls, EmailSecurity::Tls] {
        let server = SmtpPeer::start(security);
        let outcome = send(server.settings("anna")).await;
        let id = "<0199-7@example.org>";
        let accepted = SendOutcome::Accepted { message_id: Some(id.to_owned()) };
        assert_eq!(outcome, accepted, "{security:?}");
        let received = server.script.stop();
        let [email] = received.as_slice() else { panic!("{received:#?}") };
        let is_encrypted = security != EmailSecurity::None;
        for (key, expected) in [
            ("isEncrypted", json!(is_encrypted)),
            ("isSignedIn", json!(is_encrypted)),
            ("sender", json!("rouse@example.org")),
            ("recipients", json!(["anna@example.org"])),
            ("subject", json!("Tägliche Sicherung")),
            ("id", json!(id)),
            ("defects", json!([])),
        ] {
            assert_eq!(email[key], expected, "{security:?} {key}");
        }
        let text = |key: &str| email[key].as_str().expect("a text").to_owned();
        assert!(text("plain").contains("Alles läuft."), "{email}");
        assert!(text("html").contains("Alles <strong>läuft</strong>."), "{email}");
    }
}

#[tokio::test]
async fn answers_of_the_server_have_their_class() {
    let server = SmtpPeer::start(EmailSecurity::None);
    let refused = send(server.settings("refused")).await;
    assert!(
        matches!(&refused, SendOutcome::Refused { reason } if reason.contains("(550 5.1.1)")),
        "{refused:?}"
    );
    for (recipient, code) in [("busy", "(451 4.3.0)"), ("full", "(452 4.2.2)")] {
        let later = send(server.settings(recipient)).await;
        assert!(
            matches!(&later, SendOutcome::Later { reason, .. } if reason.contains(code)),
            "{recipient}: {later:?}"
        );
    }
    let spam = send(server.settings("spam")).await;
    assert!(
        matches!(&spam, SendOutcome::Refused { reason } if reason.contains("(554 5.7.1)")),
        "{spam:?}"
    );
    let dropped = send(server.settings("dropped")).await;
    assert!(matches!(dropped, SendOutcome::Unknown { .. }), "{dropped:?}");
    let received = server.script.stop();
    let recipients: Vec<&Value> = received.iter().map(|email| &email["recipients"][0]).collect();
    assert_eq!(recipients, ["full@example.org", "spam@example.org", "dropped@example.org"]);
}

#[tokio::test]
async fn unknown_authority_gets_no_login_and_no_email() {
    for security in [EmailSecurity::Starttls, EmailSecurity::Tls] {
        let server = SmtpPeer::start(security);
        let settings = EmailSettings { root_certificate: None, ..server.settings("anna") };
        let outcome = send(settings).await;
        assert!(
            matches!(&outcome, SendOutcome::Broken { reason } if reason.contains("certificate")),
            "{security:?}: {outcome:?}"
        );
        assert_eq!(server.script.stop(), [] as [Value; 0]);
    }
}

#[tokio::test]
async fn wrong_password_breaks_the_channel() {
    let server = SmtpPeer::start(EmailSecurity::Starttls);
    let wrong = Some("coffee".to_owned());
    let outcome = send(EmailSettings { password: wrong, ..server.settings("anna") }).await;
    assert!(
        matches!(&outcome, SendOutcome::Broken { reason } if reason.contains("(535 5.7.8)")),
        "{outcome:?}"
    );
    assert_eq!(server.script.stop(), [] as [Value; 0]);
}

#[tokio::test]
async fn check_logs_in_and_sends_no_email() {
    for security in [EmailSecurity::None, EmailSecurity::Starttls, EmailSecurity::Tls] {
        let server = SmtpPeer::start(security);
        let checked = EmailChannel::new(server.settings("anna")).check().await;
        assert_eq!(checked, Ok(()), "{security:?}");
        assert_eq!(server.script.stop(), [] as [Value; 0]);
    }
    let server = SmtpPeer::start(EmailSecurity::Tls);
    let wrong = Some("coffee".to_owned());
    let settings = EmailSettings { password: wrong, ..server.settings("anna") };
    let error = EmailChannel::new(settings).check().await.expect_err("a refused login");
    assert!(error.contains("(535 5.7.8)") && !error.contains("coffee"), "{error}");
}

#[tokio::test]
async fn unconfirmed_email_is_repeated_once_with_its_id() {
    let server = SmtpPeer::start(EmailSecurity::None);
    let home = tempfile::tempdir().expect("a folder");
    let engine = EngineBuilder::new(home.path()).build().await;
    let mail = json!({
        "kind": "email", "security": "none", "server": format!("127.0.0.1:{}", server.script.port),
        "from": "rouse@example.org", "to": ["dropped@example.org"],
    });
    let patch = json!({ "channels": { "mail": mail }, "deliverTo": ["mail"] });
    engine.call("config.patch", json!({ "patch": patch })).await;
    let id = engine.add_job(echo_job(&json!({ "kind": "manual" }))).await;
    engine.start_run(&id).await;
    let run = engine.finished_runs(&id, 1).await.remove(0);
    for attempts in [1, 2] {
        let unconfirmed = engine.wait_until(async |engine| {
            let delivery = engine.run_detail(&run).await["deliveries"][0].clone();
            let is_unknown = delivery["state"] == "unknown" && delivery["attempts"] == attempts;
            is_unknown.then_some(())
        });
        unconfirmed.await;
        engine.clock.advance(MINUTE);
    }
    engine.host.stop().await;
    let received = server.script.stop();
    let [first, repeat] = received.as_slice() else { panic!("{received:#?}") };
    assert_eq!(first["id"], repeat["id"]);
    let is_marked = |email: &Value| {
        let plain = email["plain"].as_str().expect("a text");
        assert!(plain.contains("hello"), "{plain}");
        plain.starts_with("Again, in case it did not arrive:")
    };
    assert!(!is_marked(first) && is_marked(repeat), "{received:#?}");
}

#[tokio::test]
async fn killed_engine_repeats_the_email_with_a_mark() {
    let mut server = SmtpPeer::start(EmailSecurity::None);
    let home = tempfile::tempdir().expect("a folder");
    let engine = ServedEngine::start(&home);
    remove_example_job(&engine.client).await;
    let mail = json!({
        "kind": "email", "security": "none", "server": format!("127.0.0.1:{}", server.script.port),
        "from": "rouse@example.org", "to": ["held@example.org"],
    });
    let patch = json!({ "channels": { "mail": mail }, "deliverTo": ["mail"] });
    engine.call("config.patch", json!({ "patch": patch })).await;
    let job = engine.call("cron.add", echo_job(&json!({ "kind": "manual" }))).await;
    engine.call("cron.run", json!({ "id": job["job"]["id"], "mode": "force" })).await;
    let first = server.script.next_record();
    engine.kill();

    let engine = ServedEngine::start(&home);
    let repeat = server.script.next_record();
    assert_eq!(first["id"], repeat["id"]);
    let [first, repeat] = [&first, &repeat].map(|email| email["plain"].as_str().expect("a text"));
    assert!(!first.contains("Again") && first.contains("hello"), "{first}");
    assert!(repeat.starts_with("Again, in case it did not arrive:"), "{repeat}");
    engine.kill();
    assert_eq!(server.script.stop(), [] as [Value; 0], "no third e-mail");
}
