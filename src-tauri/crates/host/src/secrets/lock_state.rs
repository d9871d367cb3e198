//! Linux: the lock state of the Secret Service, without a prompt.
//!
//! Reading a value unlocks the keyring and prompts. A search never prompts and lists open and locked items. Pitfall:
//! taking a missing answer for a lock; in that case the value is read.

use std::collections::HashMap;
use std::time::Duration;

use zbus::{Connection, OwnedObjectPath};

use super::keyring::SERVICE;

/// The timeout of a search, which never prompts.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(3);

/// The Secret Service interface.
#[zbus::proxy(
    interface = "org.freedesktop.Secret.Service",
    default_service = "org.freedesktop.secrets",
    default_path = "/org/freedesktop/secrets"
)]
trait KeyringSearch {
    /// The open and the locked items with these attributes.
    fn search_items(
        &self,
        attributes: HashMap<&str, &str>,
    ) -> zbus::Result<(Vec<OwnedObjectPath>, Vec<OwnedObjectPath>)>;
}

/// Whether any of these entries exists and is locked.
pub(super) async fn is_locked(accounts: &[String]) -> bool {
    let search = tokio::time::timeout(SEARCH_TIMEOUT, async {
        is_locked_on(&Connection::session().await?, accounts).await
    });
    match search.await {
        Ok(Ok(is_locked)) => is_locked,
        Ok(Err(error)) => {
            tracing::debug!(%error, "the lock state of the keyring is unknown");
            false
        }
        Err(_) => false,
    }
}

async fn is_locked_on(bus: &Connection, accounts: &[String]) -> zbus::Result<bool> {
    let service = KeyringSearchProxy::new(bus).await?;
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
    use rouse_testkit::TestBus;

    /// A Secret Service with one item in the given lock state.
    struct FakeKeyringBus {
        is_locked: bool,
    }

    #[zbus::interface(name = "org.freedesktop.Secret.Service")]
    impl FakeKeyringBus {
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
    async fn one_locked_entry_locks_the_entries() {
        for (is_locked, accounts, expected) in [
            (true, vec!["mail@1"], true),
            (false, vec!["mail@1"], false),
            (true, vec!["other@1"], false),
            (true, vec!["other@1", "mail@1"], true),
        ] {
            let accounts: Vec<String> = accounts.into_iter().map(str::to_owned).collect();
            let bus = TestBus::start();
            let builder = || Builder::address(bus.address.as_str());
            let service = builder()
                .serve_at("/org/freedesktop/secrets", FakeKeyringBus { is_locked })
                .name("org.freedesktop.secrets");
            let _service = service.build().await.expect("on the bus");
            let client = builder().build().await.expect("on the bus");
            let found = is_locked_on(&client, &accounts).await.expect("an answer");
            assert_eq!(found, expected, "{is_locked} {accounts:?}");
        }
    }
}
