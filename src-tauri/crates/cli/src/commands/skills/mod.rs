//! `rouse skills …`: skills, their installation and their trust.

mod add;

use clap::Subcommand;
use rouse_gateway::wire::{ChangeResult, SkillSearchResult, SkillView, SkillsListResult};
use serde_json::json;

use crate::commands::extensions::{ask_line, is_interactive};
use crate::render::registry::print_registry_skills;
use crate::render::skill::{print_skill, trust_text};
use crate::render::table::{new_table, print_rows};
use crate::render::text::{escape, shorten};
use crate::resolve::engine::EngineConnection;
use crate::resolve::error::CliError;
use crate::resolve::ids;
use crate::resolve::keyboard::is_confirmed;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// List skills with trust and problems
    #[default]
    List,
    /// Show a skill: instructions, files, jobs
    Show {
        /// Name
        name: String,
    },
    /// Install a skill of another author from a folder, a zip archive or the registry
    #[command(before_help = add::EXAMPLES)]
    Add(add::Args),
    /// Remove an installed skill and its trust
    #[command(aliases = ["rm", "delete"])]
    Remove {
        /// Name
        name: String,
        /// Remove without a prompt
        #[arg(long)]
        yes: bool,
    },
    /// Trust an installed skill until the folder changes
    Trust {
        /// Name
        name: String,
        /// Hash of the reviewed skill, from `rouse skills show` [default: the present hash]
        #[arg(long, value_name = "HASH")]
        digest: Option<String>,
    },
    /// Revoke the trust in a skill
    Distrust {
        /// Name
        name: String,
    },
    /// Search the skill registry of the settings
    Search {
        /// Words
        #[arg(required = true)]
        words: Vec<String>,
    },
}

pub(crate) async fn run(command: Command, engine: &EngineConnection) -> Result<(), CliError> {
    match command {
        Command::List => {
            engine
                .show("skills.list", json!({}), |_, found: SkillsListResult| print_skills(&found))
                .await
        }
        Command::Show { name } => {
            let skill = find_skill(engine, &name).await?;
            if engine.json {
                anstream::println!("{}", serde_json::to_string_pretty(&skill)?);
            } else {
                print_skill(&skill);
            }
            Ok(())
        }
        Command::Add(args) => add::run(args, engine).await,
        Command::Remove { name, yes } => remove(engine, &name, yes).await,
        Command::Trust { name, digest } => {
            let digest = match digest {
                Some(digest) => Some(digest),
                None => find_skill(engine, &name).await?.digest,
            };
            let params = json!({ "name": name, "digest": digest.unwrap_or_default() });
            let print = |_: &EngineConnection, skill: SkillView| {
                anstream::println!("Trusted until its folder changes: {}.", skill.name);
            };
            let trusted = engine.show("skills.trust", params, print).await;
            explain_error(trusted, engine, &name).await
        }
        Command::Distrust { name } => {
            let print = |_: &EngineConnection, skill: SkillView| {
                anstream::println!(
                    "{} is not trusted any more: its runs are read-only.",
                    skill.name
                );
            };
            let distrusted = engine.show("skills.distrust", json!({ "name": name }), print).await;
            explain_error(distrusted, engine, &name).await
        }
        Command::Search { words } => {
            let query = words.join(" ");
            let print = |_: &EngineConnection, found: SkillSearchResult| {
                print_registry_skills(&query, &found);
            };
            let shown = engine.show("skills.search", json!({ "query": query }), print).await;
            shown.map_err(|error| error.with_field_names(&[("query", "WORDS")]))
        }
    }
}

/// Removes an installed skill after a confirmation, and names the jobs that use the skill.
async fn remove(engine: &EngineConnection, name: &str, yes: bool) -> Result<(), CliError> {
    let found: SkillsListResult = engine.fetch("skills.list", json!({})).await?;
    let installed = found.skills.iter().find(|skill| skill.name == name && skill.is_installed);
    let Some(skill) = installed else {
        // An own skill is refused by the engine, with its folder.
        find_skill(engine, name).await?;
        return engine.call("skills.remove", json!({ "name": name })).await.map(drop);
    };
    if !yes {
        let shown = escape(name);
        if !is_interactive(engine) {
            return Err(CliError::Refused(format!(
                "The folder of {shown} cannot be restored. To remove the skill: rouse skills remove {shown} --yes"
            )));
        }
        if !is_confirmed(&ask_line(&format!("Remove {shown} and its folder? [y/N] ")).await?) {
            anstream::eprintln!("Nothing was removed.");
            return Ok(());
        }
    }
    let print = |_: &EngineConnection, _: ChangeResult| {
        anstream::println!("Removed {}.", escape(name));
        for user in &skill.used_by {
            let job = escape(&user.name);
            anstream::println!("Its runs fail without the skill: {job} ({})", user.job_id);
        }
    };
    engine.show("skills.remove", json!({ "name": name }), print).await
}

/// Replaces a not-found error by a similar name or by the skill's problem; names fields by their flags.
async fn explain_error(
    result: Result<(), CliError>,
    engine: &EngineConnection,
    name: &str,
) -> Result<(), CliError> {
    let with_flag_names =
        |error: CliError| error.with_field_names(&[("name", "NAME"), ("digest", "--digest")]);
    match result {
        Err(error) if error.is_not_found() => {
            let skill = find_skill(engine, name).await?;
            let Some(problem) = skill.problem else { return Err(with_flag_names(error)) };
            let problem = escape(problem.trim_end_matches('.'));
            Err(CliError::Refused(format!("{} is unusable: {problem}.", escape(&skill.name))))
        }
        result => result.map_err(with_flag_names),
    }
}

/// The skill with this name. Of two, the usable skill.
async fn find_skill(engine: &EngineConnection, name: &str) -> Result<SkillView, CliError> {
    let found: SkillsListResult = engine.fetch("skills.list", json!({})).await?;
    let skills = found.skills.iter().filter(|skill| skill.name == name);
    let skill = skills.min_by_key(|skill| skill.problem.is_some());
    let names = found.skills.iter().map(|skill| skill.name.as_str());
    skill.cloned().ok_or_else(|| ids::unknown_name("skill", name, names, "rouse skills list"))
}

fn print_skills(found: &SkillsListResult) {
    if found.skills.is_empty() {
        anstream::println!(
            "No skills. Put a folder with a SKILL.md into {}, or install a skill of another author: rouse skills add PATH",
            found.own_folder
        );
        return;
    }
    let mut table = new_table(&["SKILL", "TRUST", "JOBS", "ABOUT"]);
    for skill in &found.skills {
        let about = skill.problem.as_deref().or(skill.description.as_deref()).unwrap_or_default();
        table.add_row([
            escape(&skill.name),
            trust_text(skill).to_owned(),
            skill.used_by.len().to_string(),
            shorten(about, 80),
        ]);
    }
    print_rows(&table);
}
