//! Grant offers for the hosts and folders that a job's message names.
//!
//! Owns the check of existing folders and of private hosts. Never grants anything: the person decides. Omits folders that contain
//! the home directory, which cannot be granted, and folders in the workspace, which need no grant.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rouse_core::job::{FolderGrant, Job, NamedGrants};

use super::field_warning::warning;
use crate::context::Context;
use crate::wire::{GrantOffers, JobWarning};

/// Hosts and folders that the message names and the job does not grant.
pub(super) struct GrantTargets {
    folders: Vec<FolderGrant>,
    hosts: Vec<String>,
    /// Private hosts that the settings do not allow.
    closed_hosts: Vec<String>,
}

impl GrantTargets {
    pub(super) async fn of(context: &Context, job: &Job) -> Self {
        let NamedGrants { hosts, folders } = job.named_grants();
        let allowed = if hosts.iter().any(|host| is_private(host)) {
            context.settings.clone().view().await.tools.allow_private_hosts
        } else {
            Vec::new()
        };
        let is_closed = |host: &String| is_private(host) && !is_allowed(host, &allowed);
        let (closed_hosts, hosts) = hosts.into_iter().partition(is_closed);
        Self { folders, hosts, closed_hosts }
    }

    /// The grant offers; none if empty.
    pub(super) async fn into_offers(self, workspace: &Path) -> Option<GrantOffers> {
        let (workspace, folders) = (workspace.to_owned(), self.folders);
        let find_folders = move || {
            let offers = folders.iter().filter_map(|folder| folder_offer(folder, &workspace));
            let mut offers: Vec<String> = offers.map(|folder| folder.to_string()).collect();
            offers.dedup();
            offers
        };
        let folders = tokio::task::spawn_blocking(find_folders).await;
        let folders = folders.expect("BUG: the check of folders does not panic");
        let offers = GrantOffers { hosts: self.hosts, folders };
        (offers != GrantOffers::default()).then_some(offers)
    }

    /// The warnings about private hosts that no grant can allow.
    pub(super) fn closed_host_warnings(self) -> impl Iterator<Item = JobWarning> {
        self.closed_hosts.into_iter().map(|host| {
            let message = format!(
                "{host} is on this computer or its network. Jobs cannot reach this host unless `tools.allowPrivateHosts` of the settings file lists it."
            );
            warning("payload.message", message)
        })
    }
}

/// Whether the name or address of a host is private. A port is ignored.
fn is_private(host: &str) -> bool {
    let name = host_name(host).to_lowercase();
    match name.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => {
            ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local()
        }
        Err(_) => {
            name == "localhost" || [".localhost", ".local"].iter().any(|end| name.ends_with(end))
        }
    }
}

fn is_allowed(host: &str, private_hosts: &[String]) -> bool {
    private_hosts.iter().any(|allowed| allowed == host || allowed == host_name(host))
}

/// The host without port.
fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') && !name.is_empty() => {
            let is_bare_v6 = name.contains(':') && !name.ends_with(']');
            if is_bare_v6 { host } else { name }
        }
        _ => host,
    }
}

/// The folder to offer for a named path: the folder, or the folder of a named file.
fn folder_offer(named: &FolderGrant, workspace: &Path) -> Option<FolderGrant> {
    let home = home();
    let written = Path::new(&named.path);
    let path = match written.strip_prefix("~") {
        Ok(below) => home.as_ref()?.join(below),
        Err(_) => written.to_owned(),
    };
    let is_folder = std::fs::metadata(&path).ok()?.is_dir();
    let (path, written) =
        if is_folder { (path, written) } else { (path.parent()?.to_owned(), written.parent()?) };
    let real = path.canonicalize().ok()?;
    let real_workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let holds_home = home.is_some_and(|home| home.starts_with(&real));
    if holds_home || real.starts_with(&real_workspace) || real.components().count() < 3 {
        return None;
    }
    // A grant must name the real path.
    let path =
        if real == path { written.display().to_string() } else { real.display().to_string() };
    Some(FolderGrant { path, access: named.access })
}

fn home() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from)?;
    Some(home.canonicalize().unwrap_or(home))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(path: &Path, workspace: &Path) -> Option<String> {
        let named = path.display().to_string().parse().expect("a folder");
        folder_offer(&named, workspace).map(|folder| folder.path)
    }

    #[test]
    fn private_hosts_are_recognized() {
        for host in ["127.0.0.1:8080", "localhost", "nas.local:5000", "[::1]:80", "192.168.1.9"] {
            assert!(is_private(host), "{host}");
            assert!(!is_allowed(host, &["other.local".to_owned()]), "{host}");
            assert!(is_allowed(host, &[host_name(host).to_owned()]), "{host}");
        }
        for host in ["example.com", "example.com:8443", "8.8.8.8", "localhost.example.com"] {
            assert!(!is_private(host), "{host}");
        }
    }

    #[test]
    fn only_existing_folders_outside_the_workspace_are_offered() {
        let all = tempfile::tempdir().expect("a folder");
        let real = all.path().canonicalize().expect("there");
        let [workspace, notes] = ["workspace", "notes"].map(|name| real.join(name));
        for folder in [&workspace, &notes] {
            std::fs::create_dir(folder).expect("made");
        }
        std::fs::write(notes.join("a.md"), "a").expect("written");
        let expected = Some(notes.display().to_string());
        assert_eq!(offer(&notes, &workspace), expected);
        assert_eq!(offer(&notes.join("a.md"), &workspace), expected);
        for none in
            [real.join("gone"), workspace.clone(), PathBuf::from("/usr"), home().expect("a home")]
        {
            assert_eq!(offer(&none, &workspace), None, "{}", none.display());
        }
    }
}
