//! The e-mail of a message: its headers, its plain text and its HTML.
//!
//! Owns the subject, and the Message-ID that is equal in every attempt. Never chooses a recipient.
//! Pitfall: a line break in a title, which would begin another header.

use std::time::{Duration, UNIX_EPOCH};

use lettre::Address;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart, SinglePart};
use rouse_core::UnixMs;
use rouse_core::channel::ChannelMessage;
use rouse_core::text::strip_invisible;

use super::html::html_page;

/// The most characters of a subject.
const MAX_SUBJECT: usize = 200;

/// The name of the sender, and the subject of a message without a title.
const SENDER_NAME: &str = "Rouse";

/// An e-mail with its sender and recipients.
pub(super) struct Email {
    pub(super) from: Address,
    pub(super) to: Vec<Address>,
    pub(super) message_id: String,
    pub(super) content: Vec<u8>,
}

impl Email {
    /// The e-mail of `message` with this plain text.
    ///
    /// # Errors
    /// The library refuses a header.
    pub(super) fn compose(
        message: &ChannelMessage,
        text: &str,
        from: Address,
        to: Vec<Address>,
    ) -> Result<Self, lettre::error::Error> {
        let key = header_key(message.delivery.as_str());
        let message_id = format!("<{key}@{}>", from.domain());
        let mut builder = Message::builder()
            .from(Mailbox::new(Some(SENDER_NAME.to_owned()), from.clone()))
            .subject(subject(&message.title))
            .message_id(Some(message_id.clone()))
            .date(UNIX_EPOCH + since_epoch(message.created_at))
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ));
        for recipient in &to {
            builder = builder.to(Mailbox::new(None, recipient.clone()));
        }
        if let Some(run) = &message.run {
            // Mail programs show the messages of a run as one conversation.
            let run = header_key(run.as_str());
            builder = builder.references(format!("<run-{run}@{}>", from.domain()));
        }
        let texts = MultiPart::alternative()
            .boundary(format!("rouse-{key}"))
            .singlepart(SinglePart::plain(text.to_owned()))
            .singlepart(SinglePart::html(html_page(message)));
        let content = builder.multipart(texts)?.formatted();
        Ok(Self { from, to, message_id, content })
    }
}

/// The title on one line.
fn subject(title: &str) -> String {
    let visible = strip_invisible(title);
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).take(MAX_SUBJECT).collect();
    if line.is_empty() { SENDER_NAME.to_owned() } else { line }
}

/// An id as a part of a header: short, and without characters of the header's own syntax.
fn header_key(id: &str) -> String {
    id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(50).collect()
}

fn since_epoch(at: UnixMs) -> Duration {
    Duration::from_millis(u64::try_from(at.min(UnixMs::LATEST).0).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_is_one_short_line() {
        assert_eq!(subject("Backup\r\nBcc: eve@example.org"), "Backup Bcc: eve@example.org");
        assert_eq!(subject("a\u{0}b\u{1b}[1m"), "ab[1m");
        assert_eq!(subject(" \n "), "Rouse");
        assert_eq!(subject(&"ä".repeat(300)).chars().count(), 200);
    }

    #[test]
    fn id_leaves_out_syntax_of_headers() {
        assert_eq!(header_key("digest-01a>\r\nX: y"), "digest-01aXy");
        assert_eq!(header_key(&"7".repeat(90)).len(), 50);
    }

    #[test]
    fn date_stays_within_its_range() {
        assert_eq!(since_epoch(UnixMs(-5)), Duration::ZERO);
        assert_eq!(since_epoch(UnixMs(i64::MAX)), Duration::from_millis(253_402_300_799_000));
    }
}
