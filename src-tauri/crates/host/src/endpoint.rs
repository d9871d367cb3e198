//! The endpoint file, which names the engine's address for clients.
//!
//! Jobs fire without the file, and the app with the engine does not read it. So a full disk at start is reported and
//! retried, and stops no job. Pitfall: writing only a new file beside the old one; a full disk has no room for a
//! second file but can overwrite a leftover file.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use rouse_gateway::{Client, Endpoint, write_private};
use rouse_store::{Store, StoreError};

use crate::home::Home;

/// The pause between attempts.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(10);

/// Writes the endpoint file. Returns false and logs the error if that fails.
pub(crate) fn write_endpoint(home: &Home, address: SocketAddr) -> bool {
    match write(&Client::endpoint_path(home.root()), address) {
        Ok(()) => true,
        Err(error) => {
            let path = Client::endpoint_path(home.root());
            tracing::error!(
                %error, path = %path.display(),
                "the endpoint file cannot be written, so commands and browsers cannot find Rouse; jobs still fire. \
                 Free disk space; Rouse retries every ten seconds"
            );
            false
        }
    }
}

/// Retries until the file is written.
pub(crate) async fn retry_endpoint(home: Home, address: SocketAddr, retry_after: Duration) {
    let path = Client::endpoint_path(home.root());
    while let Err(error) = write(&path, address) {
        tracing::debug!(%error, "the endpoint file still cannot be written");
        #[expect(clippy::disallowed_methods, reason = "no event reports free disk space")]
        tokio::time::sleep(retry_after).await;
    }
    tracing::info!(path = %path.display(), "the endpoint file was written");
}

fn write(path: &Path, address: SocketAddr) -> io::Result<()> {
    let endpoint = Endpoint {
        address,
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let text = serde_json::to_string(&endpoint).expect("BUG: an endpoint is JSON");
    write_private(path, &text).or_else(|first| overwrite(path, &text).map_err(|_| first))
}

/// Overwrites the existing file. Clients treat a half-written file as an engine that is starting.
fn overwrite(path: &Path, text: &str) -> io::Result<()> {
    let mut old = OpenOptions::new().write(true).open(path)?;
    old.write_all(text.as_bytes())?;
    old.set_len(text.len() as u64)?;
    old.sync_all()
}

/// The notice that the usual port was taken.
pub(crate) async fn port_notice(
    store: &Store,
    missed: Option<u16>,
) -> Result<Option<String>, StoreError> {
    let Some(missed) = missed else { return Ok(None) };
    Ok(Some(port_notice_text(missed, store.has_webhooks().await?)))
}

fn port_notice_text(missed: u16, has_webhooks: bool) -> String {
    let taken = format!("Port {missed} is taken, so Rouse uses another port.");
    if !has_webhooks {
        return taken;
    }
    format!(
        "{taken} Webhook addresses that you gave out still use port {missed}. Free that port and restart Rouse, or set gateway.port to a free port and give out the new address."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7717);

    fn written_address(home: &Home) -> SocketAddr {
        let text = std::fs::read_to_string(Client::endpoint_path(home.root())).expect("a file");
        serde_json::from_str::<Endpoint>(&text).expect("an endpoint").address
    }

    #[test]
    fn leftover_file_is_overwritten_without_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        // Longer than the new content, so a leftover would show.
        std::fs::write(folder.path().join("gateway.json"), "x".repeat(500)).expect("an old file");
        std::fs::create_dir(folder.path().join("gateway.new")).expect("blocks a new file");
        assert!(write_endpoint(&home, ADDRESS));
        assert_eq!(written_address(&home), ADDRESS);
    }

    #[test]
    fn webhook_addresses_appear_only_with_webhooks() {
        assert_eq!(
            port_notice_text(7717, false),
            "Port 7717 is taken, so Rouse uses another port."
        );
        let notice = port_notice_text(7717, true);
        assert!(
            notice.contains("still use port 7717") && notice.contains("gateway.port"),
            "{notice}"
        );
    }

    #[tokio::test]
    async fn endpoint_is_retried_until_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path());
        let obstacle = folder.path().join("gateway.new");
        std::fs::create_dir(&obstacle).expect("blocks a new file");
        assert!(!write_endpoint(&home, ADDRESS));
        let retry = tokio::spawn(retry_endpoint(home.clone(), ADDRESS, Duration::from_millis(1)));
        std::fs::remove_dir(obstacle).expect("room again");
        retry.await.expect("the retry ends");
        assert_eq!(written_address(&home), ADDRESS);
    }
}
