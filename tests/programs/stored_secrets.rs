//! `rouse secrets`: a value goes in and never comes out.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::engine::Home;

const VALUE: &str = "sunflower-42-Tango/x";

/// Where `VALUE` stands among all that was written, but for the one file that is for it.
fn leaks(home: &Home) -> Vec<String> {
    let holds = |bytes: &[u8]| bytes.windows(VALUE.len()).any(|part| part == VALUE.as_bytes());
    let written = home.everything_written().into_iter();
    written
        .filter(|(path, bytes)| holds(bytes) && !path.ends_with("secrets.json"))
        .map(|(path, _)| path.display().to_string())
        .collect()
}

#[tokio::test]
async fn a_secret_is_stored_listed_and_removed_and_its_value_is_nowhere() {
    let home = Home::new().env("ROUSE_LOG", "trace").env("ROUSE_LOG_PAYLOADS", "1");
    let engine = home.serve().await;
    assert!(home.rouse(["secrets", "list"]).ok().starts_with("No secrets."));
    let set = ["secrets", "set", "mail", "--host", "api.example.com", "--host", "b.example:8443"];
    let stored = home.rouse_reading(set, &format!("{VALUE}\n"));
    assert!(stored.ok().starts_with("Stored mail, for api.example.com, b.example:8443 alone.\n"));
    assert!(stored.out.contains("switched off (ROUSE_KEYRING=0)"), "{stored:#?}");
    let mode = std::fs::metadata(home.data().join("secrets.json")).expect("a file").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);

    let listed = home.rouse(["secrets", "list", "--json"]).json();
    assert_eq!(listed["secrets"][0]["hosts"], json!(["api.example.com", "b.example:8443"]));
    assert_eq!(listed["secrets"][0]["keptIn"], "file");
    let answers = [
        listed.to_string(),
        home.rouse(["secrets", "list"]).ok().to_owned(),
        home.rouse(["doctor"]).out,
        home.rouse(["status"]).ok().to_owned(),
        stored.out,
    ];
    for said in &answers {
        assert!(!said.contains("sunflower"), "{said}");
    }
    for warned in &answers[1..4] {
        assert!(warned.contains("1 of 1 secrets are kept in "), "{warned}");
    }
    // Another value for the same hosts.
    assert!(
        home.rouse_reading(["secrets", "set", "mail"], "another-value-1")
            .ok()
            .contains("b.example:8443")
    );
    assert_eq!(home.rouse(["secrets", "rm", "mail"]).ok(), "Removed mail.\n");
    assert_eq!(home.rouse(["secrets", "rm", "mail"]).code, 4);
    assert_eq!(engine.call("secrets.list", json!({})).await["secrets"], json!([]));
    assert_eq!(leaks(&home), Vec::<String>::new());
}

#[tokio::test]
async fn a_value_is_never_taken_from_the_command_line() {
    let home = Home::new();
    let _engine = home.serve().await;
    let said = home.rouse(["secrets", "set", "mail", VALUE, "--host", "a.example"]);
    assert_eq!(said.code, 2, "{said:#?}");
    let said = home.rouse_reading(["secrets", "set", "mail", "--host", "a.example"], "short");
    assert_eq!(said.code, 2, "{said:#?}");
    assert!(said.err.contains("value: a secret has at least 8 characters"), "{said:#?}");
    let said = home.rouse_reading(["secrets", "set", "mail"], VALUE);
    assert!(said.err.contains("hosts: a secret is bound to at least one host"), "{said:#?}");
    assert!(!home.data().join("secrets.json").exists());
}

#[tokio::test]
async fn without_a_keyring_the_reason_is_said() {
    let nowhere = "unix:path=/nonexistent/bus";
    let home = Home::new().env("ROUSE_KEYRING", "1").env("DBUS_SESSION_BUS_ADDRESS", nowhere);
    let _engine = home.serve().await;
    let stored = home.rouse_reading(["secrets", "set", "mail", "--host", "a.example"], VALUE);
    assert!(stored.ok().contains("because the system's keyring cannot be used: "), "{stored:#?}");
}
