//! `rouse cron webhook`: where a job's webhook is, and its secret once.

use rouse_gateway::wire::WebhookView;
use serde_json::{Value, json};

use super::{JobArg, resolve};
use crate::exit::Failure;
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
    /// Make a new secret; the one before is worth nothing any more.
    #[arg(long)]
    rotate: bool,
}

pub(super) async fn run(args: Args, session: &Session) -> Result<(), Failure> {
    let id = resolve(session, &args.job.id).await?;
    show(json!({ "id": id, "rotate": args.rotate }), session).await
}

pub(super) async fn show(params: Value, session: &Session) -> Result<(), Failure> {
    session
        .show("cron.webhook", params, |_, view: WebhookView| {
            print(&view);
            Ok(())
        })
        .await
}

fn print(view: &WebhookView) {
    anstream::println!("  url    {}", view.url);
    let Some(secret) = &view.secret else {
        anstream::println!("  secret was shown when it was made; --rotate makes another one");
        return;
    };
    anstream::println!("  secret {secret}");
    anstream::println!("         (it is shown only now)");
    anstream::println!(
        "\n  curl -X POST -H 'Authorization: Bearer {secret}' -d 'Hello' {}",
        view.url
    );
}
