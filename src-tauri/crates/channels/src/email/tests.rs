//! E-mail against a mail server with scripted answers.

use rouse_core::channel::{MessageKind, REPEAT_NOTICE};
use rouse_core::{DeliveryId, RunId, UnixMs};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use super::*;

const PASSWORD: &str = "canary-password";
const ANNA: &str = "anna@example.org";
const BEN: &str = "ben@example.org";

/// The answers of a mail server. An empty answer closes the connection.
#[derive(Clone, Copy)]
struct MailScript {
    greeting: &'static str,
    ehlo: &'static str,
    auth: &'static str,
    mail: &'static str,
    rcpt: &'static str,
    data: &'static str,
    content: &'static str,
}

const ACCEPTING: MailScript = MailScript {
    greeting: "220 mail.example.org",
    ehlo: "250-mail.example.org\r\n250 AUTH PLAIN",
    auth: "235 2.7.0 accepted",
    mail: "250 2.1.0 ok",
    rcpt: "250 2.1.5 ok",
    data: "354 go ahead",
    content: "250 2.0.0 queued",
};

impl MailScript {
    fn answer(&self, line: &str, is_content: &mut bool) -> Option<&'static str> {
        if *is_content {
            *is_content = line != ".";
            return (!*is_content).then_some(self.content);
        }
        let command = line.split(' ').next().unwrap_or_default();
        Some(match command {
            "EHLO" => self.ehlo,
            "AUTH" => self.auth,
            "MAIL" => self.mail,
            "RCPT" => self.rcpt,
            "DATA" => {
                *is_content = self.data.starts_with('3');
                self.data
            }
            _ => "",
        })
    }

    /// Serves one client and returns the lines that the client sent.
    async fn serve(self, listener: TcpListener) -> Vec<String> {
        let (stream, _) = listener.accept().await.expect("a client");
        let (reader, mut writer) = stream.into_split();
        let mut lines = BufReader::new(reader).lines();
        let (mut received, mut is_content) = (Vec::new(), false);
        let mut answer = Some(self.greeting);
        while answer != Some("") {
            if let Some(answer) = answer {
                let written = writer.write_all(format!("{answer}\r\n").as_bytes()).await;
                written.expect("an open connection");
            }
            let Ok(Some(line)) = lines.next_line().await else { break };
            answer = self.answer(&line, &mut is_content);
            received.push(line);
        }
        received
    }
}

fn settings(port: u16) -> EmailSettings {
    EmailSettings {
        server: format!("127.0.0.1:{port}"),
        security: EmailSecurity::None,
        user: Some("rouse".to_owned()),
        password: Some(PASSWORD.to_owned()),
        from: "rouse@example.org".to_owned(),
        to: vec![ANNA.to_owned(), BEN.to_owned()],
        root_certificate: None,
    }
}

fn message() -> ChannelMessage {
    ChannelMessage {
        delivery: DeliveryId::new("0199-7"),
        kind: MessageKind::Report,
        run: Some(RunId::new("0198-3")),
        created_at: UnixMs(1_800_000_000_000),
        to: None,
        thread: None,
        title: "Backup".to_owned(),
        headline: "All is well.".to_owned(),
        text: "All is **well**.".to_owned(),
        buttons: Vec::new(),
        is_repeat: false,
    }
}

async fn send(settings: EmailSettings, message: &ChannelMessage) -> SendOutcome {
    let channel = EmailChannel::new(settings);
    let parts = channel.render(message);
    assert_eq!(parts.len(), 1);
    channel.send(message, &parts, 0).await
}

/// Sends `message` to a server with these answers.
async fn exchange(script: MailScript, message: &ChannelMessage) -> (SendOutcome, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::join!(send(settings(port), message), script.serve(listener))
}

async fn outcome(script: MailScript) -> SendOutcome {
    exchange(script, &message()).await.0
}

fn has_line(received: &[String], line: &str) -> bool {
    received.iter().any(|known| known == line)
}

#[tokio::test]
async fn accepted_email_has_headers_and_both_texts() {
    let (outcome, received) = exchange(ACCEPTING, &message()).await;
    let message_id = Some("<0199-7@example.org>".to_owned());
    assert_eq!(outcome, SendOutcome::Accepted { message_id });
    for line in [
        "MAIL FROM:<rouse@example.org>",
        "RCPT TO:<anna@example.org>",
        "RCPT TO:<ben@example.org>",
        "Subject: Backup",
        "Message-ID: <0199-7@example.org>",
        "References: <run-0198-3@example.org>",
        "Date: Fri, 15 Jan 2027 08:00:00 +0000",
        "Auto-Submitted: auto-generated",
        "All is well.",
        "<p>All is <strong>well</strong>.</p>",
    ] {
        assert!(has_line(&received, line), "{line}\n{received:#?}");
    }
}

