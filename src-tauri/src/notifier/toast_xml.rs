//! Toast XML for Windows.
//!
//! Owns escaping and links: job text is never markup, and clicks are `rouse://` links.
//! System-independent, so tested everywhere.

use super::button_tokens::Buttons;
use super::toast::Toast;
use crate::link;

/// Only toasts with a button stay on screen; this button is Windows's own, localized.
const DISMISS: &str = r#"<action activationType="system" arguments="dismiss" content=""/>"#;

/// Renders a toast.
pub(super) fn xml(toast: &Toast) -> String {
    let scenario = if toast.urgent { r#" scenario="reminder""# } else { "" };
    format!(
        r#"<toast activationType="protocol" launch="{link}"{scenario}><visual><binding template="ToastGeneric"><text>{title}</text><text>{body}</text></binding></visual>{actions}</toast>"#,
        link = escape(&link::page_link(&toast.opens)),
        title = escape(&toast.title),
        body = escape(&toast.body),
        actions = actions(toast),
    )
}

fn actions(toast: &Toast) -> String {
    let answers = toast.buttons.as_ref().map(answers).unwrap_or_default();
    let dismiss = if toast.urgent { DISMISS } else { "" };
    match (answers.as_str(), dismiss) {
        ("", "") => String::new(),
        (answers, dismiss) => format!("<actions>{answers}{dismiss}</actions>"),
    }
}

fn answers(Buttons { allow, deny }: &Buttons) -> String {
    let button = |token: &str, content: &str| {
        let link = escape(&link::button_link(token));
        format!(r#"<action activationType="protocol" arguments="{link}" content="{content}"/>"#)
    };
    button(allow, "Allow once") + &button(deny, "Deny")
}

/// Escapes markup and drops characters that XML cannot hold.
fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut safe, c| {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\t' | '\n' | '\r' => safe.push(c),
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => {}
            _ => safe.push(c),
        }
        safe
    })
}

#[cfg(test)]
mod tests {
    use rouse_core::{DeliveryId, JobId};

    use super::*;
    use crate::notifier::Subject;
    use crate::ui_route::UiRoute;

    fn toast(urgent: bool) -> Toast {
        Toast {
            subject: Subject::Delivery(DeliveryId::new("d1")),
            opens: UiRoute::job(&JobId::new("a b")),
            title: "Backup \"home\"".to_owned(),
            body: "2 < 3 & <text>\u{1b}[1mdone\u{0}</text>\nbye".to_owned(),
            urgent,
            buttons: None,
        }
    }

    #[test]
    fn toast_text_is_escaped() {
        assert_eq!(
            xml(&toast(false)),
            r#"<toast activationType="protocol" launch="rouse://jobs/a%20b"><visual><binding template="ToastGeneric"><text>Backup &quot;home&quot;</text><text>2 &lt; 3 &amp; &lt;text&gt;[1mdone&lt;/text&gt;
bye</text></binding></visual></toast>"#
        );
    }

    #[test]
    fn urgent_toast_stays_until_dismissed() {
        let xml = xml(&toast(true));
        assert!(xml.contains(r#" scenario="reminder">"#), "{xml}");
        assert!(xml.ends_with(&format!("</visual><actions>{DISMISS}</actions></toast>")), "{xml}");
    }

    #[test]
    fn approval_toast_has_link_buttons_first() {
        let buttons = Some(Buttons { allow: "1f".to_owned(), deny: "2e".to_owned() });
        let xml = xml(&Toast { buttons, ..toast(true) });
        let allow = r#"<action activationType="protocol" arguments="rouse://answer/1f" content="Allow once"/>"#;
        let deny =
            r#"<action activationType="protocol" arguments="rouse://answer/2e" content="Deny"/>"#;
        assert!(
            xml.ends_with(&format!("<actions>{allow}{deny}{DISMISS}</actions></toast>")),
            "{xml}"
        );
    }

    #[test]
    fn token_is_escaped() {
        let buttons = Some(Buttons { allow: r#""/><x y=""#.to_owned(), deny: "&".to_owned() });
        let xml = xml(&Toast { buttons, ..toast(false) });
        assert!(xml.contains(r#"arguments="rouse://answer/&quot;/&gt;&lt;x y=&quot;""#), "{xml}");
        assert!(xml.contains(r#"arguments="rouse://answer/&amp;""#), "{xml}");
    }
}
