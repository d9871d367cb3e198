//! The grants that a job's message asks for: hosts and folders that it names.
//!
//! Owns the look at which named folders exist, and which hosts the settings close. Grants nothing: a person decides. A
//! folder that contains the home or lies in the workspace is not offered, for the one cannot be granted and the other
//! needs no grant.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rouse_core::job::{FolderGrant, Job, NamedGrants};

use super::warning;
use crate::context::Context;
use crate::wire::{GrantOffers, JobWarning};

/// What a job's message names and the job does not grant.
pub(super) struct Named {
    folders: Vec<FolderGrant>,
    hosts: Vec<String>,
    /// Hosts of the own network that the settings do not open.
    closed: Vec<String>,
}

impl Named {
    pub(super) async fn of(context: &Context, job: &Job) -> Self {
        let NamedGrants { hosts, folders } = job.named_grants();
        let open = match hosts.iter().any(|host| is_private(host)) {
            true => context.settings.clone().view().await.tools.allow_private_hosts,
            false => Vec::new(),
        };
        let is_closed = |host: &String| is_private(host) && !is_opened(host, &open);
        let (closed, hosts) = hosts.into_iter().partition(is_closed);
        Self { folders, hosts, closed }
    }

    /// What could be granted; none when nothing is named.
    pub(super) async fn offers(self, workspace: &Path) -> Option<GrantOffers> {
        let (workspace, folders) = (workspace.to_owned(), self.folders);
        let look = move || {
            let found = folders.iter().filter_map(|folder| offered(folder, &workspace));
            let mut found: Vec<String> = found.map(|folder| folder.to_string()).collect();
            found.dedup();
            found
        };
        let folders = tokio::task::spawn_blocking(look).await;
        let folders = folders.expect("BUG: looking for folders does not panic");
        let offers = GrantOffers { hosts: self.hosts, folders };
        (offers != GrantOffers::default()).then_some(offers)
    }

    /// The warnings about hosts that no grant opens.
    pub(super) fn closed_hosts(self) -> impl Iterator<Item = JobWarning> {
        self.closed.into_iter().map(|host| {
            let message = format!(
                "{host} is on this computer or its network. No job reaches it until it stands in `tools.allowPrivateHosts` of the settings file."
            );
            warning("payload.message", message)
        })
    }
}

/// Whether a host, with or without a port, is on this computer or its network by its spelling.
fn is_private(host: &str) -> bool {
    let name = name_of(host).to_lowercase();
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

fn is_opened(host: &str, private_hosts: &[String]) -> bool {
    private_hosts.iter().any(|open| open == host || open == name_of(host))
}

/// The host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') && !name.is_empty() => {
            let is_bare_v6 = name.contains(':') && !name.ends_with(']');
            if is_bare_v6 { host } else { name }
        }
        _ => host,
    }
}

/// The folder to offer for a named path: the folder itself, or the one in which a named file lies.
fn offered(named: &FolderGrant, workspace: &Path) -> Option<FolderGrant> {
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
    // A grant has to name the real folder.
    let path =
        if real == path { written.display().to_string() } else { real.display().to_string() };
    Some(FolderGrant { path, access: named.access })
}

fn home() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from)?;
    Some(home.canonicalize().unwrap_or(home))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(path: &Path, workspace: &Path) -> Option<String> {
        let named = path.display().to_string().parse().expect("a folder");
        offered(&named, workspace).map(|folder| folder.path)
    }

    #[test]
    fn private_hosts_are_known_by_their_spelling() {
        for host in ["127.0.0.1:8080", "localhost", "nas.local:5000", "[::1]:80", "192.168.1.9"] {
            assert!(is_private(host), "{host}");
            assert!(!is_opened(host, &["other.local".to_owned()]), "{host}");
            assert!(is_opened(host, &[name_of(host).to_owned()]), "{host}");
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
