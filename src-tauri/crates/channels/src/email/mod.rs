//! E-mail over SMTP.
//!
//! Owns the settings of the channel, and the choice among the recipients that the person has written down. Never reads
//! mail: the sender of an e-mail is easy to forge. Pitfall: sending a password without encryption; only a mail server
//! on this computer may do without.

mod compose;
mod html;
mod limited_stream;
mod smtp;

use lettre::Address;
use rouse_core::channel::{Channel, ChannelMessage, EmailSecurity, SendOutcome};
use rouse_core::tool::BoxFuture;

use self::compose::Email;
use self::smtp::{MailLogin, MailServer, broken};
use crate::http::check_result;
use crate::text::plain_message;

/// The settings of an e-mail channel, with its secret. Never printed.
pub struct EmailSettings {
    /// The mail server: `host:port`, or a host with the usual port of `security`.
    pub server: String,
    /// The encryption of the connection. `none` is for a server on this computer only.
    pub security: EmailSecurity,
    /// The user name; none for a server without a login.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// The address of the sender.
    pub from: String,
    /// The addresses of the recipients.
    pub to: Vec<String>,
    /// A certificate authority to trust besides those of this computer, as PEM or DER.
    pub root_certificate: Option<Vec<u8>>,
}

/// Sends each message as one e-mail with plain text and HTML.
pub struct EmailChannel {
    settings: EmailSettings,
}

impl EmailChannel {
    /// A channel with these settings.
    #[must_use]
    pub fn new(settings: EmailSettings) -> Self {
        Self { settings }
    }

    fn mail_server(&self) -> Result<MailServer<'_>, SendOutcome> {
        let EmailSettings { server, security, root_certificate, .. } = &self.settings;
        let Some((host, port)) = host_and_port(server, *security) else {
            return Err(broken(
                "The mail server has no valid address. Write `server` like `smtp.example.org:465`.",
            ));
        };
        if *security == EmailSecurity::None && !is_loopback(&host) {
            return Err(broken(
                "E-mail without encryption is for a mail server on this computer only. \
                 Set `security` to `tls` or `starttls`.",
            ));
        }
        let root_certificate = root_certificate.as_deref();
        Ok(MailServer { host, port, security: *security, root_certificate })
    }

    fn login(&self) -> Option<MailLogin<'_>> {
        let (user, password) = (self.settings.user.as_ref()?, self.settings.password.as_ref()?);
        Some(MailLogin { user, password })
    }

    fn email(&self, message: &ChannelMessage, text: &str) -> Result<Email, SendOutcome> {
        let Ok(from) = self.settings.from.parse::<Address>() else {
            return Err(broken("The sender is no e-mail address. Correct `from`."));
        };
        let to: Vec<&String> = match &message.to {
            None => self.settings.to.iter().collect(),
            Some(to) => self.settings.to.iter().filter(|known| *known == to).take(1).collect(),
        };
        if to.is_empty() {
            let reason = "The recipient is not in the settings. Write the address into `to`.";
            return Err(SendOutcome::Refused { reason: reason.to_owned() });
        }
        let Ok(to) =
            to.into_iter().map(|known| known.parse::<Address>()).collect::<Result<Vec<_>, _>>()
        else {
            return Err(broken("A recipient is no e-mail address. Correct `to`."));
        };
        Email::compose(message, text, from, to).map_err(|_| SendOutcome::Refused {
            reason: "The message does not fit into an e-mail. Read it in the run.".to_owned(),
        })
    }
}

impl Channel for EmailChannel {
    fn render(&self, message: &ChannelMessage) -> Vec<String> {
        vec![plain_message(message)]
    }

    fn send<'a>(
        &'a self,
        message: &'a ChannelMessage,
        parts: &'a [String],
        index: usize,
    ) -> BoxFuture<'a, SendOutcome> {
        Box::pin(async move {
            let prepared = self
                .mail_server()
                .and_then(|server| Ok((server, self.email(message, &parts[index])?)));
            match prepared {
                Ok((server, email)) => smtp::deliver(&server, self.login(), &email).await,
                Err(outcome) => outcome,
            }
        })
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let checked = match self.mail_server() {
                Ok(server) => smtp::check(&server, self.login()).await,
                Err(outcome) => Err(outcome),
            };
            checked.or_else(|outcome| check_result(outcome, "The mail server"))
        })
    }
}

/// The host and the port of `server`. An IPv6 address with a port stands in brackets.
fn host_and_port(server: &str, security: EmailSecurity) -> Option<(String, u16)> {
    let (host, port) = match server.trim().rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            (host, port.parse().ok()?)
        }
        _ => (server.trim(), usual_port(security)),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_plain = !host.is_empty() && !host.contains(['/', '@', ' ']);
    (is_plain && port != 0).then(|| (host.to_owned(), port))
}

const fn usual_port(security: EmailSecurity) -> u16 {
    match security {
        EmailSecurity::Tls => 465,
        EmailSecurity::Starttls => 587,
        EmailSecurity::None => 25,
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests;
