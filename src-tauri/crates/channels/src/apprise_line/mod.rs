//! One line of Apprise as the settings of a channel.
//!
//! Owns the addresses that Rouse has an own channel for, and the split into settings and secrets. Never stores anything
//! and never connects. Pitfall: a part of the line in an error; every part but the scheme may be a password.

mod import;
mod line_url;
mod mail;

use rouse_core::channel::{ChannelKind, ChannelSection};

use self::import::{problem, section};
use self::line_url::LineUrl;

pub use self::import::{AppriseLineError, ImportedChannel};

/// Reads one line of Apprise, such as `tgram://TOKEN/CHAT`.
///
/// # Errors
/// The line is invalid, or Rouse has no own channel for its service.
pub fn read_apprise_line(line: &str) -> Result<ImportedChannel, AppriseLineError> {
    let url = LineUrl::read(line)?;
    match url.scheme.as_str() {
        "tgram" => telegram(&url),
        "mailto" | "mailtos" => mail::email(&url),
        "ntfy" | "ntfys" => ntfy(&url),
        "discord" => discord(&url),
        "slack" => slack(&url),
        "json" | "jsons" => webhook(&url),
        "apprise" | "apprises" => apprise(&url),
        other => problem(&format!(
            "Rouse has no own channel for `{other}://`. Run an Apprise API server with this line, and add a channel of \
             the kind `apprise` for the server."
        )),
    }
}

fn telegram(url: &LineUrl) -> Result<ImportedChannel, AppriseLineError> {
    // The colon of a token separates no port.
    let token = url.authority.strip_prefix("bot").unwrap_or(&url.authority);
    let is_token = token.split_once(':').is_some_and(|(id, key)| {
        !id.is_empty() && id.chars().all(|c| c.is_ascii_digit()) && is_word(key)
    });
    if !is_token {
        return problem("The line has no token of a Telegram bot. Write `tgram://TOKEN/CHAT`.");
    }
    let topic = url.query("topic").or_else(|| url.query("thread"));
    let chats = url.targets();
    let recipients = chats.iter().map(|chat| chat_address(chat, topic));
    let recipients = recipients.collect::<Result<Vec<_>, _>>()?;
    let secrets = vec![("tokenSecret", token.to_owned())];
    Ok(ImportedChannel { section: section(ChannelKind::Telegram), secrets, recipients })
}

/// A chat with its topic. A name without `@` gets one.
fn chat_address(chat: &str, topic: Option<&str>) -> Result<String, AppriseLineError> {
    let (chat, topic) = match chat.split_once(':') {
        Some((chat, own)) => (chat, Some(own)),
        None => (chat, topic),
    };
    let name = chat.strip_prefix('@').unwrap_or(chat);
    let digits = chat.strip_prefix('-').unwrap_or(chat);
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
    let is_topic = |topic: &str| !topic.is_empty() && topic.chars().all(|c| c.is_ascii_digit());
    if !(is_number || is_word(name)) || !topic.is_none_or(is_topic) {
        return problem(
            "A chat of the line is invalid. Write its number or `@name`, and a topic as `CHAT:TOPIC`.",
        );
    }
    let chat = if is_number { chat.to_owned() } else { format!("@{name}") };
    Ok(match topic {
        Some(topic) => format!("{chat}:{topic}"),
        None => chat,
    })
}

fn ntfy(url: &LineUrl) -> Result<ImportedChannel, AppriseLineError> {
    const PUBLIC: &str = "ntfy.sh";
    let (host, _) = url.host_and_port()?;
    let mut topics = url.targets();
    let is_public = match url.query("mode") {
        Some("cloud") => true,
        Some("private") => false,
        Some(_) => {
            return problem("The line has an unknown `mode`. ntfy has `cloud` and `private`.");
        }
        None => topics.is_empty(),
    };
    if is_public && !host.eq_ignore_ascii_case(PUBLIC) {
        topics.insert(0, host.clone());
    }
    let [topic] = topics.as_slice() else {
        return problem("The line needs exactly one topic of ntfy. Add a channel for each topic.");
    };
    if !is_word(topic) {
        return problem(
            "The topic of the line is invalid. ntfy allows letters, digits, `-` and `_`.",
        );
    }
    let address = if is_public || host.eq_ignore_ascii_case(PUBLIC) {
        format!("https://{PUBLIC}")
    } else {
        url.web_address("")
    };
    let mut secrets = vec![("topicSecret", topic.clone())];
    secrets.extend(ntfy_token(url)?.map(|token| ("tokenSecret", token)));
    let section = ChannelSection { url: Some(address), ..section(ChannelKind::Ntfy) };
    Ok(ImportedChannel { section, secrets, recipients: Vec::new() })
}

