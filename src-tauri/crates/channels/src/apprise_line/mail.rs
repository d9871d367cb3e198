//! Lines for e-mail: `mailto(s)://user:password@host`.
//!
//! Owns the servers of known providers, and the encryption of each line. Never sends a password without encryption.
//! Pitfall: `mailto://`, which Apprise sends without encryption; Rouse takes STARTTLS for any host but this computer.

use rouse_core::channel::{ChannelKind, ChannelSection, EmailSecurity};

use super::import::{AppriseLineError, ImportedChannel, problem, section};
use super::line_url::{LineUrl, split_port};

/// The mail server of the addresses of a provider.
struct MailProvider {
    domains: &'static [&'static str],
    host: &'static str,
    security: EmailSecurity,
    /// Whether the user name is the whole address.
    has_address_login: bool,
}

const fn provider(
    domains: &'static [&'static str],
    host: &'static str,
    security: EmailSecurity,
) -> MailProvider {
    MailProvider { domains, host, security, has_address_login: true }
}

/// Providers whose mail server has another name than their addresses.
static PROVIDERS: [MailProvider; 9] = [
    provider(&["gmail.com"], "smtp.gmail.com", EmailSecurity::Starttls),
    provider(&["yahoo.com", "yahoo.ca"], "smtp.mail.yahoo.com", EmailSecurity::Tls),
    provider(
        &["hotmail.com", "live.com", "outlook.com"],
        "smtp-mail.outlook.com",
        EmailSecurity::Starttls,
    ),
    provider(
        &["gmx.com", "gmx.net", "gmx.de", "gmx.at", "gmx.ch"],
        "mail.gmx.com",
        EmailSecurity::Starttls,
    ),
    provider(&["fastmail.com", "fastmail.fm"], "smtp.fastmail.com", EmailSecurity::Tls),
    provider(&["zoho.com", "zohomail.com"], "smtp.zoho.com", EmailSecurity::Starttls),
    provider(&["yandex.com", "yandex.ru"], "smtp.yandex.ru", EmailSecurity::Tls),
    MailProvider {
        has_address_login: false,
        ..provider(&["office365.com"], "smtp.office365.com", EmailSecurity::Starttls)
    },
    MailProvider {
        has_address_login: false,
        ..provider(&["sendgrid.com", "sendgrid.net"], "smtp.sendgrid.net", EmailSecurity::Tls)
    },
];

/// The channel of a line for e-mail.
pub(super) fn email(url: &LineUrl) -> Result<ImportedChannel, AppriseLineError> {
    if url.query("cc").is_some() || url.query("bcc").is_some() {
        return problem("Rouse has no `cc` and no `bcc`. Write all recipients into `to`.");
    }
    let user = url.user.as_deref().or_else(|| url.query("user")).filter(|user| !user.is_empty());
    let password = url.password.as_deref().or_else(|| url.query("pass"));
    let (domain, port) = domain_and_port(url, user)?;
    let named = url.query("smtp").map(split_port).transpose()?;
    let provider = provider_of(&domain).filter(|_| named.is_none());
    let from = sender(url, user, &domain)?;
    let mut to = url.path.clone();
    to.extend(url.query("to").map(str::to_owned));
    let to = addresses(&to.join(","))?;

    let (host, port) = match (named, provider) {
        (Some((host, own_port)), _) => (host, own_port.or(port)),
        (None, Some(provider)) => (provider.host.to_owned(), port),
        (None, None) => (domain.clone(), port),
    };
    let security = security_of(url, &host, port, provider)?;
    let port = port.unwrap_or(usual_port(security));
    let login = match (user, provider) {
        (Some(user), Some(provider)) if provider.has_address_login && !user.contains('@') => {
            Some(format!("{user}@{domain}"))
        }
        (user, _) => user.map(str::to_owned),
    };
    let section = ChannelSection {
        server: Some(format!("{host}:{port}")),
        security: Some(security),
        // A user name belongs to a password.
        user: login.filter(|_| password.is_some()),
        to: if to.is_empty() { vec![from.clone()] } else { to },
        from: Some(from),
        ..section(ChannelKind::Email)
    };
    let password = password.filter(|_| section.user.is_some());
    let secrets = password.map(|password| ("passwordSecret", password.to_owned()));
    Ok(ImportedChannel { section, secrets: secrets.into_iter().collect(), recipients: Vec::new() })
}

