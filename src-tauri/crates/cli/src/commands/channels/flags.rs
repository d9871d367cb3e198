//! The flags of `rouse channels add`. No flag takes a secret.

use rouse_core::channel::{ChannelKind, ChannelName};

use crate::commands::cron::choice;

pub(super) const EXAMPLES: &str = "\
Examples:
  rouse channels add phone --kind telegram
  rouse channels add mail --kind email --server smtp.example.org:465 --user anna \\
      --from rouse@example.org --to anna@example.org
  rouse channels add push --kind ntfy --url https://ntfy.sh
  rouse channels add team --kind slack --secret-stdin < address.txt
  rouse channels add guild --apprise < line.txt
";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name: 1 to 32 lowercase letters, digits and -
    pub(super) name: ChannelName,
    /// Kind: telegram, email, ntfy, slack, discord, webhook, apprise, whatsapp
    #[arg(
        long,
        hide_possible_values = true,
        value_parser = choice::<ChannelKind>(),
        required_unless_present = "apprise"
    )]
    pub(super) kind: Option<ChannelKind>,
    /// Read one line of Apprise from a prompt or a pipe instead of --kind
    #[arg(long, conflicts_with_all = [
        "kind", "url", "server", "security", "user", "from", "to", "tag", "phone_number_id", "template",
        "template_language", "secret_stdin",
    ])]
    pub(super) apprise: bool,
    /// Address of the server, or of a webhook without a password [default: the service's]
    #[arg(long, value_name = "URL")]
    pub(super) url: Option<String>,
    /// Mail server: smtp.example.org:465
    #[arg(long, value_name = "HOST")]
    pub(super) server: Option<String>,
    /// Encryption of the mail connection: tls, starttls, none [default: tls]
    #[arg(long, hide_possible_values = true, value_parser = ["tls", "starttls", "none"])]
    pub(super) security: Option<String>,
    /// User name at the mail server [default: no sign-in]
    #[arg(long, value_name = "NAME")]
    pub(super) user: Option<String>,
    /// E-mail address of the sender
    #[arg(long, value_name = "ADDRESS")]
    pub(super) from: Option<String>,
    /// Recipient: id of a Telegram chat, e-mail address or phone number; repeatable
    #[arg(long, value_name = "ADDRESS")]
    pub(super) to: Vec<String>,
    /// Services of the Apprise server, by tag [default: all]
    #[arg(long, value_name = "TAG")]
    pub(super) tag: Option<String>,
    /// Id of the WhatsApp number that sends
    #[arg(long, value_name = "ID")]
    pub(super) phone_number_id: Option<String>,
    /// WhatsApp template for messages after 24 hours without an answer [default: none]
    #[arg(long, value_name = "NAME")]
    pub(super) template: Option<String>,
    /// Language of the template [default: en]
    #[arg(long, value_name = "CODE")]
    pub(super) template_language: Option<String>,
    /// Text of a message: full, headline [default: full]
    #[arg(long, hide_possible_values = true, value_parser = ["full", "headline"])]
    pub(super) details: Option<String>,
    /// Read the secrets of --kind from standard input, one per line
    #[arg(long)]
    pub(super) secret_stdin: bool,
    /// Deliver reports, failures and approval requests there too [default: ask on a terminal]
    #[arg(long = "default")]
    pub(super) is_default: bool,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use clap::error::ErrorKind;

    use super::*;

    #[derive(clap::Parser)]
    struct Add {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(line: &str) -> Result<Args, ErrorKind> {
        let words = ["add", "desk"].into_iter().chain(line.split(' '));
        Add::try_parse_from(words).map(|add| add.args).map_err(|error| error.kind())
    }

    #[test]
    fn apprise_line_replaces_kind_and_its_flags() {
        let args = parsed("--apprise --details headline --default").expect("flags");
        assert!(args.apprise && args.is_default && args.kind.is_none());
        for flag in [
            "--kind slack",
            "--url https://example.org",
            "--server smtp.example.org",
            "--security tls",
            "--user anna",
            "--from a@b.org",
            "--to 7",
            "--tag home",
            "--phone-number-id 1",
            "--template alert",
            "--template-language de",
            "--secret-stdin",
        ] {
            let refused = parsed(&format!("--apprise {flag}")).err();
            assert_eq!(refused, Some(ErrorKind::ArgumentConflict), "{flag}");
        }
        assert_eq!(parsed("--default").err(), Some(ErrorKind::MissingRequiredArgument));
    }
}
