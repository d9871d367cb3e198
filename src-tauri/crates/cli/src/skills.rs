//! `rouse skills …`: folders with instructions for a model, and how far they are believed.

use clap::Subcommand;
use rouse_gateway::wire::{SkillTrust, SkillView, SkillsListResult};
use serde_json::json;

use crate::exit::Failure;
use crate::ids;
use crate::output::{plain, print, short, table};
use crate::session::Session;

#[derive(Debug, Subcommand, Default)]
pub(crate) enum Command {
    /// List the skills, where they lie, how far each is believed, and what is wrong with it.
    #[default]
    List,
    /// Show one skill: its instructions, its files, and the jobs that name it.
    Show {
        /// Its name.
        name: String,
    },
    /// Trust a skill that was brought in, as it is now. With any change of its folder the trust ends.
    Trust {
        /// Its name.
        name: String,
        /// The hash that `rouse skills show` told: refuses a skill that has changed since.
        #[arg(long, value_name = "HASH")]
        digest: Option<String>,
    },
    /// Take the trust back.
    Distrust {
        /// Its name.
        name: String,
    },
}

pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Failure> {
    match command {
        Command::List => {
            let show = |_: &Session, found: SkillsListResult| {
                print_list(&found);
                Ok(())
            };
            session.show("skills.list", json!({}), show).await
        }
        Command::Show { name } => {
            let skill = named(session, &name).await?;
            if session.json {
                anstream::println!("{}", serde_json::to_string_pretty(&skill)?);
            } else {
                print_one(&skill);
            }
            Ok(())
        }
        Command::Trust { name, digest } => {
            let digest = match digest {
                Some(digest) => Some(digest),
                None => named(session, &name).await?.digest,
            };
            let params = json!({ "name": name, "digest": digest.unwrap_or_default() });
            let show = |_: &Session, skill: SkillView| {
                anstream::println!(
                    "Trusted as it is: {}. A change of its folder ends that.",
                    skill.name
                );
                Ok(())
            };
            let trusted = session.show("skills.trust", params, show).await;
            or_another(trusted, session, &name).await
        }
        Command::Distrust { name } => {
            let show = |_: &Session, skill: SkillView| {
                anstream::println!(
                    "{} is not trusted any more: a run with it may only look.",
                    skill.name
                );
                Ok(())
            };
            let taken = session.show("skills.distrust", json!({ "name": name }), show).await;
            or_another(taken, session, &name).await
        }
    }
}

/// What is given as it is has no flag.
fn called(failure: Failure) -> Failure {
    failure.calling(&[("name", "NAME"), ("digest", "--digest")])
}

/// What was answered; where there is no such skill, with the one that was meant.
async fn or_another(
    answered: Result<(), Failure>,
    session: &Session,
    name: &str,
) -> Result<(), Failure> {
    match answered {
        Err(failure) if failure.is_not_found() => {
            let skill = named(session, name).await?;
            let Some(problem) = skill.problem else { return Err(called(failure)) };
            let problem = plain(problem.trim_end_matches('.'));
            Err(Failure::Refused(format!("{} cannot be used: {problem}.", plain(&skill.name))))
        }
        answered => answered.map_err(called),
    }
}

async fn named(session: &Session, name: &str) -> Result<SkillView, Failure> {
    let found = session.call("skills.list", json!({})).await?;
    let found: SkillsListResult = serde_json::from_value(found)?;
    let skills = found.skills.iter().filter(|skill| skill.name == name);
    // Of two of one name the one that can be used is meant.
    let skill = skills.min_by_key(|skill| skill.problem.is_some());
    let names = found.skills.iter().map(|skill| skill.name.as_str());
    skill.cloned().ok_or_else(|| ids::unknown("skill called", name, names, "rouse skills list"))
}

fn print_list(found: &SkillsListResult) {
    if found.skills.is_empty() {
        anstream::println!(
            "No skills. Put a folder with a SKILL.md into {}, or into {} when you have it from somebody else.",
            found.own_folder,
            found.installed_folder
        );
        return;
    }
    let mut table = table(&["SKILL", "TRUST", "JOBS", "ABOUT"]);
    for skill in &found.skills {
        table.add_row([
            plain(&skill.name),
            trust(skill).to_owned(),
            skill.used_by.len().to_string(),
            short(
                skill.problem.as_ref().or(skill.description.as_ref()).map_or("", String::as_str),
                80,
            ),
        ]);
    }
    print(&table);
}

fn print_one(skill: &SkillView) {
    anstream::println!("{}: {}", plain(&skill.name), trust(skill));
    for words in skill.problem.iter().chain(&skill.description) {
        anstream::println!("{}", plain(words));
    }
    anstream::println!("Folder: {}", plain(&skill.path));
    for (what, names) in [("Other files", Some(&skill.files)), ("Tools", skill.tools.as_ref())] {
        if let Some(names) = names.filter(|names| !names.is_empty()) {
            anstream::println!("{what}: {}", plain(&names.join(", ")));
        }
    }
    if let Some(digest) = &skill.digest {
        anstream::println!("Hash: {digest}");
    }
    for user in &skill.used_by {
        anstream::println!("Used by: {} ({})", plain(&user.name), user.job_id);
    }
    if let Some(body) = &skill.body {
        anstream::println!("\n{}", plain(body));
    }
}

fn trust(skill: &SkillView) -> &'static str {
    match skill.trust {
        None => "cannot be used",
        Some(SkillTrust::Own) => "your own",
        Some(SkillTrust::Trusted) => "trusted",
        Some(SkillTrust::Changed) => "changed since it was trusted",
        Some(SkillTrust::Untrusted) => "not trusted",
    }
}