#[tokio::test]
async fn named_recipient_is_the_only_one() {
    let to = ChannelMessage { to: Some(BEN.to_owned()), ..message() };
    let (_, received) = exchange(ACCEPTING, &to).await;
    let recipients: Vec<&String> = received
        .iter()
        .filter(|line| line.starts_with("RCPT") || line.starts_with("To:"))
        .collect();
    assert_eq!(recipients, ["RCPT TO:<ben@example.org>", "To: ben@example.org"]);
}

#[tokio::test]
async fn unknown_recipient_is_refused() {
    let to = ChannelMessage { to: Some("eve@example.org".to_owned()), ..message() };
    let outcome = send(settings(9), &to).await;
    assert!(matches!(&outcome, SendOutcome::Refused { reason } if !reason.contains("eve")));
}

#[tokio::test]
async fn repeat_has_its_notice_and_the_same_id() {
    let repeat = ChannelMessage { is_repeat: true, ..message() };
    let (_, received) = exchange(ACCEPTING, &repeat).await;
    for line in [REPEAT_NOTICE, "Message-ID: <0199-7@example.org>", "Subject: Backup"] {
        assert!(has_line(&received, line), "{line}\n{received:#?}");
    }
    assert!(has_line(&received, &format!("<p>{REPEAT_NOTICE}</p>")), "{received:#?}");
}

#[tokio::test]
async fn title_adds_no_header() {
    let title = "Backup\r\nBcc: eve@example.org\r\n\r\n<b>".to_owned();
    let (_, received) = exchange(ACCEPTING, &ChannelMessage { title, ..message() }).await;
    let headers =
        received.iter().skip_while(|line| *line != "DATA").take_while(|line| !line.is_empty());
    assert_eq!(headers.filter(|line| line.starts_with("Bcc")).count(), 0, "{received:#?}");
    let subject = "Subject: Backup Bcc: eve@example.org <b>";
    assert!(has_line(&received, subject), "{received:#?}");
}

#[tokio::test]
async fn line_of_one_dot_does_not_end_the_email() {
    let text = "```\nabove\n.\nbelow\n```".to_owned();
    let (outcome, received) = exchange(ACCEPTING, &ChannelMessage { text, ..message() }).await;
    assert!(matches!(outcome, SendOutcome::Accepted { .. }), "{outcome:?}");
    assert!(has_line(&received, ".."), "{received:#?}");
}

#[tokio::test]
async fn temporary_answers_ask_for_a_later_attempt() {
    for script in [
        MailScript { greeting: "421 4.3.2 busy", ..ACCEPTING },
        MailScript { auth: "454 4.7.0 busy", ..ACCEPTING },
        MailScript { mail: "451 4.3.0 busy", ..ACCEPTING },
        MailScript { rcpt: "450 4.2.0 greylisted", ..ACCEPTING },
        MailScript { content: "452 4.3.1 full", ..ACCEPTING },
    ] {
        let outcome = outcome(script).await;
        assert!(matches!(outcome, SendOutcome::Later { .. }), "{outcome:?}");
    }
}

#[tokio::test]
async fn connection_lost_before_the_content_is_later() {
    for script in [
        MailScript { greeting: "", ..ACCEPTING },
        MailScript { ehlo: "", ..ACCEPTING },
        MailScript { auth: "", ..ACCEPTING },
        MailScript { rcpt: "", ..ACCEPTING },
        MailScript { data: "", ..ACCEPTING },
    ] {
        let outcome = outcome(script).await;
        assert!(matches!(outcome, SendOutcome::Later { .. }), "{outcome:?}");
    }
}

#[tokio::test]
async fn connection_lost_after_the_content_is_unknown() {
    let outcome = outcome(MailScript { content: "", ..ACCEPTING }).await;
    assert!(matches!(outcome, SendOutcome::Unknown { .. }), "{outcome:?}");
}

#[tokio::test]
async fn refused_recipient_is_named_by_position() {
    let script = MailScript { rcpt: "550 5.1.1 <anna@example.org> unknown", ..ACCEPTING };
    let reason = "The mail server refuses recipient 1 of 2, and nobody got the e-mail \
        (550 5.1.1). Correct the address in `to`.";
    assert_eq!(outcome(script).await, SendOutcome::Refused { reason: reason.to_owned() });
}

#[tokio::test]
async fn refused_content_is_refused() {
    let outcome = outcome(MailScript { content: "554 5.7.1 spam", ..ACCEPTING }).await;
    assert!(matches!(outcome, SendOutcome::Refused { .. }), "{outcome:?}");
}

#[tokio::test]
async fn refused_login_breaks_the_channel() {
    for script in [
        MailScript { auth: "535 5.7.8 bad credentials", ..ACCEPTING },
        MailScript { mail: "530 5.7.0 login first", ..ACCEPTING },
        MailScript { ehlo: "250 mail.example.org", ..ACCEPTING },
    ] {
        let outcome = outcome(script).await;
        assert!(matches!(outcome, SendOutcome::Broken { .. }), "{outcome:?}");
    }
}

