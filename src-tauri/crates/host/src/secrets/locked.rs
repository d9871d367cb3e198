//! Linux: whether the Secret Service would have to be unlocked, without asking anybody to do it.
//!
//! Fetching a value unlocks the keyring, and that asks its person. A search asks nobody: it answers what is open and what is
//! locked. One could get it wrong by taking no answer for a lock: where nobody says so, the value is fetched.

use std::collections::HashMap;
use std::time::Duration;

use zbus::{Connection, OwnedObjectPath};

use super::keyring::SERVICE;

/// How long a search may take, which asks nobody.
const ANSWERS_IN: Duration = Duration::from_secs(3);

/// The service's side of it.
#[zbus::proxy(
    interface = "org.freedesktop.Secret.Service",
    default_service = "org.freedesktop.secrets",
    default_path = "/org/freedesktop/secrets"
)]
trait Keyring {
    /// The items with these attributes: those that are open, and those that are locked.
    fn search_items(
        &self,
        attributes: HashMap<&str, &str>,
    ) -> zbus::Result<(Vec<OwnedObjectPath>, Vec<OwnedObjectPath>)>;
}

/// Whether any of these entries is there and locked.
pub(super) async fn is_locked(accounts: &[String]) -> bool {
    let searched = tokio::time::timeout(ANSWERS_IN, async {
        is_locked_on(&Connection::session().await?, accounts).await
    });
    match searched.await {
        Ok(Ok(is_locked)) => is_locked,
        Ok(Err(error)) => {
            tracing::debug!(%error, "the keyring does not say whether it is locked");
            false
        }
        Err(_) => false,
    }
}

async fn is_locked_on(bus: &Connection, accounts: &[String]) -> zbus::Result<bool> {
    let service = KeyringProxy::new(bus).await?;
    for account in accounts {
        let attributes = HashMap::from([("service", SERVICE), ("username", account.as_str())]);
        let (_, locked) = service.search_items(attributes).await?;
        if !locked.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use zbus::connection::Builder;
    use zbus::fdo;

    use super::*;
    use crate::own_bus::Bus;

    /// A Secret Service that has one item, and whether that is locked.
    struct Drawers {
        is_locked: bool,
    }

    #[zbus::interface(name = "org.freedesktop.Secret.Service")]
    impl Drawers {
        fn search_items(
            &self,
            attributes: HashMap<String, String>,
        ) -> fdo::Result<(Vec<OwnedObjectPath>, Vec<OwnedObjectPath>)> {
            let path =
                || OwnedObjectPath::try_from("/org/freedesktop/secrets/a/1").expect("a path");
            let is_there = attributes["service"] == SERVICE && attributes["username"] == "mail@1";
            Ok(match (is_there, self.is_locked) {
                (false, _) => (Vec::new(), Vec::new()),
                (true, true) => (Vec::new(), vec![path()]),
                (true, false) => (vec![path()], Vec::new()),
            })
        }
    }

    #[tokio::test]
    async fn entries_are_locked_where_the_service_shows_any_of_them_as_locked() {
        for (is_locked, accounts, expected) in [
            (true, vec!["mail@1"], true),
            (false, vec!["mail@1"], false),
            (true, vec!["other@1"], false),
            (true, vec!["other@1", "mail@1"], true),
        ] {
            let accounts: Vec<String> = accounts.into_iter().map(str::to_owned).collect();
            let bus = Bus::start();
            let builder = || Builder::address(bus.address.as_str());
            let service = builder()
                .serve_at("/org/freedesktop/secrets", Drawers { is_locked })
                .name("org.freedesktop.secrets");
            let _service = service.build().await.expect("on the bus");
            let client = builder().build().await.expect("on the bus");
            let found = is_locked_on(&client, &accounts).await.expect("an answer");
            assert_eq!(found, expected, "{is_locked} {accounts:?}");
        }
    }
}
