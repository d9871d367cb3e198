//! `rouse cron webhook`: URL, secret and signing key of a job's webhook.

use rouse_gateway::wire::WebhookView;
use serde_json::{Value, json};

use super::job_arg::JobArg;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::jobs::find_job;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArg,
    /// Create a new secret or signing key; the old one becomes invalid at once
    #[arg(long)]
    rotate: bool,
    /// Show the signing key instead of the secret; the first use creates the key
    #[arg(long)]
    sign: bool,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let id = find_job(engine, &args.job.id).await?;
    show_webhook(json!({ "id": id, "rotate": args.rotate, "sign": args.sign }), engine).await
}

pub(super) async fn show_webhook(params: Value, engine: &EngineConnection) -> Result<(), CliError> {
    engine.show("cron.webhook", params, |_, view: WebhookView| print_webhook(&view)).await
}

fn print_webhook(view: &WebhookView) {
    anstream::println!("  url    {}", view.url);
    if let Some(name) = &view.signing_secret {
        print_signing_key(view, name);
        return;
    }
    let Some(secret) = &view.secret else {
        anstream::println!("  secret shown only at creation; --rotate creates a new one");
        return;
    };
    anstream::println!("  secret {secret}");
    anstream::println!("         (shown only now)");
    anstream::println!(
        "\n  curl -X POST -H 'Authorization: Bearer {secret}' -d 'Hello' {}",
        view.url
    );
}

fn print_signing_key(view: &WebhookView, name: &str) {
    match &view.secret {
        Some(key) => {
            anstream::println!("  key    {key}");
            anstream::println!("         (shown only now; an older key is no longer valid)");
        }
        None => {
            anstream::println!("  key    shown only at creation; --sign --rotate creates a new one")
        }
    }
    anstream::println!("  stored as the secret {name}");
    if let Some(problem) = &view.problem {
        anstream::println!("  problem: {}", escape(problem));
    }
    anstream::println!("\nSign each call as in Standard Webhooks: docs/jobs.md has an example.");
}
