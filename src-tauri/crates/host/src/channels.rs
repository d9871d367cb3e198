//! The channels of the settings: the directory of routes, and the sender of each channel.
//!
//! Owns the lookup of secrets at the time of sending, so a changed secret applies at once. A secret goes only to the hosts
//! that it is bound to. Never chooses a recipient. Pitfall: keeping a sender; its token may have been revoked since.

use std::collections::BTreeMap;
use std::sync::Arc;

use rouse_agent::SecretBook;
use rouse_channels::{
    AppriseChannel, AppriseSettings, DiscordChannel, DiscordSettings, EmailChannel, EmailSettings,
    NtfyChannel, NtfySettings, SlackChannel, SlackSettings, TELEGRAM_ROOT, TelegramChannel,
    TelegramSettings, WebhookChannel, WebhookSettings, WhatsappChannel, WhatsappSettings,
};
use rouse_core::Clock;
use rouse_core::channel::{
    Channel, ChannelDirectory, ChannelEntry, ChannelKind, ChannelName, ChannelSection,
    EmailSecurity, Recipient,
};
use rouse_core::http_exchange::HttpExchange;
use rouse_tools::{AcceptedServerUrls, GuardedHttp, HttpConfig};
use tokio::sync::watch;

use crate::config::Config;

/// The host of WhatsApp's API.
const WHATSAPP_HOST: &str = "https://graph.facebook.com";

/// The address that the password of a mail server is bound to: the server with its port, and `http` without encryption.
fn mail_server_url(server: &str, security: EmailSecurity) -> String {
    let (scheme, port) = match security {
        EmailSecurity::Tls => ("https", 465),
        EmailSecurity::Starttls => ("https", 587),
        EmailSecurity::None => ("http", 25),
    };
    let has_port = server.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { format!("{scheme}://{server}") } else { format!("{scheme}://{server}:{port}") }
}

/// The directory of the channels in `config`, with the `paired` recipients first. `is_headless` tells that this engine has no
/// desktop.
pub(crate) fn directory(
    config: &Config,
    paired: &[Recipient],
    is_headless: bool,
) -> ChannelDirectory {
    let entry = |(name, section): (&String, &ChannelSection)| {
        let channel = ChannelName::new(name);
        // A channel of another kind with the same name has other addresses.
        let pairs = section.kind == ChannelKind::Telegram;
        let is_of_channel = |recipient: &&Recipient| pairs && recipient.channel == channel;
        let mut recipients: Vec<Recipient> = paired.iter().filter(is_of_channel).cloned().collect();
        let written = section.to.iter().map(|address| Recipient {
            channel: channel.clone(),
            address: address.clone(),
            label: address.clone(),
            // The id of a Telegram group is negative.
            is_private: !address.starts_with('-'),
            is_paired: false,
        });
        for recipient in written {
            if recipients.iter().all(|known| known.address != recipient.address) {
                recipients.push(recipient);
            }
        }
        let ChannelSection { kind, details, .. } = *section;
        (channel, ChannelEntry { kind, details, recipients })
    };
    ChannelDirectory {
        channels: config.channels.iter().map(entry).collect::<BTreeMap<_, _>>(),
        deliver_to: config.deliver_to.clone(),
        last: None,
        is_headless,
    }
}

/// Makes the senders of channels.
pub(crate) struct ChannelSenders {
    pub(crate) settings: watch::Receiver<Config>,
    pub(crate) secrets: Arc<SecretBook>,
    pub(crate) http: HttpConfig,
    pub(crate) clock: Arc<dyn Clock>,
}

impl ChannelSenders {
    /// The sender of a channel with its present settings and secrets.
    ///
    /// # Errors
    /// The channel is not set up, or a secret is missing: cause and remedy as sentences.
    pub(crate) async fn sender(&self, name: &ChannelName) -> Result<Arc<dyn Channel>, String> {
        let section = self.section(name)?;
        SenderParts { senders: self, name, section: &section }.sender().await
    }

    /// The bot of a Telegram channel, with HTTP connections of its own.
    ///
    /// # Errors
    /// As of [`Self::sender`].
    pub(crate) async fn telegram(
        &self,
        name: &ChannelName,
    ) -> Result<(Arc<dyn HttpExchange>, TelegramSettings), String> {
        let section = self.section(name)?;
        let settings = SenderParts { senders: self, name, section: &section }.telegram().await?;
        let root = settings.root.as_deref().unwrap_or(TELEGRAM_ROOT);
        Ok((self.http_to(root), settings))
    }

    fn section(&self, name: &ChannelName) -> Result<ChannelSection, String> {
        let section = self.settings.borrow().channels.get(name.as_str()).cloned();
        section.ok_or_else(|| {
            format!("The channel {name} is not set up. Set it up with `rouse channels add {name}`.")
        })
    }

    /// Guarded HTTP that may reach `url` in the person's own network too.
    fn http_to(&self, url: &str) -> Arc<dyn HttpExchange> {
        let accepted = AcceptedServerUrls::default();
        accepted.replace(&[url.to_owned()]);
        Arc::new(GuardedHttp::new(&self.http, accepted))
    }
}