/// The domain of the line's addresses, and the port. `_` instead of a host means the domain of the user name.
fn domain_and_port(
    url: &LineUrl,
    user: Option<&str>,
) -> Result<(String, Option<u16>), AppriseLineError> {
    if !["", "_"].contains(&url.authority.as_str()) {
        return url.host_and_port();
    }
    match user.and_then(|user| user.split_once('@')) {
        Some((_, domain)) => split_port(domain),
        None => problem("The line has no host. Write `mailtos://user:password@host`."),
    }
}

fn provider_of(domain: &str) -> Option<&'static MailProvider> {
    let is_of = |provider: &&MailProvider| {
        provider.domains.iter().any(|known| known.eq_ignore_ascii_case(domain))
    };
    PROVIDERS.iter().find(is_of)
}

/// The encryption of the connection. Only a mail server on this computer may do without.
fn security_of(
    url: &LineUrl,
    host: &str,
    port: Option<u16>,
    provider: Option<&MailProvider>,
) -> Result<EmailSecurity, AppriseLineError> {
    let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    match url.query("mode") {
        Some("ssl") => Ok(EmailSecurity::Tls),
        Some("starttls") => Ok(EmailSecurity::Starttls),
        Some("insecure") if is_local => Ok(EmailSecurity::None),
        Some("insecure") => problem(
            "Rouse sends e-mail without encryption to this computer only. Remove `mode=insecure` from the line.",
        ),
        Some(_) => problem("The line has an unknown `mode`. E-mail has `starttls` and `ssl`."),
        None if port == Some(465) => Ok(EmailSecurity::Tls),
        None if is_local && !url.is_encrypted() => Ok(EmailSecurity::None),
        None => Ok(match provider {
            Some(provider) if port.is_none() => provider.security,
            _ => EmailSecurity::Starttls,
        }),
    }
}

const fn usual_port(security: EmailSecurity) -> u16 {
    match security {
        EmailSecurity::Tls => 465,
        EmailSecurity::Starttls => 587,
        EmailSecurity::None => 25,
    }
}

/// The address of the sender: `from`, else that of the user.
fn sender(url: &LineUrl, user: Option<&str>, domain: &str) -> Result<String, AppriseLineError> {
    if let Some(from) = url.query("from").filter(|from| from.contains('@')) {
        let mut named = addresses(from)?.into_iter();
        return match (named.next(), named.next()) {
            (Some(only), None) => Ok(only),
            _ => problem("The line has several senders. Leave one in `from`."),
        };
    }
    match user {
        Some(user) if user.contains('@') => Ok(user.to_owned()),
        Some(user) => Ok(format!("{user}@{domain}")),
        None => problem("The line has no sender. Add `?from=` with an e-mail address."),
    }
}

/// The addresses of a list with `,` or `;`. A name before `<…>` is left out.
fn addresses(list: &str) -> Result<Vec<String>, AppriseLineError> {
    let mut found = Vec::new();
    for entry in list.split([',', ';']).map(str::trim).filter(|entry| !entry.is_empty()) {
        let address = match entry.split_once('<') {
            Some((_, rest)) => rest.split('>').next().unwrap_or_default(),
            None => entry,
        };
        let parts: Vec<&str> = address.split('@').collect();
        let is_address = parts.len() == 2 && parts.iter().all(|part| !part.is_empty());
        if !is_address || !address.chars().all(|c| c.is_ascii_graphic()) {
            return problem("An address of the line is no e-mail address. Correct `to` or `from`.");
        }
        found.push(address.to_owned());
    }
    Ok(found)
}