#[tokio::test]
async fn missing_starttls_breaks_the_channel() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (report, server) = (message(), ACCEPTING.serve(listener));
    let settings = EmailSettings { security: EmailSecurity::Starttls, ..settings(port) };
    let (outcome, received) = tokio::join!(send(settings, &report), server);
    assert!(matches!(&outcome, SendOutcome::Broken { reason } if reason.contains("STARTTLS")));
    assert!(!received.iter().any(|line| line.starts_with("AUTH")), "{received:?}");
}

#[tokio::test]
async fn server_elsewhere_needs_encryption() {
    for server in ["mail.example.org:25", "192.168.1.5:25", "localhost.example.org"] {
        let settings = EmailSettings { server: server.to_owned(), ..settings(9) };
        let outcome = send(settings, &message()).await;
        assert!(matches!(outcome, SendOutcome::Broken { .. }), "{server}: {outcome:?}");
    }
}

#[tokio::test]
async fn closed_port_is_later() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let outcome = send(settings(port), &message()).await;
    assert!(matches!(outcome, SendOutcome::Later { .. }), "{outcome:?}");
}

#[tokio::test]
async fn invalid_root_certificate_breaks_the_channel() {
    let settings = EmailSettings {
        security: EmailSecurity::Tls,
        root_certificate: Some(b"no certificate".to_vec()),
        ..settings(9)
    };
    let outcome = send(settings, &message()).await;
    assert!(matches!(outcome, SendOutcome::Broken { .. }), "{outcome:?}");
}

#[tokio::test]
async fn reasons_have_no_password_and_no_address() {
    const ECHO: &str = "550 canary-password anna@example.org ben@example.org rouse@example.org";
    const ECHO_LATER: &str = "450 canary-password anna@example.org";
    for script in [
        MailScript { greeting: ECHO, ..ACCEPTING },
        MailScript { auth: ECHO, ..ACCEPTING },
        MailScript { mail: ECHO, ..ACCEPTING },
        MailScript { rcpt: ECHO, ..ACCEPTING },
        MailScript { rcpt: ECHO_LATER, ..ACCEPTING },
        MailScript { content: ECHO, ..ACCEPTING },
        MailScript { content: "", ..ACCEPTING },
    ] {
        let shown = format!("{:?}", outcome(script).await);
        assert!(!shown.contains(PASSWORD) && !shown.contains("@example.org"), "{shown}");
    }
}

/// Checks the channel with a server of these answers.
async fn check(script: MailScript) -> (Result<(), String>, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let channel = EmailChannel::new(settings(port));
    tokio::join!(channel.check(), script.serve(listener))
}

#[tokio::test]
async fn check_logs_in_and_sends_nothing() {
    let (checked, received) = check(ACCEPTING).await;
    assert_eq!(checked, Ok(()));
    let commands: Vec<&str> = received.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(commands, ["EHLO", "AUTH", "QUIT"]);
}

#[tokio::test]
async fn failed_check_has_a_cause_and_no_secret() {
    for (script, words) in [
        (
            MailScript { auth: "535 canary-password anna@example.org", ..ACCEPTING },
            "refuses the login (535). Store the current password",
        ),
        (
            MailScript { greeting: "554 canary-password", ..ACCEPTING },
            "refuses the connection (554)",
        ),
        (MailScript { greeting: "421 busy", ..ACCEPTING }, "asks for a later attempt (421)"),
    ] {
        let error = check(script).await.0.expect_err("an error");
        assert!(error.contains(words) && !error.contains(PASSWORD), "{words}: {error}");
        assert!(!error.contains("@example.org"), "{error}");
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let checked = EmailChannel::new(settings(port)).check().await;
    assert!(checked.is_err_and(|error| error.starts_with("No connection to the mail server.")));
}

#[test]
fn server_has_a_host_and_a_port() {
    for (server, security, expected) in [
        ("smtp.example.org:465", EmailSecurity::Tls, Some(("smtp.example.org", 465))),
        ("smtp.example.org", EmailSecurity::Tls, Some(("smtp.example.org", 465))),
        ("smtp.example.org", EmailSecurity::Starttls, Some(("smtp.example.org", 587))),
        ("[::1]:2525", EmailSecurity::None, Some(("::1", 2525))),
        ("::1", EmailSecurity::None, Some(("::1", 25))),
        ("smtp.example.org:0", EmailSecurity::Tls, None),
        ("smtps://smtp.example.org", EmailSecurity::Tls, None),
        ("", EmailSecurity::Tls, None),
    ] {
        let expected = expected.map(|(host, port)| (host.to_owned(), port));
        assert_eq!(host_and_port(server, security), expected, "{server:?}");
    }
}
