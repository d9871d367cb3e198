//! One conversation with a mail server, and the class of its end.
//!
//! Owns the steps of SMTP, so the step of a failure is known: before the content of the e-mail leaves, a later attempt
//! is safe. Never retries. Pitfall: the words of a server in a reason. They quote addresses, so a reason has the code
//! only.

use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use rouse_core::channel::{EmailSecurity, SendOutcome};

use tokio::net::TcpStream;

use super::compose::Email;
use super::limited_stream::LimitedStream;

/// Time limit of a conversation. With [`QUIT_TIMEOUT`] a delivery lasts 60 seconds at most.
const SMTP_TIMEOUT: Duration = Duration::from_secs(55);

/// Time limit of the goodbye to the mail server.
const QUIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit of a connection to one address of the mail server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Codes of a missing or refused login (RFC 4954).
const LOGIN_CODES: [u16; 4] = [530, 534, 535, 538];

/// A mail server.
pub(super) struct MailServer<'a> {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: EmailSecurity,
    pub(super) root_certificate: Option<&'a [u8]>,
}

/// A login at a mail server. Never printed.
pub(super) struct MailLogin<'a> {
    pub(super) user: &'a str,
    pub(super) password: &'a str,
}

/// Sends `email` within the time limit.
pub(super) async fn deliver(
    server: &MailServer<'_>,
    login: Option<MailLogin<'_>>,
    email: &Email,
) -> SendOutcome {
    let is_content_sent = AtomicBool::new(false);
    let conversation = async {
        let mut connection = server.connect(login).await?;
        let outcome = transmit(&mut connection, email, &is_content_sent).await;
        Ok::<_, SendOutcome>((outcome, connection))
    };
    match tokio::time::timeout(SMTP_TIMEOUT, conversation).await {
        Ok(Ok((outcome, mut connection))) => {
            // The outcome is known; the goodbye changes nothing.
            let _ = tokio::time::timeout(QUIT_TIMEOUT, connection.abort()).await;
            outcome
        }
        Ok(Err(outcome)) => outcome,
        Err(_) => timed_out(is_content_sent.load(Ordering::Relaxed)),
    }
}

/// Connects and logs in, without an e-mail.
pub(super) async fn check(
    server: &MailServer<'_>,
    login: Option<MailLogin<'_>>,
) -> Result<(), SendOutcome> {
    let mut connection = server.connect(login).await?;
    // The login succeeded; the goodbye changes nothing.
    let _ = tokio::time::timeout(QUIT_TIMEOUT, connection.abort()).await;
    Ok(())
}

impl MailServer<'_> {
    /// An encrypted connection with a login, ready for an e-mail.
    async fn connect(
        &self,
        login: Option<MailLogin<'_>>,
    ) -> Result<AsyncSmtpConnection, SendOutcome> {
        let hello = ClientId::default();
        let connected = match self.security {
            EmailSecurity::Tls => {
                let address = (self.host.clone(), self.port);
                let tls = Some(self.tls_parameters()?);
                let timeout = Some(CONNECT_TIMEOUT);
                AsyncSmtpConnection::connect_tokio1(address, timeout, &hello, tls, None).await
            }
            EmailSecurity::Starttls | EmailSecurity::None => {
                let stream = Box::new(self.connect_in_plain().await?);
                AsyncSmtpConnection::connect_with_transport(stream, &hello).await
            }
        };
        let mut connection = connected.map_err(|error| connection_failure(&error))?;
        if self.security == EmailSecurity::Starttls {
            if !connection.can_starttls() {
                return Err(broken(
                    "The mail server offers no STARTTLS. Set `security` to `tls`, usually with port 465.",
                ));
            }
            let started = connection.starttls(self.tls_parameters()?, &hello).await;
            started.map_err(|error| connection_failure(&error))?;
        }
        if let Some(MailLogin { user, password }) = login {
            let credentials = Credentials::new(user.to_owned(), password.to_owned());
            let answer = connection.auth(DEFAULT_MECHANISMS, &credentials).await;
            answer.map_err(|error| login_failure(&error))?;
        }
        Ok(connection)
    }

    /// A connection without encryption.
    async fn connect_in_plain(&self) -> Result<LimitedStream, SendOutcome> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(Ok(stream)) => Ok(LimitedStream::new(stream)),
            Ok(Err(_)) | Err(_) => Err(no_connection()),
        }
    }

    fn tls_parameters(&self) -> Result<TlsParameters, SendOutcome> {
        let mut builder = TlsParameters::builder(self.host.clone());
        if let Some(bytes) = self.root_certificate {
            let certificate = if bytes.trim_ascii_start().starts_with(b"-----BEGIN") {
                Certificate::from_pem(bytes)
            } else {
                Certificate::from_der(bytes.to_vec())
            };
            builder = builder.add_root_certificate(certificate.map_err(|_| invalid_root())?);
        }
        builder.build().map_err(|_| invalid_root())
    }
}

