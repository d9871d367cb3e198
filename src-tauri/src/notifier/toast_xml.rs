//! A toast of Windows as XML.
//!
//! Owns what is text and what is a link in it: nothing that a job says is markup, and each click is a `rouse://` link. It
//! knows no system, so it is tried on all of them.

use super::{Buttons, Toast};
use crate::link;

/// A toast stays on the screen only if it has a button; this one is Windows's own, in the person's language.
const DISMISS: &str = r#"<action activationType="system" arguments="dismiss" content=""/>"#;

/// The whole toast.
pub(super) fn xml(toast: &Toast) -> String {
    let scenario = if toast.urgent { r#" scenario="reminder""# } else { "" };
    format!(
        r#"<toast activationType="protocol" launch="{link}"{scenario}><visual><binding template="ToastGeneric"><text>{title}</text><text>{body}</text></binding></visual>{actions}</toast>"#,
        link = escape(&link::of_place(&toast.opens)),
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
    let button = |word: &str, content: &str| {
        let link = escape(&link::of_button(word));
        format!(r#"<action activationType="protocol" arguments="{link}" content="{content}"/>"#)
    };
    button(allow, "Allow once") + &button(deny, "Deny")
}

/// Text as XML can hold it: no character of it is markup, and those that XML knows no way to write are left out.
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
    use crate::place::Place;

    fn toast(urgent: bool) -> Toast {
        Toast {
            subject: Subject::Delivery(DeliveryId::new("d1")),
            opens: Place::job(&JobId::new("a b")),
            title: "Backup \"home\"".to_owned(),
            body: "2 < 3 & <text>\u{1b}[1mdone\u{0}</text>\nbye".to_owned(),
            urgent,
            buttons: None,
        }
    }

    #[test]
    fn a_toast_is_text_and_a_link_whatever_it_says() {
        assert_eq!(
            xml(&toast(false)),
            r#"<toast activationType="protocol" launch="rouse://jobs/a%20b"><visual><binding template="ToastGeneric"><text>Backup &quot;home&quot;</text><text>2 &lt; 3 &amp; &lt;text&gt;[1mdone&lt;/text&gt;
bye</text></binding></visual></toast>"#
        );
    }

    #[test]
    fn an_urgent_toast_stays_and_can_be_dismissed() {
        let xml = xml(&toast(true));
        assert!(xml.contains(r#" scenario="reminder">"#), "{xml}");
        assert!(xml.ends_with(&format!("</visual><actions>{DISMISS}</actions></toast>")), "{xml}");
    }

    #[test]
    fn a_question_has_its_two_answers_as_links_before_the_way_out() {
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
    fn a_word_is_no_markup_either() {
        let buttons = Some(Buttons { allow: r#""/><x y=""#.to_owned(), deny: "&".to_owned() });
        let xml = xml(&Toast { buttons, ..toast(false) });
        assert!(xml.contains(r#"arguments="rouse://answer/&quot;/&gt;&lt;x y=&quot;""#), "{xml}");
        assert!(xml.contains(r#"arguments="rouse://answer/&amp;""#), "{xml}");
    }
}
