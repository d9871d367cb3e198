//! The flags that say what a job's model may do, and whether anybody is asked.

use clap::{Args, ValueEnum};
use rouse_core::job::FolderGrant;
use serde_json::{Map, Value, json};

use super::draft::{NONE, names, seconds, set, word};
use crate::exit::Failure;

/// What its model may do by itself, and what becomes of the rest.
#[derive(Debug, Args)]
pub(crate) struct MayArgs {
    /// What becomes of calls that need your yes: `ask` waits for it, `deny` tells the model no at once, `skip` does not
    /// even offer what would ask. A job that calls a tool by itself fails with both when a hook wants its call asked.
    #[arg(long, value_enum)]
    approvals: Option<Approvals>,
    /// How long a question waits for its answer: `2h`, or `none` for half an hour.
    #[arg(long, value_name = "DURATION")]
    approval_time: Option<String>,
    /// The only hosts that its calls may reach (`api.example.org,nas:8080`); `none` for no such list.
    #[arg(long, value_name = "HOSTS")]
    hosts: Option<String>,
    /// A folder that its calls may read, or with `:write` also change (`~/Notes`, `/srv/data:write`); repeat it for
    /// several, or say `none` [default: none beside the workspace].
    #[arg(long, value_name = "PATH[:write]")]
    folder: Vec<String>,
    /// Whether its model's commands have to run in the sandbox. `open` lets them run with your own rights, on all of
    /// your files and your network; each one is asked for.
    #[arg(long, value_enum)]
    sandbox: Option<Sandbox>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Approvals {
    Ask,
    Deny,
    Skip,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Sandbox {
    Required,
    Open,
}

impl MayArgs {
    /// Lays what is named over `policies`.
    pub(super) fn apply(&self, policies: &mut Map<String, Value>) -> Result<(), Failure> {
        set(policies, "approvals", self.approvals.map(word));
        if let Some(time) = &self.approval_time {
            policies.insert("approvalSeconds".to_owned(), seconds(time, "approval-time")?);
        }
        set(policies, "hosts", names(self.hosts.as_deref(), NONE));
        set(policies, "folders", folders(&self.folder)?);
        set(policies, "sandbox", self.sandbox.map(word));
        Ok(())
    }
}

/// The folders as the job keeps them. A relative path counts from where the command is typed.
fn folders(given: &[String]) -> Result<Option<Value>, Failure> {
    if given.is_empty() {
        return Ok(None);
    }
    if given == [NONE] {
        return Ok(Some(Value::Null));
    }
    let all = given.iter().map(|text| Ok(json!(folder(text)?.to_string())));
    all.collect::<Result<Vec<Value>, Failure>>().map(|all| Some(all.into()))
}

fn folder(text: &str) -> Result<FolderGrant, Failure> {
    let read =
        |text: &str| text.parse().map_err(|error| Failure::input(format!("--folder: {error}")));
    match (text.starts_with(['/', '~']), std::path::absolute(text)) {
        (false, Ok(absolute)) => read(&absolute.display().to_string()),
        _ => read(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_flags_give_the_list_of_the_job() {
        let given = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            folders(&texts).expect("folders")
        };
        assert_eq!(given(&[]), None);
        assert_eq!(given(&["none"]), Some(Value::Null));
        assert_eq!(given(&["~/Notes/", "~/out:write"]), Some(json!(["~/Notes", "~/out:write"])));
        let here = std::env::current_dir().expect("a folder").join("sub");
        let here = format!("{}:write", here.display());
        assert_eq!(given(&["sub:write"]), Some(json!([here])));
        assert!(folders(&["~someone/x".to_owned()]).is_err());
    }
}
