//! Lines of every service, and errors without secrets.

use rouse_core::channel::EmailSecurity;

use super::*;

fn imported(line: &str) -> ImportedChannel {
    match read_apprise_line(line) {
        Ok(channel) => channel,
        Err(error) => panic!("{line}: {error}"),
    }
}

fn problem_of(line: &str) -> String {
    match read_apprise_line(line) {
        Ok(channel) => panic!("{line}: {:?}", channel.section),
        Err(error) => error.to_string(),
    }
}

fn secret(key: &'static str, value: &str) -> Vec<(&'static str, String)> {
    vec![(key, value.to_owned())]
}

#[test]
fn telegram_line_has_token_and_chats() {
    for (line, recipients) in [
        ("tgram://123456:AB-c_d/-1001234:43", vec!["-1001234:43"]),
        ("tgram://bot123456:AB-c_d/7/8?format=markdown", vec!["7", "8"]),
        ("tgram://123456%3AAB-c_d/channel?topic=5", vec!["@channel:5"]),
        ("  tgram://name@123456:AB-c_d/?to=@one,2 \n", vec!["@one", "2"]),
        ("tgram://123456:AB-c_d", vec![]),
    ] {
        let channel = imported(line);
        assert_eq!(channel.section, section(ChannelKind::Telegram), "{line}");
        assert_eq!(channel.secrets, secret("tokenSecret", "123456:AB-c_d"), "{line}");
        assert_eq!(channel.recipients, recipients, "{line}");
    }
}

#[test]
fn ntfy_line_has_server_and_topic() {
    for (line, url) in [
        ("ntfy://MyTopic", "https://ntfy.sh"),
        ("ntfys://ntfy.sh/MyTopic", "https://ntfy.sh"),
        ("ntfy://ntfy.sh/MyTopic", "https://ntfy.sh"),
        ("ntfys://ntfy.example.org/MyTopic?priority=high", "https://ntfy.example.org"),
        ("ntfy://nas.local:8080/MyTopic", "http://nas.local:8080"),
    ] {
        let channel = imported(line);
        assert_eq!(channel.section.url.as_deref(), Some(url), "{line}");
        assert_eq!(channel.secrets, secret("topicSecret", "MyTopic"), "{line}");
    }
}

#[test]
fn ntfy_line_may_have_a_token() {
    for line in [
        "ntfys://tk_1@ntfy.example.org/t",
        "ntfys://:tk_1@ntfy.example.org/t",
        "ntfys://ntfy.example.org/t?token=tk_1",
        "ntfys://anna:tk_1@ntfy.example.org/t?auth=token",
    ] {
        let token = imported(line).secrets.pop().expect("a secret");
        assert_eq!(token, ("tokenSecret", "tk_1".to_owned()), "{line}");
    }
    assert!(problem_of("ntfys://anna:pw@ntfy.example.org/t").contains("access token"));
    assert!(problem_of("ntfys://ntfy.example.org/one/two").contains("exactly one topic"));
}

#[test]
fn chat_webhooks_have_a_secret_address() {
    for (line, kind, address) in [
        (
            "discord://42/to-K_en",
            ChannelKind::Discord,
            "https://discord.com/api/webhooks/42/to-K_en",
        ),
        (
            "discord://Rouse@42/t?footer=yes",
            ChannelKind::Discord,
            "https://discord.com/api/webhooks/42/t",
        ),
        ("slack://T1/B2/c3", ChannelKind::Slack, "https://hooks.slack.com/services/T1/B2/c3"),
        (
            "slack://bot@T1/B2/c3/#dev",
            ChannelKind::Slack,
            "https://hooks.slack.com/services/T1/B2/c3",
        ),
        (
            "jsons://example.org:8443/a/b?verify=no",
            ChannelKind::Webhook,
            "https://example.org:8443/a/b",
        ),
    ] {
        let channel = imported(line);
        assert_eq!(channel.section, section(kind), "{line}");
        assert_eq!(channel.secrets, secret("urlSecret", address), "{line}");
    }
}

#[test]
fn webhook_without_tls_has_an_open_address() {
    let channel = imported("json://192.168.1.5/hook");
    assert_eq!(channel.section.url.as_deref(), Some("http://192.168.1.5/hook"));
    assert!(channel.secrets.is_empty());
}

