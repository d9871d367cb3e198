//! The file that tells clients where the engine listens.
//!
//! It is not what the engine lives from: jobs fire without it, and the app that carries the engine does not read it. So a
//! disk that is full when the engine starts is told and tried again, and keeps nothing from firing. One could get this
//! wrong by writing only beside the old file: a full disk has no place for a second one, but what a crash left can be
//! written over.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use rouse_gateway::{Client, Endpoint, write_private};
use rouse_store::{Store, StoreError};

use crate::home::Home;

/// How long it waits before it tries again.
pub(crate) const AGAIN_AFTER: Duration = Duration::from_secs(10);

/// Writes where the engine listens; says so when it cannot.
pub(crate) fn tell_clients(home: &Home, address: SocketAddr) -> bool {
    match write(&Client::endpoint_path(home.root()), address) {
        Ok(()) => true,
        Err(error) => {
            let path = Client::endpoint_path(home.root());
            tracing::error!(
                %error, path = %path.display(),
                "the file that tells commands and browsers where Rouse listens cannot be written; jobs fire all the \
                 same. Make room on the disk; it is tried again every ten seconds"
            );
            false
        }
    }
}

/// Tries until the file is written.
pub(crate) async fn keep_telling(home: Home, address: SocketAddr, again_after: Duration) {
    let path = Client::endpoint_path(home.root());
    while let Err(error) = write(&path, address) {
        tracing::debug!(%error, "the file that tells clients still cannot be written");
        #[expect(clippy::disallowed_methods, reason = "nothing tells when a disk has room again")]
        tokio::time::sleep(again_after).await;
    }
    tracing::info!(path = %path.display(), "commands find Rouse again");
}

fn write(path: &Path, address: SocketAddr) -> io::Result<()> {
    let endpoint = Endpoint {
        address,
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let text = serde_json::to_string(&endpoint).expect("BUG: an endpoint is JSON");
    write_private(path, &text).or_else(|first| write_over(path, &text).map_err(|_| first))
}

/// Over what is there. Half of it is no JSON, which a client takes for an engine that is just starting.
fn write_over(path: &Path, text: &str) -> io::Result<()> {
    let mut old = OpenOptions::new().write(true).open(path)?;
    old.write_all(text.as_bytes())?;
    old.set_len(text.len() as u64)?;
    old.sync_all()
}

/// What to say of a start that found the port it usually has taken, and which that is.
pub(crate) async fn port_notice(
    store: &Store,
    missed: Option<u16>,
) -> Result<Option<String>, StoreError> {
    let Some(missed) = missed else { return Ok(None) };
    Ok(Some(elsewhere(missed, store.has_webhooks().await?)))
}

fn elsewhere(missed: u16, has_webhooks: bool) -> String {
    let taken = format!("Port {missed} is taken, so this is another one.");
    if !has_webhooks {
        return taken;
    }
    format!(
        "{taken} Addresses of webhooks that you gave to others still name {missed}: end what has it and start Rouse again, or set gateway.port to one that stays free and give them the new address."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7717);

    fn told(home: &Home) -> SocketAddr {
        let text = std::fs::read_to_string(Client::endpoint_path(home.root())).expect("a file");
        serde_json::from_str::<Endpoint>(&text).expect("an endpoint").address
    }

    #[test]
    fn what_a_crash_left_is_written_over_where_nothing_new_fits() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        // Longer than the new content, so that a rest of it would show.
        std::fs::write(folder.path().join("gateway.json"), "x".repeat(500)).expect("an old file");
        std::fs::create_dir(folder.path().join("gateway.new")).expect("no place for a new file");
        assert!(tell_clients(&home, ADDRESS));
        assert_eq!(told(&home), ADDRESS);
    }

    #[test]
    fn only_who_has_webhooks_is_told_of_their_addresses() {
        assert_eq!(elsewhere(7717, false), "Port 7717 is taken, so this is another one.");
        let told = elsewhere(7717, true);
        assert!(told.contains("still name 7717") && told.contains("gateway.port"), "{told}");
    }

    #[tokio::test]
    async fn it_is_tried_until_there_is_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        let in_the_way = folder.path().join("gateway.new");
        std::fs::create_dir(&in_the_way).expect("no place for a new file");
        assert!(!tell_clients(&home, ADDRESS));
        let telling = tokio::spawn(keep_telling(home.clone(), ADDRESS, Duration::from_millis(1)));
        std::fs::remove_dir(in_the_way).expect("room again");
        telling.await.expect("it ends by itself");
        assert_eq!(told(&home), ADDRESS);
    }
}
