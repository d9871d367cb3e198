//! The flags of a job's permissions: approvals, hosts, folders, sandbox.

use clap::Args;
use rouse_core::job::{Approvals, FolderGrant, Sandbox};
use serde_json::{Map, Value, json};

use super::field_values::{NONE, choice, names_value, seconds, set};
use crate::resolve::error::CliError;

/// The permissions of a job.
#[derive(Debug, Args)]
pub(crate) struct PermissionArgs {
    /// Calls that need an approval: ask, deny, skip [default: ask]
    #[arg(long, hide_possible_values = true, value_parser = choice::<Approvals>())]
    approvals: Option<Approvals>,
    /// Approval timeout: 2h [default: 30m]
    #[arg(hide = true, long, alias = "approval-time", value_name = "DURATION")]
    approval_timeout: Option<String>,
    /// Allowed hosts: example.org,nas:8080 [default: any public host]
    #[arg(long, value_name = "HOSTS")]
    hosts: Option<String>,
    /// Granted folder: ~/Notes:write; repeatable [default: none]
    #[arg(long, value_name = "PATH[:write]")]
    folder: Vec<String>,
    /// Sandbox: required, open (your full permissions) [default: required]
    #[arg(hide = true, long, hide_possible_values = true, value_parser = choice::<Sandbox>())]
    sandbox: Option<Sandbox>,
}

impl PermissionArgs {
    /// Sets the named permissions in `policies`.
    pub(super) fn apply(&self, policies: &mut Map<String, Value>) -> Result<(), CliError> {
        set(policies, "approvals", self.approvals.map(|approvals| json!(approvals)));
        if let Some(timeout) = &self.approval_timeout {
            policies.insert("approvalSeconds".to_owned(), seconds(timeout, "approval-timeout")?);
        }
        set(policies, "hosts", names_value(self.hosts.as_deref(), NONE));
        set(policies, "folders", parse_folders(&self.folder)?);
        set(policies, "sandbox", self.sandbox.map(|sandbox| json!(sandbox)));
        Ok(())
    }
}

/// The folders of the job document. A relative path starts at the working directory.
fn parse_folders(texts: &[String]) -> Result<Option<Value>, CliError> {
    if texts.is_empty() {
        return Ok(None);
    }
    if texts == [NONE] {
        return Ok(Some(Value::Null));
    }
    let folders = texts.iter().map(|text| Ok(json!(parse_folder(text)?.to_string())));
    folders.collect::<Result<Vec<Value>, CliError>>().map(|folders| Some(folders.into()))
}

fn parse_folder(text: &str) -> Result<FolderGrant, CliError> {
    let parse =
        |text: &str| text.parse().map_err(|error| CliError::input(format!("--folder: {error}")));
    match (text.starts_with(['/', '~']), std::path::absolute(text)) {
        (false, Ok(absolute)) => parse(&absolute.display().to_string()),
        _ => parse(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_flags_become_the_list_of_the_job() {
        let parsed = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            parse_folders(&texts).expect("folders")
        };
        assert_eq!(parsed(&[]), None);
        assert_eq!(parsed(&["none"]), Some(Value::Null));
        assert_eq!(parsed(&["~/Notes/", "~/out:write"]), Some(json!(["~/Notes", "~/out:write"])));
        let folder = std::env::current_dir().expect("a folder").join("sub");
        let folder = format!("{}:write", folder.display());
        assert_eq!(parsed(&["sub:write"]), Some(json!([folder])));
        assert!(parse_folders(&["~someone/x".to_owned()]).is_err());
    }
}