#[test]
fn apprise_line_has_server_key_and_tag() {
    for (line, url, tag) in [
        ("apprises://apprise.example.org/key", "https://apprise.example.org/notify/key", None),
        (
            "apprise://nas.local:8000/a/key?tags=me",
            "http://nas.local:8000/a/notify/key",
            Some("me"),
        ),
    ] {
        let channel = imported(line);
        assert_eq!(channel.section.kind, ChannelKind::Apprise);
        assert_eq!(channel.section.url.as_deref(), Some(url), "{line}");
        assert_eq!(channel.section.tag.as_deref(), tag, "{line}");
    }
}

#[test]
fn email_line_has_server_sender_and_recipients() {
    for (line, server, security, from, to) in [
        (
            "mailto://anna:pw@gmail.com",
            "smtp.gmail.com:587",
            EmailSecurity::Starttls,
            "anna@gmail.com",
            "anna@gmail.com",
        ),
        (
            "mailtos://anna:pw@mail.example.org:465?from=Rouse%20%3Cr@b.org%3E&to=c@d.org",
            "mail.example.org:465",
            EmailSecurity::Tls,
            "r@b.org",
            "c@d.org",
        ),
        (
            "mailtos://_?user=anna@b.org&pass=pw&smtp=smtp.b.org&mode=ssl&to=c@d.org,e@f.org",
            "smtp.b.org:465",
            EmailSecurity::Tls,
            "anna@b.org",
            "c@d.org e@f.org",
        ),
        (
            "mailto://anna%40b.org:pw@b.org/c@d.org",
            "b.org:587",
            EmailSecurity::Starttls,
            "anna@b.org",
            "c@d.org",
        ),
        (
            "mailto://localhost:2525?from=a@b.org",
            "localhost:2525",
            EmailSecurity::None,
            "a@b.org",
            "a@b.org",
        ),
    ] {
        let section = imported(line).section;
        assert_eq!(section.server.as_deref(), Some(server), "{line}");
        assert_eq!(section.security, Some(security), "{line}");
        assert_eq!(section.from.as_deref(), Some(from), "{line}");
        assert_eq!(section.to.join(" "), to, "{line}");
    }
}

#[test]
fn email_login_is_what_the_server_expects() {
    for (line, user) in [
        ("mailto://anna:p%40w@gmail.com", "anna@gmail.com"),
        ("mailto://apikey:p%40w@sendgrid.com?from=a@b.org", "apikey"),
        ("mailto://anna:p%40w@mail.example.org", "anna"),
        ("mailtos://a@b.org:p@w@mail.example.org", "a@b.org"),
    ] {
        let channel = imported(line);
        assert_eq!(channel.section.user.as_deref(), Some(user), "{line}");
        assert_eq!(channel.secrets, secret("passwordSecret", "p@w"), "{line}");
    }
    let open = imported("mailto://localhost?from=a@b.org");
    assert_eq!((open.section.user, open.secrets.len()), (None, 0));
}

#[test]
fn other_services_need_an_apprise_server() {
    let problem = problem_of("matrix://user:pw@example.org/room");
    assert!(problem.contains("`matrix://`") && problem.contains("kind `apprise`"), "{problem}");
    assert!(problem_of("https://example.org").contains("`https://`"));
}

#[test]
fn errors_have_no_part_of_the_line_but_its_scheme() {
    for line in [
        "canary",
        "canary://",
        "my canary://x",
        "tgram://canary/7",
        "tgram://123:canary/no chat",
        "tgram://123:abc/canary!",
        "mailto://user:canary@",
        "mailto://user:canary@host:port",
        "mailto://canary:canary/@host",
        "mailto://user:canary%@host",
        "mailto://user:canary@example.org?mode=insecure",
        "mailto://user:canary@example.org?cc=canary@example.org",
        "mailto://user:pw@example.org?to=canary",
        "mailto://example.org/canary@example.org",
        "ntfy://user:canary@example.org/topic",
        "ntfy://canary!/",
        "ntfy://example.org/canary/canary2",
        "ntfy://example.org/canary?mode=canary",
        "discord://canary/token",
        "discord://42/canary?thread=7",
        "slack://xoxb-canary",
        "slack://canary",
        "json://user:canary@example.org/x",
        "jsons://example.org/canary?+token=canary",
        "apprise://user:canary@example.org/key",
        "apprises://example.org/canary!",
        "apprises://example.org/canary!/key",
    ] {
        let problem = problem_of(line);
        let shown = problem.replace("`canary://`", "");
        assert!(!shown.contains("canary"), "{line}: {problem}");
        assert!(problem.ends_with('.'), "{line}: {problem}");
    }
}