/// Sends the e-mail over a connection that is ready.
async fn transmit(
    connection: &mut AsyncSmtpConnection,
    email: &Email,
    is_content_sent: &AtomicBool,
) -> SendOutcome {
    let mail = Mail::new(Some(email.from.clone()), Vec::new());
    if let Err(error) = connection.command(mail).await {
        return sender_failure(&error);
    }
    for (index, recipient) in email.to.iter().enumerate() {
        // A refused recipient stops the e-mail for all, so no recipient is left out unnoticed.
        let rcpt = Rcpt::new(recipient.clone(), Vec::new());
        if let Err(error) = connection.command(rcpt).await {
            return recipient_failure(&error, index + 1, email.to.len());
        }
    }
    if let Err(error) = connection.command(Data).await {
        return content_failure(&error, false);
    }
    is_content_sent.store(true, Ordering::Relaxed);
    match connection.message(&email.content).await {
        Ok(_) => SendOutcome::Accepted { message_id: Some(email.message_id.clone()) },
        Err(error) => content_failure(&error, true),
    }
}

/// The class of a failed connection or greeting.
fn connection_failure(error: &Error) -> SendOutcome {
    if error.is_permanent() {
        let code = code_of(error);
        return broken(&format!(
            "The mail server refuses the connection ({code}). Check `server` and its port."
        ));
    }
    if error.is_transient() {
        return asked_for_later(error);
    }
    // The words of rustls for every certificate that it does not accept.
    if error.to_string().contains("invalid peer certificate") {
        return broken(
            "The certificate of the mail server is not valid for `server`. Correct the host, or \
             let this computer trust the server's certificate authority.",
        );
    }
    no_connection()
}

fn no_connection() -> SendOutcome {
    later("No connection to the mail server. Check the network, `server` and `security`.")
}

/// The class of a failed login.
fn login_failure(error: &Error) -> SendOutcome {
    if error.is_permanent() {
        return login_refused(error);
    }
    if error.is_client() {
        return broken(
            "The mail server offers no login with a password. Use another mail server, or allow \
             SMTP with a password in the mail account.",
        );
    }
    before_content(error)
}

/// The class of a failure at the sender.
fn sender_failure(error: &Error) -> SendOutcome {
    if is_login_code(error) {
        return login_refused(error);
    }
    if error.is_permanent() {
        let code = code_of(error);
        return broken(&format!(
            "The mail server refuses the sender ({code}). Write an address of the mail account into `from`."
        ));
    }
    before_content(error)
}

/// The class of a failure at a recipient, which is named by its position only.
fn recipient_failure(error: &Error, number: usize, count: usize) -> SendOutcome {
    if is_login_code(error) {
        return login_refused(error);
    }
    if error.is_permanent() {
        let code = code_of(error);
        let which = if count == 1 {
            "the recipient".to_owned()
        } else {
            format!("recipient {number} of {count}, and nobody got the e-mail")
        };
        let reason =
            format!("The mail server refuses {which} ({code}). Correct the address in `to`.");
        return SendOutcome::Refused { reason };
    }
    before_content(error)
}

/// The class of a failure at the content. A lost answer to the content is unknown.
fn content_failure(error: &Error, is_content_sent: bool) -> SendOutcome {
    if error.is_permanent() {
        let code = code_of(error);
        let reason = format!("The mail server refuses the e-mail ({code}). Read it in the run.");
        return SendOutcome::Refused { reason };
    }
    if is_content_sent && !error.is_transient() {
        let reason = "The mail server did not confirm the e-mail before the connection ended.";
        return SendOutcome::Unknown { reason: reason.to_owned() };
    }
    before_content(error)
}

/// The class of a temporary failure: the content did not leave, or the server asks for a later attempt.
fn before_content(error: &Error) -> SendOutcome {
    if error.is_transient() {
        return asked_for_later(error);
    }
    later("The connection to the mail server ended before the e-mail was sent.")
}

fn timed_out(is_content_sent: bool) -> SendOutcome {
    let seconds = SMTP_TIMEOUT.as_secs();
    if is_content_sent {
        let reason =
            format!("The mail server did not confirm the e-mail within {seconds} seconds.");
        return SendOutcome::Unknown { reason };
    }
    later(&format!("The mail server did not take the e-mail within {seconds} seconds."))
}

fn login_refused(error: &Error) -> SendOutcome {
    let code = code_of(error);
    broken(&format!(
        "The mail server refuses the login ({code}). Store the current password; many providers need an app password."
    ))
}

fn asked_for_later(error: &Error) -> SendOutcome {
    later(&format!("The mail server asks for a later attempt ({}).", code_of(error)))
}

fn invalid_root() -> SendOutcome {
    broken("TLS has no valid certificate authorities. Check the root certificate of the channel.")
}

fn is_login_code(error: &Error) -> bool {
    error.status().is_some_and(|code| LOGIN_CODES.contains(&code.into()))
}

/// The code of an answer, with its enhanced code: `550 5.1.1`. Other words of the server are left out.
fn code_of(error: &Error) -> String {
    let Some(code) = error.status() else { return "no code".to_owned() };
    let text = error.source().map(ToString::to_string).unwrap_or_default();
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_enhanced = first.len() <= 11
        && first.split('.').count() == 3
        && first.chars().all(|c| c == '.' || c.is_ascii_digit());
    if is_enhanced { format!("{code} {first}") } else { code.to_string() }
}

/// A channel that does not work, with this reason.
pub(super) fn broken(reason: &str) -> SendOutcome {
    SendOutcome::Broken { reason: reason.to_owned() }
}

fn later(reason: &str) -> SendOutcome {
    SendOutcome::Later { reason: reason.to_owned(), after: None }
}