/// One channel with its settings.
struct SenderParts<'s> {
    senders: &'s ChannelSenders,
    name: &'s ChannelName,
    section: &'s ChannelSection,
}

impl SenderParts<'_> {
    async fn sender(&self) -> Result<Arc<dyn Channel>, String> {
        let section = self.section;
        Ok(match section.kind {
            ChannelKind::Email => Arc::new(EmailChannel::new(self.email_settings().await?)),
            ChannelKind::Telegram => {
                let (http, settings) = self.senders.telegram(self.name).await?;
                Arc::new(TelegramChannel::new(http, settings))
            }
            ChannelKind::Ntfy => {
                let url = self.plain_url()?;
                let topic = self.secret(section.topic_secret.as_deref(), &url).await?;
                let token = match section.token_secret.as_deref() {
                    Some(name) => Some(self.secret(Some(name), &url).await?),
                    None => None,
                };
                Arc::new(NtfyChannel::new(self.http(&url), NtfySettings { url, topic, token }))
            }
            ChannelKind::Slack => {
                let url = self.secret_url().await?;
                let url_secret = self.needed(section.url_secret.as_deref())?;
                Arc::new(SlackChannel::new(self.http(&url), SlackSettings { url, url_secret }))
            }
            ChannelKind::Discord => {
                let url = self.secret_url().await?;
                let url_secret = self.needed(section.url_secret.as_deref())?;
                Arc::new(DiscordChannel::new(self.http(&url), DiscordSettings { url, url_secret }))
            }
            ChannelKind::Webhook => {
                let url = match &section.url {
                    Some(url) => url.clone(),
                    None => self.secret_url().await?,
                };
                let signing_key = self.secret(section.signing_secret.as_deref(), &url).await?;
                let settings = WebhookSettings { url: url.clone(), signing_key };
                let clock = Arc::clone(&self.senders.clock);
                Arc::new(WebhookChannel::new(self.http(&url), settings, clock))
            }
            ChannelKind::Apprise => {
                let url = self.plain_url()?;
                let tag = section.tag.clone();
                Arc::new(AppriseChannel::new(self.http(&url), AppriseSettings { url, tag }))
            }
            ChannelKind::Whatsapp => {
                let host = section.url.as_deref().unwrap_or(WHATSAPP_HOST);
                let settings = WhatsappSettings {
                    url: section.url.clone(),
                    phone_number_id: self.needed(section.phone_number_id.as_deref())?,
                    token: self.secret(section.token_secret.as_deref(), host).await?,
                    template: section.template.clone(),
                    template_language: section.template_language.clone(),
                };
                Arc::new(WhatsappChannel::new(self.http(host), settings))
            }
        })
    }

    async fn telegram(&self) -> Result<TelegramSettings, String> {
        let root = self.section.url.as_deref().unwrap_or(TELEGRAM_ROOT);
        Ok(TelegramSettings {
            name: self.name.clone(),
            token: self.secret(self.section.token_secret.as_deref(), root).await?,
            token_secret: self.needed(self.section.token_secret.as_deref())?,
            root: self.section.url.clone(),
        })
    }

    async fn email_settings(&self) -> Result<EmailSettings, String> {
        let section = self.section;
        let server = self.needed(section.server.as_deref())?;
        let security = section.security.unwrap_or_default();
        let password = match section.password_secret.as_deref() {
            Some(name) => Some(self.secret(Some(name), &mail_server_url(&server, security)).await?),
            None => None,
        };
        Ok(EmailSettings {
            security,
            user: section.user.clone(),
            password,
            from: self.needed(section.from.as_deref())?,
            to: section.to.clone(),
            root_certificate: None,
            server,
        })
    }

    fn http(&self, url: &str) -> Arc<dyn HttpExchange> {
        self.senders.http_to(url)
    }

    fn plain_url(&self) -> Result<String, String> {
        self.needed(self.section.url.as_deref())
    }

    /// The secret with the address of the channel.
    async fn secret_url(&self) -> Result<String, String> {
        let name = self.needed(self.section.url_secret.as_deref())?;
        let url = self.senders.secrets.address_for(&name).await;
        url.map(|url| url.expose().to_owned()).map_err(|error| self.unusable(&error.to_string()))
    }

    /// The value of a secret that is bound to the host of `url`.
    async fn secret(&self, name: Option<&str>, url: &str) -> Result<String, String> {
        let name = self.needed(name)?;
        let value = self.senders.secrets.key_for(&name, url).await;
        value
            .map(|value| value.expose().to_owned())
            .map_err(|error| self.unusable(&error.to_string()))
    }

    /// A key of the settings, which the check of the settings has required.
    fn needed(&self, value: Option<&str>) -> Result<String, String> {
        value.map(str::to_owned).ok_or_else(|| self.unusable("its settings are incomplete"))
    }

    fn unusable(&self, cause: &str) -> String {
        format!("The channel {} cannot send: {cause}.", self.name)
    }
}
