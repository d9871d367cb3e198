//! `rouse skills add`: the page of a skill, then the installation.
//!
//! Nothing is installed before the page is accepted: by `y` at a terminal, or by the hash of the page. Pitfall: a folder
//! that changes between page and installation; the engine compares the hash again.

use rouse_core::skills::SkillPage;
use rouse_gateway::wire::{SkillDownload, SkillView};
use serde_json::json;

use crate::commands::extensions::{ask_line, is_interactive};
use crate::commands::mcp::accepting_command;
use crate::render::skill::page_lines;
use crate::render::text::escape;
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::keyboard::is_confirmed;
use crate::resolve::paths::absolute_path;

/// Field paths of the gateway and their names on the command line.
const FIELD_NAMES: [(&str, &str); 4] =
    [("path", "PATH"), ("hash", "--accept"), ("slug", "--slug"), ("version", "--slug")];

pub(super) const EXAMPLES: &str = "\
Examples:
  rouse skills add ~/Downloads/weekly-report
  rouse skills add ~/Downloads/weekly-report.zip
  rouse skills add --slug weekly-report@1.2.0
";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder with a SKILL.md, or zip archive with one skill
    #[arg(value_name = "PATH", required_unless_present = "slug", conflicts_with = "slug")]
    path: Option<String>,
    /// Skill of the registry `registries.skills` [default version: the latest]
    #[arg(long, value_name = "SLUG[@VERSION]")]
    slug: Option<String>,
    /// Hash of the page that you have read [default: print the page and ask]
    #[arg(long, value_name = "HASH")]
    accept: Option<String>,
}

/// A skill on the disk of the engine.
struct LocalSource {
    path: String,
    /// The source for the page.
    shown: String,
}

pub(super) async fn run(args: Args, engine: &EngineConnection) -> Result<(), CliError> {
    let Args { path, slug, accept } = args;
    let source = match (path, slug) {
        (Some(path), _) => {
            engine.require_this_computer("PATH")?;
            let path = absolute_path("PATH", &path)?;
            LocalSource { shown: path.clone(), path }
        }
        (None, Some(slug)) => download(engine, slug).await?,
        (None, None) => unreachable!("BUG: the parser requires a path or a slug"),
    };
    let hash = match accept {
        Some(hash) => hash,
        None => match read_page(engine, &source).await? {
            Some(hash) => hash,
            None => {
                anstream::eprintln!("Nothing was installed.");
                return Ok(());
            }
        },
    };
    let params = json!({ "path": source.path, "hash": hash });
    let installed = engine.show("skills.install", params, print_installed).await;
    installed.map_err(|error| error.with_field_names(&FIELD_NAMES))
}

/// Downloads a skill of the registry, and prints what the registry says about the skill.
async fn download(engine: &EngineConnection, slug: String) -> Result<LocalSource, CliError> {
    let mut params = json!({ "slug": slug });
    if let Some((name, version)) = slug.split_once('@') {
        params = json!({ "slug": name, "version": version });
    }
    let downloaded = engine.fetch("skills.download", params).await;
    let SkillDownload { path, warning } =
        downloaded.map_err(|error| error.with_field_names(&FIELD_NAMES))?;
    if let Some(warning) = warning {
        anstream::eprintln!("{}", escape(&warning));
    }
    Ok(LocalSource { shown: format!("{slug}, downloaded to {path}"), path })
}

/// Prints the page and asks. The hash of an accepted page; none without the consent.
async fn read_page(
    engine: &EngineConnection,
    source: &LocalSource,
) -> Result<Option<String>, CliError> {
    let page = engine.fetch("skills.preview", json!({ "path": source.path })).await;
    let page: SkillPage = page.map_err(|error| error.with_field_names(&FIELD_NAMES))?;
    if engine.json {
        anstream::println!("{}", serde_json::to_string_pretty(&page)?);
    } else {
        for line in page_lines(&page, &source.shown) {
            anstream::println!("{line}");
        }
    }
    if page.is_own {
        return Err(CliError::Refused(format!(
            "One of your own skills has the name {}. Rename or remove it, then install again.",
            page.name
        )));
    }
    if !is_interactive(engine) {
        let command = accepting_command(std::env::args().skip(1), "add", &[&page.hash]);
        return Err(CliError::Refused(format!(
            "Nothing was installed. To accept exactly this page: {command}"
        )));
    }
    let verb = if page.replaces.is_some() { "Update" } else { "Install" };
    let line = ask_line(&format!("\n{verb} {} and trust this content? [y/N] ", page.name)).await?;
    Ok(is_confirmed(&line).then_some(page.hash))
}

fn print_installed(_: &EngineConnection, skill: SkillView) {
    let name = escape(&skill.name);
    anstream::println!("Installed {name}. It is trusted until its folder changes.");
    if skill.used_by.is_empty() {
        anstream::println!("Use it in a job: rouse cron add \u{2026} --skills {name}");
    }
}