/// The access token of a line for ntfy.
fn ntfy_token(url: &LineUrl) -> Result<Option<String>, AppriseLineError> {
    if let Some(token) = url.query("token") {
        return Ok(Some(token.to_owned()));
    }
    let is_token = url.query("auth").map(|auth| auth.eq_ignore_ascii_case("token"));
    match (url.user.as_deref().filter(|user| !user.is_empty()), &url.password, is_token) {
        (None, None, _) => Ok(None),
        (Some(user), None, None | Some(true)) => Ok(Some(user.to_owned())),
        (None, Some(token), None | Some(true)) | (Some(_), Some(token), Some(true)) => {
            Ok(Some(token.clone()))
        }
        _ => problem(
            "The line signs in to ntfy with a user name. Create an access token in ntfy, and write \
             `ntfys://TOKEN@host/topic`.",
        ),
    }
}

fn discord(url: &LineUrl) -> Result<ImportedChannel, AppriseLineError> {
    if url.query("thread").is_some() {
        return problem("Rouse cannot send to a thread of Discord. Remove `thread` from the line.");
    }
    let is_id = !url.authority.is_empty() && url.authority.chars().all(|c| c.is_ascii_digit());
    match url.path.first() {
        Some(token) if is_id && is_word(token) => {
            let address = format!("https://discord.com/api/webhooks/{}/{token}", url.authority);
            Ok(secret_address(ChannelKind::Discord, address))
        }
        _ => problem("The line has no webhook of Discord. Write `discord://ID/TOKEN`."),
    }
}

fn slack(url: &LineUrl) -> Result<ImportedChannel, AppriseLineError> {
    let is_bot = url.authority.starts_with("xo");
    if is_bot || url.query("mode").is_some_and(|mode| mode != "hook") {
        return problem(
            "Rouse sends to incoming webhooks of Slack only. Create one in Slack, and write `slack://A/B/C`.",
        );
    }
    match url.path.as_slice() {
        [b, c, ..] if [&url.authority, b, c].into_iter().all(|part| is_word(part)) => {
            let address = format!("https://hooks.slack.com/services/{}/{b}/{c}", url.authority);
            Ok(secret_address(ChannelKind::Slack, address))
        }
        _ => problem("The line has no webhook of Slack. Write `slack://A/B/C`."),
    }
}

fn webhook(url: &LineUrl) -> Result<ImportedChannel, AppriseLineError> {
    url.host_and_port()?;
    if url.user.is_some() || url.password.is_some() {
        return problem(
            "Rouse signs webhooks and sends no password. Remove the user name from the line.",
        );
    }
    if url.has_query_starting_with(['+', '-', ':']) || url.query("method").is_some() {
        return problem(
            "Rouse sends its own headers and fields to a webhook. Remove them and `method` from the line.",
        );
    }
    let address = url.web_address(&url.raw_path);
    if url.is_encrypted() {
        return Ok(secret_address(ChannelKind::Webhook, address));
    }
    // The check of the settings allows an address without encryption in the person's own network only.
    let section = ChannelSection { url: Some(address), ..section(ChannelKind::Webhook) };
    Ok(ImportedChannel { section, secrets: Vec::new(), recipients: Vec::new() })
}

fn apprise(url: &LineUrl) -> Result<ImportedChannel, AppriseLineError> {
    url.host_and_port()?;
    if url.user.is_some() || url.password.is_some() {
        return problem(
            "Rouse sends no password to an Apprise server. Remove the user name from the line.",
        );
    }
    let mut folders = url.path.clone();
    let named = url.query("token").or_else(|| url.query("to")).map(str::to_owned);
    let Some(key) = named.or_else(|| folders.pop()).filter(|key| is_word(key)) else {
        return problem("The line has no key of the Apprise server. Write `apprises://host/KEY`.");
    };
    if !folders.iter().all(|folder| is_word(folder)) {
        return problem("The path of the line is invalid. Write `apprises://host/KEY`.");
    }
    let folders: String = folders.iter().map(|folder| format!("/{folder}")).collect();
    let section = ChannelSection {
        url: Some(url.web_address(&format!("{folders}/notify/{key}"))),
        tag: url.query("tags").map(str::to_owned),
        ..section(ChannelKind::Apprise)
    };
    Ok(ImportedChannel { section, secrets: Vec::new(), recipients: Vec::new() })
}

/// A channel with an address that is a password.
fn secret_address(kind: ChannelKind, address: String) -> ImportedChannel {
    let secrets = vec![("urlSecret", address)];
    ImportedChannel { section: section(kind), secrets, recipients: Vec::new() }
}

/// Whether a text has letters, digits, `-` and `_` only.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

#[cfg(test)]
mod tests;
